"""Waits of the caching allocator, which no call shows: off the host's time, onto a device event."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.device import DeviceTimes
from tb_hookview.analysis.dependencies.graph import EdgeKind, EdgeSet, Evidence
from tb_hookview.analysis.dependencies.nodes import Nodes
from tb_hookview.analysis.dependencies.points import Points
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Nanoseconds

_AFTER = 50_000
"""Nanoseconds from the end of a device event in which the host goes on, if it waited for it."""


def retry_waits(analysis: Analysis, points: Points, before: Nanoseconds) -> Nanoseconds:
    """Time before each point in which its thread waited so."""
    retries, waited = analysis.retries, np.zeros(len(points.time), np.int64)
    thread = analysis.call_tree.thread[retries.row]
    for each in unique(thread).tolist():
        rows, mine = np.flatnonzero(points.thread == each), thread == each
        windows = np.stack([before[rows], points.time[rows]], axis=1)
        spans = intervals.of(retries.start[mine], retries.end[mine])
        waited[rows] = intervals.lengths_within(spans, windows)
    return waited


def retry_edges(analysis: Analysis, points: Points, nodes: Nodes, times: DeviceTimes) -> EdgeSet:
    """Edges from the event that ended right before a wait did to the thread's next point."""
    retries, order = analysis.retries, np.argsort(times.end, kind="stable")
    last = np.searchsorted(times.end[order], retries.end, side="right") - 1
    event = lookup(order, last)
    thread = analysis.call_tree.thread[retries.row]
    target = asof(points.thread, points.time, thread, retries.end - 1) + 1
    known = (event >= 0) & (target > 0) & (target < len(points.time))
    known[known] = points.thread[target[known]] == thread[known]
    event, target = event[known], target[known]
    start, end = retries.start[known], retries.end[known]
    ended = times.end[event]
    waits = (ended >= np.maximum(start, end - _AFTER)) & (times.start[event] < start)
    event, target = event[waits], target[waits]
    return EdgeSet(
        EdgeKind.SYNC,
        Evidence.TIMES,
        nodes.of_event[event],
        nodes.of_point[target],
        points.time[target] - times.end[event],
        from_end=True,
    )
