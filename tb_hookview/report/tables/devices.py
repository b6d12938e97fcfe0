"""The table of devices: busy time by use, and how well kernels fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.breakdown import Breakdown
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.device.occupancy import occupancy, sm_efficiency, utilization
from tb_hookview.analysis.device.tensor_cores import tensor_core_eligible
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, TimeSet
from tb_hookview.arrays.units import to_us
from tb_hookview.trace import EventCategory


def device_rows(selection: Selection, breakdown: Breakdown) -> list[schema.DeviceUse]:
    """One row per device that ran a selected device event, by its index."""
    analysis, events = selection.analysis, selection.analysis.device_events
    chosen = [i for i in selection.steps if i < len(breakdown.window)]
    window = breakdown.window[[chosen[0], chosen[-1]]] if chosen else np.zeros((2, 2), np.int64)
    bounds = int(window[0, 0]), int(window[1, 1])
    eligible = tensor_core_eligible(analysis.host, analysis.device_events, analysis.kinds)
    return [
        _row(
            analysis, device, selection.device_events & (events.device == device), eligible, bounds
        )
        for device in unique(events.device[selection.device_events]).tolist()
    ]


class Use(NamedTuple):
    """Time of some device events, nanoseconds."""

    span: int
    """Time from the first start to the last end."""
    busy: int
    """Any of it ran."""
    compute: int
    """Any kernel ran that is no collective's."""
    communication: int
    """Any kernel ran that is a collective's."""
    overlapped: int
    """Both of them ran."""


def find_use(analysis: Analysis, chosen: Bool) -> Use:
    """Describe the device events chosen (shape (d,), at least one)."""
    events = analysis.device_events
    kernels = chosen & _kernels(analysis)
    collective = analysis.kinds.kind == COMMUNICATION
    compute = _time(analysis, kernels & ~collective)
    communication = _time(analysis, kernels & collective)
    return Use(
        span=int(events.end[chosen].max() - events.start[chosen].min()),
        busy=intervals.length(_time(analysis, chosen)),
        compute=intervals.length(compute),
        communication=intervals.length(communication),
        overlapped=intervals.length(intervals.intersect(compute, communication)),
    )


def _row(
    analysis: Analysis, device: int, mine: Bool, eligible: Bool, window: tuple[int, int]
) -> schema.DeviceUse:
    events, use = analysis.device_events, find_use(analysis, mine)
    columns = analysis.trace.events
    kernels = _kernels(analysis)
    ran = kernels & (events.device == device)
    event, start, end = events.event[ran], events.start[ran], events.end[ran]
    return schema.DeviceUse(
        id=str(device),
        device=str(device),
        **{f"{name}_us": to_us(time) for name, time in use._asdict().items()},
        kernel_us=_sum(analysis, mine & kernels),
        tensor_core_us=_sum(analysis, mine & kernels & (analysis.kinds.tensor_core == 1)),
        tensor_core_eligible_us=_sum(analysis, mine & kernels & eligible),
        utilization=utilization(start, end, window),
        sm_efficiency=sm_efficiency(start, end, columns.blocks_per_sm[event], window),
        occupancy_pct=occupancy(start, end, columns.occupancy[event], window),
    )


def _kernels(analysis: Analysis) -> Bool:
    return np.asarray(
        analysis.trace.events.kind[analysis.device_events.event] == EventCategory.KERNEL
    )


def _time(analysis: Analysis, wanted: Bool) -> TimeSet:
    """Time in which any of the device events ran."""
    return analysis.device_events.time_of(wanted)


def _sum(analysis: Analysis, wanted: Bool) -> float:
    return to_us(analysis.device_events.duration[wanted].sum())
