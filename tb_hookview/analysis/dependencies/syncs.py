"""Edges of waits of the host: for a device, for collectives behind it, for memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.device import DeviceTimes
from tb_hookview.analysis.dependencies.graph import EdgeKind, EdgeSet, Evidence
from tb_hookview.analysis.dependencies.nodes import Nodes
from tb_hookview.analysis.dependencies.points import Points
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, index_of, median, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, StringIndex

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


_RETURN = 50_000
"""Nanoseconds after which the return of a sync is not explained by the device event any more."""


class SyncEdges(NamedTuple):
    """Edges of the syncs, and what these take without them."""

    edges: list[EdgeSet]
    end: Int
    """Points at the ends of the syncs that cannot return before a known event."""
    cost: Nanoseconds
    """Time that each takes if there is nothing to wait for: its own work."""


def sync_edges(analysis: Analysis, points: Points, nodes: Nodes, times: DeviceTimes) -> SyncEdges:
    """Edges from what each sync cannot return before."""
    call, syncs = analysis.call_times, analysis.syncs
    place = index_of(points.events.sync, len(syncs))
    sync = lookup(place, syncs.of_call[call.waiting])
    event = np.searchsorted(times.rows, call.event)
    inside = (sync >= 0) & (event < len(times.rows))
    inside[inside] = times.rows[event[inside]] == call.event[inside]
    sync, event, of = sync[inside], event[inside], call.waiting[inside]
    ends = syncs.end[points.events.sync][sync]
    back = ends - times.end[event]
    own_copy = call.copy[of] == times.rows[event]
    waited = times.end[event] > syncs.start[points.events.sync][sync]
    name = analysis.host.string[call.row[of]]
    edges = EdgeSet(
        EdgeKind.SYNC,
        Evidence.CALLS,
        nodes.of_event[event],
        nodes.of_point[points.sync_end[sync]],
        np.where(own_copy, back, _usual(back, name, waited & ~own_copy)),
        from_end=True,
    )
    bound = unique(sync)
    own = (syncs.duration - syncs.waited - syncs.transfer)[points.events.sync[bound]]
    return SyncEdges([edges], points.sync_end[bound], np.maximum(own, 0))


def _usual(back: Nanoseconds, name: StringIndex, waited: Bool) -> Nanoseconds:
    """Time from the end of an event to the return of a sync: the median by name of the call."""
    near = waited & (back < _RETURN)
    lag = np.full(len(back), int(median(np.maximum(back[near], 0))) if near.any() else 0)
    for each in unique(name[near]):
        lag[name == each] = int(median(np.maximum(back[near & (name == each)], 0)))
    return lag
