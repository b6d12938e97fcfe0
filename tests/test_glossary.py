"""Names on the page that glossary.md gives are on the page, and each term has one row."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = re.findall(
    r"^\| (?!term|---)(.+?) \| (.+?) \|(?: (.+?))? \|$",
    (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
DEFINED = re.compile(r'\b(?:define(?:Field)?\(|title:|title=|bottleneck:)\s*"([^"]+)"')


def page_names() -> set[str]:
    """Titles of the page's figures and columns, each with its definition."""
    return {
        name
        for path in (ROOT / "frontend" / "src").rglob("*.ts*")
        if ".test." not in path.name
        for name in DEFINED.findall(path.read_text(encoding="utf-8"))
    }


def test_every_name_on_the_page_is_there() -> None:
    listed = [name for *_, names in ROWS if names for name in _listed(names)]
    assert len(listed) > 30  # the pattern fits
    assert sorted(set(listed) - page_names()) == []


def test_each_term_is_listed_once() -> None:
    terms = [term for term, *_ in ROWS]
    assert sorted(terms) == sorted(set(terms))


def _listed(names: str) -> list[str]:
    """A name may hold a comma; two of the page are `a, b` where that is no name."""
    return [names] if names in page_names() else names.split(", ")
