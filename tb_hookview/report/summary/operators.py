"""The operators that cost the host most, where no device shows what costs."""

from __future__ import annotations

import re

from tb_hookview.formats import format_number, format_share, format_us
from tb_hookview.report.summary.table import Row, SummaryTable
from tb_hookview.schema import ReportData

_RECORD = (
    "no device events: if the model runs on a device, record it too (ProfilerActivity.CUDA, XPU or "
    "PrivateUse1; none for MPS). "
)
_NOT_RECORDED = (
    "no device events, though the model ran on a device: record it too (ProfilerActivity.CUDA, XPU "
    "or PrivateUse1)"
)
_OF_DEVICES = re.compile("cudnn|miopen")
"""In names of operators that no CPU runs."""
_ON_CPU = (
    'On the CPU: torch.compile, bfloat16 by torch.autocast("cpu"), and torch.set_num_threads fit '
    "to the cores"
)


def operator_table(data: ReportData, rows: int) -> SummaryTable:
    """Operators of a trace without device events by self time, per step.

    Args:
        data: the report on the measured steps.
        rows: rows of the table.
    """
    found = [] if data.totals.device_busy_us else data.operators
    ranked = sorted(found, key=lambda row: row.self_host_us, reverse=True)
    whole, steps = sum(row.self_host_us for row in ranked), max(data.per_step.steps, 1)
    made: list[Row] = [
        (
            row.name,
            format_us(row.self_host_us / steps),
            format_share(row.self_host_us, whole),
            format_us(row.host_us / steps),
            format_number(row.calls / steps),
        )
        for row in ranked[:rows]
        if row.self_host_us
    ]
    title = f"Operators and annotations by self time (host, sum over threads, {data.per_step.text})"
    columns = ("operator", "self", "share", "incl. children", "calls")
    return SummaryTable(title, columns, made, hidden=_remedy(data) if made else "")


def _remedy(data: ReportData) -> str:
    if data.verdict.bound != "unknown":
        return _ON_CPU
    launched = any(warning.code == "no-device-events" for warning in data.trace.warnings)
    if launched or any(_OF_DEVICES.search(row.name) for row in data.operators):
        return _NOT_RECORDED
    return f"{_RECORD}{_ON_CPU}"
