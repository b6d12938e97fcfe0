"""Every environment variable that the program reads is told of in one place."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = re.compile(r'"(HOOKVIEW_[A-Z_]+)"')
ROW = re.compile(r"^\| `(HOOKVIEW_[A-Z_]+)` \|", re.MULTILINE)


def test_the_page_tells_of_every_variable_and_of_no_other() -> None:
    sources = (path.read_text() for path in (ROOT / "tb_hookview").rglob("*.py"))
    read = {name for source in sources for name in VARIABLE.findall(source)}
    assert len(read) > 5
    assert set(ROW.findall((ROOT / "docs" / "reference" / "environment.md").read_text())) == read
