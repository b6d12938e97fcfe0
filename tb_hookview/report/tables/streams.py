"""The table of streams: busy time, idle time between device events, queue.

Idle time is classified as HolisticTraceAnalysis does, by when the event after it was launched:

    host            [launch 2]
    stream  [event 1]           [event 2]    the host came late: `host_us`

    host    [launch 2]
    stream  [event 1] [event 2]              launched in time: `kernel_us` where
                                             it is below 30 us, else `other_us`
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.queue_length import queue_length
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Nanoseconds
from tb_hookview.arrays.units import to_us
from tb_hookview.tables.events.names import stream_ids

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
        _row(analysis, number, chosen & (stream == number))
        for number in unique(stream[chosen]).tolist()
    ]
    return sorted(rows, key=lambda row: (int(row.device), -row.busy_us))


def _row(analysis: Analysis, number: int, mine: Bool) -> schema.Stream:
    events, trace = analysis.device_events, analysis.trace
    device, event = int(events.device[mine][0]), int(events.event[mine][0])
    queue, gaps = (
        queue_length(analysis.call_tree, analysis.device_events, mine),
        find_stream_gaps(analysis, mine),
    )
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
    return StreamGaps(_sum(gap, late), _sum(gap, short), _sum(gap, ~late & ~short))


def _sum(time: Nanoseconds, wanted: Bool) -> int:
    return int(time[wanted].sum())
