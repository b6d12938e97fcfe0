"""Documents as plain text for `print`."""

from __future__ import annotations

from collections.abc import Sequence

from tb_hookview.document.document import Cell, Document, Lines, Table
from tb_hookview.formats import printable

WIDEST = 60
"""Characters of a cell."""


def plain_text(document: Document) -> str:
    """Write a document, a blank line between its parts; of a cell's lines the first two."""
    written = (
        list(map(printable, part.texts)) if isinstance(part, Lines) else _table(part)
        for part in document.filled()
    )
    return "\n\n".join("\n".join(lines) for lines in written)


def _table(table: Table) -> list[str]:
    rows = [[_cut(name) for name in table.columns]]
    rows += [[_cut(_first(cell)) for cell in row] for row in table.rows]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.columns))]
    lines = [printable(table.title), *(_line(row, widths, table.names) for row in rows)]
    return [*lines, table.hidden] if table.hidden else lines


def _first(cell: Cell) -> str:
    return cell if isinstance(cell, str) else ", ".join(cell[:2])


def _cut(text: str) -> str:
    plain = printable(text)
    return plain if len(plain) <= WIDEST else f"{plain[: WIDEST - 3]}..."


def _line(row: Sequence[str], widths: Sequence[int], names: int) -> str:
    cells = (
        cell.ljust(width) if at < names else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()
