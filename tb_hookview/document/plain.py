"""Documents as plain text for `print`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from tb_hookview.document.document import Document, Lines, Row, Table
from tb_hookview.formats import printable

WIDEST = 72
"""Characters of a cell."""


def plain_text(document: Document) -> str:
    """Write a document, a blank line between its parts."""
    written = (
        list(map(printable, part.texts)) if isinstance(part, Lines) else _table(part)
        for part in document.filled()
    )
    return "\n\n".join("\n".join(lines) for lines in written)


def _table(table: Table) -> list[str]:
    rows = [[_cut(name) for name in table.columns]]
    rows += [[_cut(text) for text in line] for row in table.rows for line in _lines(row)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.columns))]
    lines = [_line(row, widths, table.names) for row in rows]
    return list(filter(None, [printable(table.title), *lines, table.hidden]))


def _lines(row: Row) -> Iterable[Sequence[str]]:
    """The lines of a row, as many as its highest cell has."""
    cells = ((cell,) if isinstance(cell, str) else cell for cell in row)
    return zip_longest(*cells, fillvalue="")


def _cut(text: str) -> str:
    plain = printable(text)
    return plain if len(plain) <= WIDEST else f"{plain[: WIDEST - 3]}..."


def _line(row: Sequence[str], widths: Sequence[int], names: int) -> str:
    cells = (
        cell.ljust(width) if at < names else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()
