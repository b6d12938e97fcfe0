"""The summary of a report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.report.markdown.text import MOST_CHARACTERS, NOTE, quoted, table
from tb_hookview.report.summary.lines import summary_lines
from tb_hookview.report.summary.table import Cell, SummaryTable
from tb_hookview.report.summary.tables import summary_tables
from tb_hookview.schema import ReportData, severe_warnings

_LONGEST_LINE = 500
_WARNINGS = 10


def markdown_summary(data: ReportData, counted: ReportData, limit: int) -> str:
    """Write the lines and tables of a summary.

    Args:
        data: the report.
        counted: that on the steps that count.
        limit: rows of each table; fewer where the text would be too long.
    """
    while True:
        text = "\n".join([*_lines(data, counted, limit), NOTE])
        if len(text) <= MOST_CHARACTERS or limit == 1:
            return text[:MOST_CHARACTERS]
        limit = max(1, limit * 3 // 4)


def _lines(data: ReportData, counted: ReportData, limit: int) -> Iterator[str]:
    yield "# Summary of a trace"
    yield ""
    for line in summary_lines(data):
        yield f"- {quoted(line, _LONGEST_LINE)}"
    for made in summary_tables(data, counted, limit):
        yield from _table(made)
    severe = severe_warnings(data.trace)
    others = [warning for warning in data.trace.warnings if warning not in severe]
    if others:
        yield from ("", "## Notes on the data", "")
    for warning in others[:_WARNINGS]:
        yield f"- {quoted(warning.message, _LONGEST_LINE)}"
    if len(others) > _WARNINGS:
        yield f"- ... and {len(others) - _WARNINGS} more"
    yield ""


def _table(made: SummaryTable) -> Iterator[str]:
    yield from ("", f"## {quoted(made.title)}", "")
    cells = ([_cell(cell, at < made.names) for at, cell in enumerate(row)] for row in made.rows)
    head, rows = table(made.columns, cells)
    yield from (*head, *rows)
    if made.hidden:
        yield from ("", made.hidden)


def _cell(cell: Cell, is_text: bool) -> str:
    if isinstance(cell, str):
        return quoted(cell) if is_text and cell.strip() else cell
    return "; ".join(quoted(line, _LONGEST_LINE) for line in cell)
