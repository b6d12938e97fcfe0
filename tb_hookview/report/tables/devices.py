"""The tables of the breakdown, of devices and of streams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.breakdown import CATEGORIES, Breakdown
from tb_hookview.analysis.device.events import queue_length
from tb_hookview.analysis.device.kinds import (
    COMMUNICATION,
    occupancy,
    sm_efficiency,
    tensor_core_eligible,
    utilization,
)
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, to_us
from tb_hookview.tables.events.names import stream_ids

# The table of steps by torch_tb_profiler's categories, in microseconds.


def breakdown_rows(selection: Selection, breakdown: Breakdown) -> list[schema.Breakdown]:
    """One row per selected step whose device events are in the trace, in order."""
    if selection.analysis.device_unseen:
        return []
    names, window = selection.analysis.steps.name, breakdown.window
    return [
        schema.Breakdown(
            id=i,
            step=names[i],
            step_id=i,
            start_us=to_us(window[i, 0]),
            duration_us=to_us(window[i, 1] - window[i, 0]),
            **{
                f"{category}_us": to_us(time)
                for category, time in zip(CATEGORIES, breakdown.time[i].tolist(), strict=True)
            },
        )
        for i in selection.steps
        if i < len(window)
    ]


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
    kernels = chosen & analysis.device_events.is_kernel
    collective = analysis.kinds.kind == COMMUNICATION
    compute = events.time_of(kernels & ~collective)
    communication = events.time_of(kernels & collective)
    return Use(
        span=int(events.end[chosen].max() - events.start[chosen].min()),
        busy=intervals.length(events.time_of(chosen)),
        compute=intervals.length(compute),
        communication=intervals.length(communication),
        overlapped=intervals.length(intervals.intersect(compute, communication)),
    )


def _row(
    analysis: Analysis, device: int, mine: Bool, eligible: Bool, window: tuple[int, int]
) -> schema.DeviceUse:
    events, use = analysis.device_events, find_use(analysis, mine)
    columns = analysis.trace.events
    kernels = analysis.device_events.is_kernel
    ran = kernels & (events.device == device)
    event, start, end = events.event[ran], events.start[ran], events.end[ran]
    return schema.DeviceUse(
        id=str(device),
        device=str(device),
        **{f"{name}_us": to_us(time) for name, time in use._asdict().items()},
        kernel_us=_sum(analysis, mine & kernels),
        tensor_core_us=_sum(analysis, mine & kernels & (analysis.kinds.tensor_core == 1)),
        tensor_core_eligible_us=_sum(analysis, mine & kernels & eligible)
        if analysis.launches_known
        else None,
        utilization=utilization(start, end, window),
        sm_efficiency=sm_efficiency(start, end, columns.blocks_per_sm[event], window),
        occupancy_pct=occupancy(start, end, columns.occupancy[event], window),
    )


def _sum(analysis: Analysis, wanted: Bool) -> float:
    return to_us(analysis.device_events.duration[wanted].sum())


# The table of streams: busy time, idle time between device events, queue.
#
# Idle time is classified as HolisticTraceAnalysis does, by when the event after it was launched:
#
#     host            [launch 2]
#     stream  [event 1]           [event 2]    the host came late: `host_us`
#
#     host    [launch 2]
#     stream  [event 1] [event 2]              launched in time: `kernel_us` where
#                                              it is below 30 us, else `other_us`


SHORT_NS = 30_000
"""Gaps of launched events below this are the device's own."""


class StreamGaps(NamedTuple):
    """Idle time of a stream between its first device event and its last, nanoseconds."""

    host: int
    """Before events whose launch began after the stream had come to rest."""
    kernel: int
    """Short ones before events launched in time."""
    other: int
    """Long ones before such events, and before events whose launch is unknown."""


def stream_rows(selection: Selection) -> list[schema.Stream]:
    """One row per stream with selected device events, by device, busiest first."""
    analysis, chosen = selection.analysis, selection.device_events
    stream = stream_ids(analysis)
    rows = [
        _row_streams(analysis, number, chosen & (stream == number))
        for number in unique(stream[chosen]).tolist()
    ]
    return sorted(rows, key=lambda row: (int(row.device), -row.busy_us))


def _row_streams(analysis: Analysis, number: int, mine: Bool) -> schema.Stream:
    events, trace = analysis.device_events, analysis.trace
    device, event = int(events.device[mine][0]), int(events.event[mine][0])
    queue = queue_length(analysis.call_tree, events, mine)
    gaps = find_stream_gaps(analysis, mine)
    known = bool(len(queue.time))
    return schema.Stream(
        id=number,
        device=str(device),
        device_id=str(device),
        stream=trace.threads[int(trace.events.thread[event])].stream,
        count=int(mine.sum()),
        busy_us=to_us(intervals.length(events.time_of(mine))),
        host_us=to_us(gaps.host) if known else None,
        kernel_us=to_us(gaps.kernel) if known else None,
        other_us=to_us(gaps.other) if known else None,
        queue_mean=queue.mean,
        queue_max=queue.longest if known else None,
    )


def find_stream_gaps(analysis: Analysis, chosen: Bool) -> StreamGaps:
    """Sort the gaps of one stream by reason; `chosen` (shape (d,)) are its events."""
    events = analysis.device_events
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return StreamGaps(0, 0, 0)
    reach = np.maximum.accumulate(events.end[rows])[:-1]
    gap = np.maximum(events.start[rows[1:]] - reach, 0)
    launched = lookup(analysis.call_tree.start, events.launch[rows[1:]])
    late = launched > reach
    short = ~late & (launched >= 0) & (gap < SHORT_NS)
    return StreamGaps(*(int(gap[mine].sum()) for mine in (late, short, ~late & ~short)))
