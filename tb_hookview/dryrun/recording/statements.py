"""Statements of source files: the whole text of the one that a line is a part of."""

from __future__ import annotations

import ast
import linecache
import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

_BRACKETS = re.compile(r"([(\[{]) +| +([)\]}])")
LONGEST = 200
"""Characters of a statement that are shown."""


class Statement(NamedTuple):
    """Lines of a statement; of a compound one those of its header."""

    first: int
    last: int


def statement_text(filename: str, line: int) -> str:
    """Return the statement around a line, in one line; "" where the source is unknown."""
    place = _around(filename, line)
    lines = linecache.getlines(filename)[place.first - 1 : place.last]
    text = _BRACKETS.sub(r"\1\2", " ".join(filter(None, map(_without_comment, lines))))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _without_comment(line: str) -> str:
    code, mark, _ = line.partition("  #")
    return (code if mark else line).strip()


def _around(filename: str, line: int) -> Statement:
    known = _statements(filename)
    place = bisect_right(known, (line, 1 << 30)) - 1
    while place >= 0:
        if known[place].last >= line:
            return known[place]
        place -= 1
    return Statement(line, line)


@lru_cache(maxsize=256)
def _statements(filename: str) -> list[Statement]:
    """Statements of a file by their first line."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = [_lines_of(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return sorted(set(found))


def _lines_of(node: ast.stmt) -> Statement:
    """Lines of a statement without the statements inside it."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        decorators = [each.lineno for each in getattr(body[0], "decorator_list", ())]
        inside = min([body[0].lineno, *decorators])
        return Statement(node.lineno, max(node.lineno, inside - 1))
    return Statement(node.lineno, node.end_lineno or node.lineno)
