"""What to do where a trace has no device events: record them, or what to change on the CPU."""

from __future__ import annotations

from collections.abc import Sequence

from tb_hookview.formats import format_number
from tb_hookview.schema import ReportData
from tb_hookview.trace.source.inflate import CUT

_RECORD = (
    "No device events: if the model runs on a device, record it too (ProfilerActivity.CUDA, XPU or "
    "PrivateUse1; none for MPS)."
)
_NOT_RECORDED = (
    "No device events, though the model ran on a device: record it too (ProfilerActivity.CUDA, XPU "
    "or PrivateUse1; none for MPS). If it was recorded, CUPTI was not loaded or was in use."
)
_LOST = (
    "No device events, though its calls were recorded: CUPTI lacked permissions, was in use (nsys, "
    "ncu), or was not flushed before the end."
)
_NEITHER = (
    "No operators and no device events: record the process that runs the model, with "
    "ProfilerActivity.CPU and that of its device."
)
_DEVICE_MISSING = {"no-device-events": _LOST, "unrecorded-device": _NOT_RECORDED}
"""By code of warnings."""
_FOREIGN = (
    "No device events of CUDA, HIP, XPU, MTIA or PrivateUse1, which are all that is read; {} "
    "events of unknown categories may be another device's."
)
_FOREIGN_SHARE = 0.1
"""Of the trace's events, from which on they may be."""
_ON_CPU = "On the CPU: try torch.compile, and fit torch.set_num_threads to the cores."
_COMPILED_ON_CPU = "On the CPU: fit torch.set_num_threads to the cores."


_AT_HAND = "The file names {}: the model and its batches were not moved there. {}"


def device_advice(data: ReportData, devices: Sequence[str]) -> str | None:
    """Say it in one or two sentences; None with device events, and where it is not known.

    Args:
        data: the report with its warnings.
        devices: names of those that torch found on the machine.
    """
    if data.totals.device_busy_us or data.verdict.bound == "communication":
        return None
    compiled = data.compiled is not None or data.compiled_regions
    on_cpu = _COMPILED_ON_CPU if compiled else _ON_CPU
    if data.verdict.bound != "unknown":
        names = ", ".join(dict.fromkeys(devices))
        return _AT_HAND.format(names, on_cpu) if names else on_cpu
    codes = {warning.code for warning in data.trace.warnings}
    if not codes.isdisjoint(CUT):
        return None  # what was recorded is not known
    foreign = sum(row.count for row in data.trace.warnings if row.code == "unknown-category")
    if foreign >= _FOREIGN_SHARE * data.trace.events:
        return _FOREIGN.format(format_number(foreign))
    record = f"{_RECORD} {on_cpu}" if data.operators else _NEITHER if data.trace.events else None
    return next((words for code, words in _DEVICE_MISSING.items() if code in codes), record)
