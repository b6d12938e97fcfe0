"""Make links of the pages that pages name, as in `rules.md` or `docs/rules.md`."""

from __future__ import annotations

import re
from typing import Any

_NAMED = re.compile(r"(?<!\[)`(?:docs/)?([\w-]+\.(?:md|yml|json))`(?!\])")
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """Return a page's text with links, which MkDocs then checks as any other."""
    known = {file.src_uri for file in files} - {page.file.src_uri}
    between = [_linked(text, known) for text in _FENCE.split(markdown)]
    fences = [*_FENCE.findall(markdown), ""]
    return "".join(text for pair in zip(between, fences, strict=True) for text in pair)


def _linked(text: str, known: set[str]) -> str:
    return _NAMED.sub(lambda found: f"[{found[0]}]({found[1]})" if found[1] in known else found[0], text)
