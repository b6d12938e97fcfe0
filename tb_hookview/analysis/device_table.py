"""The table of devices: how much of the time each worked, at what, and how well its kernels fit."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis import intervals, schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.breakdown import Breakdown
from tb_hookview.analysis.gpu_metrics import occupancy, sm_efficiency, utilization
from tb_hookview.analysis.kinds import COMMUNICATION
from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.tensor_cores import eligible_work
from tb_hookview.trace import Kind
from tb_hookview.trace.columns import Bool, Int


def device_rows(selection: Selection, breakdown: Breakdown) -> list[schema.DeviceUse]:
    """One row per device that did any of the selected work, by its index."""
    analysis, work = selection.analysis, selection.analysis.work
    chosen = [i for i in selection.steps if i < len(breakdown.window)]
    window = breakdown.window[[chosen[0], chosen[-1]]] if chosen else np.zeros((2, 2), np.int64)
    bounds = int(window[0, 0]), int(window[1, 1])
    eligible = eligible_work(analysis)
    return [
        _row(analysis, device, selection.work & (work.device == device), eligible, bounds)
        for device in np.unique(work.device[selection.work]).tolist()
    ]


def _row(
    analysis: Analysis, device: int, mine: Bool, eligible: Bool, window: tuple[int, int]
) -> schema.DeviceUse:
    work = analysis.work
    kernels = analysis.trace.events.kind[work.event] == Kind.KERNEL
    collective = kernels & (analysis.kinds.kind == COMMUNICATION)
    compute = _time(analysis, mine & kernels & ~collective)
    communication = _time(analysis, mine & collective)
    cores = analysis.kinds.tensor_core == 1
    event, start, end = (c[kernels & (work.device == device)] for c in _columns(analysis))
    events = analysis.trace.events
    return schema.DeviceUse(
        device=str(device),
        span_us=int(work.end[mine].max() - work.start[mine].min()) / 1000,
        busy_us=intervals.length(_time(analysis, mine)) / 1000,
        compute_us=intervals.length(compute) / 1000,
        communication_us=intervals.length(communication) / 1000,
        overlapped_us=intervals.length(intervals.intersect(compute, communication)) / 1000,
        kernel_us=_sum(analysis, mine & kernels),
        tensor_core_us=_sum(analysis, mine & kernels & cores),
        tensor_core_eligible_us=_sum(analysis, mine & kernels & eligible),
        utilization=utilization(start, end, window),
        sm_efficiency=sm_efficiency(start, end, events.blocks_per_sm[event], window),
        occupancy_pct=occupancy(start, end, events.occupancy[event], window),
    )


def _columns(analysis: Analysis) -> tuple[Int, Int, Int]:
    return analysis.work.event, analysis.work.start, analysis.work.end


def _time(analysis: Analysis, wanted: Bool) -> Int:
    """Set of time in which any of the work ran."""
    return intervals.of(analysis.work.start[wanted], analysis.work.end[wanted])


def _sum(analysis: Analysis, wanted: Bool) -> float:
    return int(analysis.work.duration[wanted].sum()) / 1000
