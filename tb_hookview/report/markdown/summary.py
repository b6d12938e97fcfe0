"""The summary of a report as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tb_hookview.report.markdown.text import MOST_CHARACTERS, NOTE, quoted, table
from tb_hookview.report.summary.table import Cell, SummaryTable
from tb_hookview.report.summary.whole import whole_summary
from tb_hookview.schema import ReportData

_LONGEST_LINE = 500
_WARNINGS = 10


def markdown_summary(data: ReportData, counted: ReportData, limit: int) -> str:
    """Write the lines and tables of a summary.

    Args:
        data: the report.
        counted: that on the measured steps.
        limit: rows of each table; fewer where the text would be too long.
    """
    while True:
        text = "\n".join([*_lines(data, counted, limit), NOTE])
        if len(text) <= MOST_CHARACTERS or limit == 1:
            return text[:MOST_CHARACTERS]
        limit = max(1, limit * 3 // 4)


def _lines(data: ReportData, counted: ReportData, limit: int) -> Iterator[str]:
    made = whole_summary(data, counted, limit)
    yield from ("# Summary of a trace", "", *_listed(made.head))
    for table_of in made.first:
        yield from _table(table_of)
    yield from ("", "## Details", "", *_listed(made.details))
    for table_of in made.rest:
        yield from _table(table_of)
    if made.notes:
        yield from ("", "## Notes on the data", "", *_listed(made.notes[:_WARNINGS]))
    if len(made.notes) > _WARNINGS:
        yield f"- ... and {len(made.notes) - _WARNINGS} more"
    yield ""


def _listed(lines: Iterable[str]) -> Iterator[str]:
    return (f"- {quoted(line, _LONGEST_LINE)}" for line in lines)


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
