"""The summary of a report as HTML for a notebook."""

from __future__ import annotations

from tb_hookview.report.summary.table import SummaryTable
from tb_hookview.report.summary.whole import whole_summary
from tb_hookview.schema import ReportData
from tb_hookview.tables.notebook import heading_html, table_html

ROWS = 10
"""Rows of each table."""


def html_summary(data: ReportData, counted: ReportData) -> str:
    """Write the lines and tables of a summary.

    Args:
        data: the report.
        counted: that on the measured steps.
    """
    made = whole_summary(data, counted, ROWS)
    parts = [
        heading_html(made.head),
        *map(_table, made.first),
        heading_html([*made.details, *made.notes]),
        *map(_table, made.rest),
    ]
    return f"<div>{''.join(parts)}</div>"


def _table(table: SummaryTable) -> str:
    title = f"{table.title} {table.hidden}".strip()
    return table_html(title, table.columns, table.rows, table.names)
