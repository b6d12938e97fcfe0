"""The whole summary, in the one order that all of its forms have."""

from __future__ import annotations

from tb_hookview.document.document import Document, Lines, Table
from tb_hookview.formats import format_number
from tb_hookview.report.summary.brief import VERDICT, brief_lines, class_table
from tb_hookview.report.summary.lines import detail_lines
from tb_hookview.report.summary.tables import detail_tables, finding_table
from tb_hookview.schema import ReportData, TraceWarning, severe_warnings


def whole_document(data: ReportData, counted: ReportData, rows: int) -> Document:
    """Return all that a summary says: verdict, findings, classes of modules, then all else.

    Args:
        data: the report.
        counted: that on the measured steps.
        rows: rows of a table.
    """
    severe = severe_warnings(data.trace)
    head = [*brief_lines(data), *(f"warning: {warning.message}" for warning in severe)]
    notes = [_note(warning) for warning in data.trace.warnings if warning not in severe]
    parts: tuple[Lines | Table, ...] = (
        Lines(head, bold=VERDICT),
        finding_table(data, rows),
        class_table(counted),
        Lines([line for line in detail_lines(data) if line not in head], "Details"),
        *detail_tables(data, counted, rows),
        Lines(notes, "Notes on the data", tone="warning"),
    )
    return Document("Summary of a trace", parts)


def _note(warning: TraceWarning) -> str:
    times = f" ({format_number(warning.count)})" if warning.count > 1 else ""
    return f"warning: {warning.message}{times}"
