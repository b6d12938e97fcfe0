"""The summary of a report as HTML for a notebook."""

from __future__ import annotations

from tb_hookview.report.summary.lines import summary_lines
from tb_hookview.report.summary.tables import summary_tables
from tb_hookview.schema import ReportData, severe_warnings
from tb_hookview.tables.notebook import heading_html, table_html

ROWS = 10
"""Rows of each table."""


def html_summary(data: ReportData, counted: ReportData) -> str:
    """Write the lines and tables of a summary.

    Args:
        data: the report.
        counted: that on the steps that count.
    """
    severe = severe_warnings(data.trace)  # at the head
    warnings = [warning.message for warning in data.trace.warnings if warning not in severe]
    parts = [heading_html([*summary_lines(data), *warnings])]
    for table in summary_tables(data, counted, ROWS):
        title = f"{table.title} {table.hidden}".strip()
        parts.append(table_html(title, table.columns, table.rows, table.names))
    return f"<div>{''.join(parts)}</div>"
