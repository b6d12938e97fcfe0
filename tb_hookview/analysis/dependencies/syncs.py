"""Edges from device events to the syncs that waited for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.device import DeviceTimes
from tb_hookview.analysis.dependencies.graph import EdgeKind, EdgeSet, Evidence
from tb_hookview.analysis.dependencies.nodes import Nodes
from tb_hookview.analysis.dependencies.points import Points
from tb_hookview.analysis.syncs.detection import is_device_wide
from tb_hookview.arrays.joins import asof, median, unique
from tb_hookview.arrays.nesting import ROUNDING_NS, lookup
from tb_hookview.arrays.types import Bool, Int, Nanoseconds

_RETURN = 50_000
"""Nanoseconds after which the return of a sync is not explained by the device event any more."""


class SyncEdges(NamedTuple):
    """Edges of the syncs that waited for a known device event."""

    edges: list[EdgeSet]
    end: Int
    """Points at the ends of these syncs."""
    cost: Nanoseconds
    """Time that each takes if there is nothing to wait for."""


def sync_edges(analysis: Analysis, points: Points, nodes: Nodes, times: DeviceTimes) -> SyncEdges:
    """Find the device events that each sync waited for.

    A device-wide sync waits for the last event of every stream that was launched before it. Any
    other waits for one stream: of these events that which ended last, but not after the sync.
    """
    syncs = analysis.syncs
    start, end = syncs.start[points.events.sync], syncs.end[points.events.sync]
    wide = is_device_wide(analysis.host, syncs.row[points.events.sync])
    source, which = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    latest = np.full(len(points.events.sync), -1, np.int64)
    for stream in unique(times.stream).tolist():
        event = _last_launched(analysis, times, stream, points, start, end)
        ended = lookup(times.end, event)
        known = (event >= 0) & (ended <= end + ROUNDING_NS)
        chosen = np.flatnonzero(known & wide)
        source.append(event[chosen])
        which.append(chosen)
        best = lookup(times.end, latest)
        first = lookup(times.correlation, event) < lookup(times.correlation, latest)
        later = known & ((ended > best) | ((ended == best) & first))
        latest[later] = event[later]
    single = np.flatnonzero(~wide & (latest >= 0))
    event = np.concatenate([*source, latest[single]])
    sync = np.concatenate([*which, single])
    back = end[sync] - times.end[event]
    bound = (times.end[event] > start[sync]) & (back < _RETURN)
    lag = int(median(np.maximum(back[bound], 0))) if bound.any() else 0
    waiting = np.zeros(len(points.events.sync), bool)
    waiting[sync] = True
    edges = EdgeSet(
        EdgeKind.SYNC,
        Evidence.CALLS,
        nodes.of_event[event],
        nodes.of_point[points.sync_end[sync]],
        np.full(len(sync), lag),
        from_end=True,
    )
    unbound = waiting.copy()
    unbound[sync[times.end[event] > start[sync]]] = False
    cost = _cost(analysis, points, waiting, unbound)
    return SyncEdges([edges], points.sync_end[waiting], cost)


def _last_launched(
    analysis: Analysis,
    times: DeviceTimes,
    stream: int,
    points: Points,
    start: Nanoseconds,
    end: Nanoseconds,
) -> Int:
    """Last event of a stream launched before each sync began, or by the sync itself."""
    tree = analysis.call_tree
    rows = np.flatnonzero((times.stream == stream) & (times.launch >= 0))
    launched = tree.start[times.launch[rows]]
    nothing = np.zeros(len(start), np.int64)
    before = lookup(rows, asof(np.zeros(len(rows), np.int64), launched, nothing, start - 1))
    thread = tree.thread[analysis.syncs.row[points.events.sync]]
    own = lookup(rows, asof(tree.thread[times.launch[rows]], launched, thread, end - 1))
    return np.maximum(before, own)


def _cost(analysis: Analysis, points: Points, waiting: Bool, unbound: Bool) -> Nanoseconds:
    """Duration of each waiting sync had there been nothing to wait for.

    The median of the syncs of its name of which that is so, else of all of which it is; else 0.
    """
    syncs = analysis.syncs
    lasted = (syncs.end - syncs.start)[points.events.sync]
    name = analysis.host.string[syncs.row[points.events.sync]]
    cost = np.full(len(lasted), int(median(lasted[unbound])) if unbound.any() else 0)
    for each in unique(name[unbound]):
        cost[name == each] = int(median(lasted[unbound & (name == each)]))
    return np.asarray(np.minimum(cost, lasted)[waiting])
