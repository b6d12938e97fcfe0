"""The table of streams: how busy each was, why it idled between device events, its queue.

Idle time is classified as HolisticTraceAnalysis does, by when the event after it was launched:

    host            [launch 2]
    stream  [work 1]             [work 2]    the host came late: `host_us`

    host    [launch 2]
    stream  [work 1]  [work 2]               launched in time: `kernel_us` where
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
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.tables.events.keys import stream_ids

SHORT_NS = 30_000
"""Gaps of launched events below this are the device's own."""


class StreamGaps(NamedTuple):
    """Idle time of a stream between its first device event and its last, nanoseconds."""

    host: int
    """Before work whose launch began after the stream had come to rest."""
    kernel: int
    """Short ones before work that was launched in time."""
    other: int
    """Long ones before such work, and before work whose launch is not known."""


def stream_rows(selection: Selection) -> list[schema.Stream]:
    """One row per stream that did any of the selected work, by device, then busiest first."""
    analysis, chosen = selection.analysis, selection.work
    stream = stream_ids(analysis)
    rows = [
        _row(analysis, number, chosen & (stream == number))
        for number in unique(stream[chosen]).tolist()
    ]
    return sorted(rows, key=lambda row: (int(row.device), -row.busy_us))


def _row(analysis: Analysis, number: int, mine: Bool) -> schema.Stream:
    work, trace = analysis.device_events, analysis.trace
    device, event = int(work.device[mine][0]), int(work.event[mine][0])
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
        busy_us=intervals.length(work.time_of(mine)) / 1000,
        host_us=gaps.host / 1000 if known else None,
        kernel_us=gaps.kernel / 1000 if known else None,
        other_us=gaps.other / 1000 if known else None,
        queue_mean=queue.mean,
        queue_max=queue.longest if known else None,
    )


def find_stream_gaps(analysis: Analysis, chosen: Bool) -> StreamGaps:
    """Sort the gaps of one stream by reason; `chosen` (shape (d,)) are its events."""
    work = analysis.device_events
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return StreamGaps(0, 0, 0)
    reach = np.maximum.accumulate(work.end[rows])[:-1]
    gap = np.maximum(work.start[rows[1:]] - reach, 0)
    launched = lookup(analysis.call_tree.start, work.launch[rows[1:]])
    late = launched > reach
    short = ~late & (launched >= 0) & (gap < SHORT_NS)
    return StreamGaps(_sum(gap, late), _sum(gap, short), _sum(gap, ~late & ~short))


def _sum(time: Int, wanted: Bool) -> int:
    return int(time[wanted].sum())
