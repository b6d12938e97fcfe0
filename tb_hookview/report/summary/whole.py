"""The whole summary, in the one order that all of its outlets have."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.report.summary.brief import brief_lines, class_table
from tb_hookview.report.summary.lines import detail_lines
from tb_hookview.report.summary.table import SummaryTable
from tb_hookview.report.summary.tables import detail_tables, finding_table
from tb_hookview.schema import ReportData, severe_warnings


class Summary(Struct, frozen=True):
    """Verdict, critical path and saving; findings; classes of modules; then all else."""

    head: list[str]
    first: list[SummaryTable]
    details: list[str]
    rest: list[SummaryTable]
    notes: list[str]
    """On data quality; what makes figures wrong is in the head."""


def whole_summary(data: ReportData, counted: ReportData, rows: int) -> Summary:
    """Return all that a summary says.

    Args:
        data: the report.
        counted: that on the measured steps.
        rows: rows of a table.
    """
    severe = severe_warnings(data.trace)
    head = [*brief_lines(data), *(f"warning: {warning.message}" for warning in severe)]
    first = (finding_table(data, rows), class_table(counted))
    return Summary(
        head=head,
        first=[table for table in first if table.rows or table.hidden],
        details=[line for line in detail_lines(data) if line not in head],
        rest=detail_tables(data, counted, rows),
        notes=[each.message for each in data.trace.warnings if each not in severe],
    )
