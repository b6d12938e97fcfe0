"""What the site adds to the pages: links of the pages they name, and pictures for dark mode."""

from __future__ import annotations

import re
from typing import Any

_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?<!\[)`(?:docs/)?([\w-]+\.(?:md|yml|json))`(?!\])")
_LINKED = re.compile(r"\[`?([\w-]+\.md)`?\]\(\1\)")
_PICTURE = re.compile(r"!\[([^]]*)\]\((screenshots/[\w-]+)\.png\)")


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """Return a page's text with links, which MkDocs then checks as any other."""
    known = {file.src_uri: file.page and file.page.title for file in files}
    parts = _FENCE.split(markdown)
    parts[::2] = [_changed(text, known, page.file.src_uri) for text in parts[::2]]
    return "".join(parts)


def _changed(text: str, known: dict[str, str | None], here: str) -> str:
    """Return a text; `known` has the titles of pages, and None for other files."""

    def link(named: re.Match[str]) -> str:
        path = named[1]
        leads = path in known and path != here
        return f"[{known[path] or named[0]}]({path})" if leads else named[0]

    def picture(found: re.Match[str]) -> str:
        alt, path = found[1], found[2]
        if f"{path}-dark.png" not in known:
            return found[0]
        return f"![{alt}]({path}.png#only-light)![{alt}]({path}-dark.png#only-dark)"

    return _PICTURE.sub(picture, _NAMED.sub(link, _LINKED.sub(r"`\1`", text)))
