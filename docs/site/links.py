"""What the site adds to the pages: the records of measurements, titles of links, dark pictures."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
"""Outside of docs/; the site has them in a folder `results/`."""
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_ABOVE = re.compile(r"\]\((?:\.\./)+(?:benchmarks|docs)/")
_LINKED = re.compile(r"\[`?[\w-]+\.md`?\]\(([\w./-]+\.md)\)")
_PICTURE = re.compile(r"!\[([^]]*)\]\(((?:\.\./)*)(screenshots/[\w-]+)\.png\)")


def on_files(files: Any, *, config: Any) -> Any:
    """Add the records of measurements to the site's files."""
    from mkdocs.structure.files import File

    for path in sorted(RESULTS.glob("*.md")):
        files.append(File.generated(config, f"results/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """Return a page's text with the site's links, which MkDocs then checks as any other."""
    known = {file.src_uri: file.page and file.page.title for file in files}
    parts = _FENCE.split(markdown)
    parts[::2] = [
        _changed(text, known, posixpath.dirname(page.file.src_uri)) for text in parts[::2]
    ]
    return "".join(parts)


def _changed(text: str, known: dict[str, str | None], folder: str) -> str:
    """Return a text; `known` has the titles of pages, and None for other files."""

    def titled(link: re.Match[str]) -> str:
        title = known.get(posixpath.normpath(posixpath.join(folder, link[1])))
        return f"[{title}]({link[1]})" if title else link[0]

    def picture(found: re.Match[str]) -> str:
        alt, up, name = found.groups()
        if f"{name}-dark.png" not in known:
            return found[0]
        return f"![{alt}]({up}{name}.png#only-light)![{alt}]({up}{name}-dark.png#only-dark)"

    text = _ABOVE.sub(f"]({'../' if folder else ''}", text)
    return _PICTURE.sub(picture, _LINKED.sub(titled, text))
