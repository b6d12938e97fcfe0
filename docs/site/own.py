"""Check that a built site loads nothing from another host: `python docs/site/own.py FOLDER`.

The theme's script names other hosts for two things: a polyfill that no browser since 2020 needs,
and Mermaid, which it fetches for a page with such a drawing. So such a drawing counts as a load.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

LOADS = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "input": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "use": "href",
    "video": "src",
}
"""What a browser fetches by itself: the attribute of each element that names it."""
NAMED_ONLY = {"canonical", "alternate", "author", "license", "next", "prev"}
"""Relations of `link` that are not fetched."""
_ELSEWHERE = re.compile(r"^\s*(?:\w+:)?//", re.ASCII)
_IN_STYLE = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and set((given.get("rel") or "").split()) <= NAMED_ONLY:
            return
        candidates = [given.get(LOADS.get(tag, "")), *(given.get("srcset") or "").split(",")]
        self.loads += [url for url in candidates if url and _ELSEWHERE.match(url)]


def loads_elsewhere(text: str, suffix: str) -> list[str]:
    """Return what a page (`.html`), picture (`.svg`) or style loads from other hosts."""
    loads = _IN_STYLE.findall(text)
    if suffix in {".html", ".svg"}:
        page = _Page()
        page.feed(text)
        loads += page.loads
        if 'class="mermaid"' in text:
            loads.append("Mermaid, for a drawing; draw it as SVG")
    return loads


def main(folder: Path) -> int:
    """Print each file that loads something from another host; return the exit code."""
    files = [path for path in folder.rglob("*") if path.suffix in {".html", ".svg", ".css"}]
    if not files:
        print(f"{folder}: no site here; build it with: make docs", file=sys.stderr)
        return 2
    found = [
        f"{path}: loads {url}"
        for path in sorted(files)
        for url in loads_elsewhere(path.read_text(encoding="utf-8"), path.suffix)
    ]
    print("\n".join(found) or f"{folder}: {len(files)} files, nothing from another host")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
