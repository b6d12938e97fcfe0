"""The short summary of a report, as plain text for `print`."""

from __future__ import annotations

from collections.abc import Sequence

from tb_hookview.formats import printable
from tb_hookview.report.summary.brief import brief_lines, brief_notes, brief_tables
from tb_hookview.report.summary.table import Cell, SummaryTable
from tb_hookview.schema import ReportData

WIDEST = 60
"""Characters of a cell."""


def plain_summary(data: ReportData, counted: ReportData) -> str:
    """Write what decides a step, the first findings and the top classes of modules.

    Args:
        data: the report.
        counted: that on the measured steps.
    """
    lines = [printable(line) for line in brief_lines(data)]
    for table in brief_tables(data, counted):
        lines += ["", printable(table.title), *_table(table)]
    notes = [printable(note) for note in brief_notes(data)]
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def _table(table: SummaryTable) -> list[str]:
    rows = [[_cut(name) for name in table.columns]]
    rows += [[_cut(_first(cell)) for cell in row] for row in table.rows]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.columns))]
    lines = [_line(row, widths, table.names) for row in rows]
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
