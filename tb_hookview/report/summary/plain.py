"""The short summary of a report, as plain text for `print`."""

from __future__ import annotations

from collections.abc import Sequence

from tb_hookview.formats import format_count, printable
from tb_hookview.report.summary.lines import summary_lines
from tb_hookview.report.summary.operators import operator_table
from tb_hookview.report.summary.table import Cell, SummaryTable
from tb_hookview.report.summary.tables import finding_table, module_table
from tb_hookview.schema import ReportData

ROWS = 5
"""Rows of each table."""
WIDEST = 60
"""Characters of a cell."""


def plain_summary(data: ReportData, counted: ReportData) -> str:
    """Write the head of a summary, its modules and its findings.

    Args:
        data: the report.
        counted: that on the steps that count.
    """
    lines = [printable(line) for line in summary_lines(data)]
    made = (module_table(counted, ROWS), operator_table(counted, ROWS), finding_table(data, ROWS))
    for table in made:
        if table.rows or table.hidden:
            lines += ["", printable(table.title), *_table(table)]
    if data.trace.warnings:
        lines.append(format_count(len(data.trace.warnings), "note") + " on data quality")
    return "\n".join(lines)


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
