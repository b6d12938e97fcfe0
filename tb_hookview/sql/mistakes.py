"""DuckDB's messages as one line that points at the word."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from tb_hookview.errors import UsageError

_LINE = re.compile(r"^LINE (\d+): ")
_KIND = re.compile(r"^[A-Z][\w-]*(?: \w+)? Error: ")
_WORD = re.compile(r"\w+")
LONGEST = 300


def require() -> Any:
    """Return DuckDB.

    Raises:
        UsageError: it is not installed, or pyarrow, through which it reads tables.
    """
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError as error:
        hint = "pip install 'tb-hookview[sql]'"
        raise UsageError(f"SQL needs {error.name}, which is not installed; {hint}") from None
    return duckdb


def one_line(message: str) -> str:
    """What is wrong, and at which word of which line.

    The message quotes the line of the query after `LINE n: ` and marks the word below it.
    """
    lines = message.split("\n")
    said = _KIND.sub("", lines[0])
    hints = [line for line in lines[1:3] if line.startswith(("Did you mean", "Candidate bindings"))]
    said = " ".join([said, *hints])[:LONGEST]
    place = _place(lines)
    return f"sql: {said}" if place is None else f"sql: {said} (line {place[0]}, at {place[1]!r})"


def _place(lines: list[str]) -> tuple[int, str] | None:
    """Number of the line, and the word that is marked; None where none is."""
    for quoted, below in pairwise(lines):
        found, mark = _LINE.match(quoted), below.find("^")
        if found and mark >= 0:
            # DuckDB before 2.0 marks the first letter alone
            word = _WORD.match(quoted, mark)
            end = max(below.rfind("^") + 1, word.end() if word else 0)
            return int(found[1]), quoted[mark:end] or "the end"
    return None
