"""Answers about reports: the whole, and the rows of a table that the whole leaves out."""

from __future__ import annotations

from tb_hookview.errors import UsageError
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.schema import ReportData
from tb_hookview.schema.tables import ReportRows
from tb_hookview.server.bounds import fitting


def report(trace: OpenTrace, *, step: list[str]) -> ReportData:
    """The report of one trace."""
    return trace.data(step)


def report_rows(trace: OpenTrace, *, step: list[str], table: str, offset: int) -> ReportRows:
    """Rows of a table of the report, where the report leaves some out.

    Raises:
        UsageError: the report has no such table.
    """
    data = trace.data(step)
    rows = getattr(data, table) if table in data.__struct_fields__ else None
    if not isinstance(rows, list):
        raise UsageError(f"table={table[:50]}: not a list of rows of the report")
    some = rows[offset:]
    return ReportRows(table, offset, len(rows), some[: fitting(some)])
