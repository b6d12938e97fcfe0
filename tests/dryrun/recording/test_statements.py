from __future__ import annotations

from pathlib import Path

import pytest

from tb_hookview.dryrun.recording.frames import LONGEST, statement_text

SOURCE = """\
x = f(
    1,  # one
    2,
)
if (
    x
    > 1
):
    y = [
        3,
    ]
@wrapped
def f(a): return a
"""


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (1, "x = f(1, 2,)"),
        (3, "x = f(1, 2,)"),
        (6, "if (x > 1):"),
        (10, "y = [3,]"),
        (12, "@wrapped"),
        (99, ""),
    ],
)
def test_a_statement_is_shown_whole_and_without_its_body(
    line: int, text: str, tmp_path: Path
) -> None:
    file = tmp_path / "code.py"
    file.write_text(SOURCE)
    assert statement_text(str(file), line) == text


def test_long_statements_are_cut(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text(f"x = {'1 + ' * 100}1\n")
    assert len(statement_text(str(file), 1)) == LONGEST


def test_what_is_no_python_is_shown_by_the_line(tmp_path: Path) -> None:
    file = tmp_path / "code.txt"
    file.write_text("%magic a\nb\n")
    assert statement_text(str(file), 1) == "%magic a"
