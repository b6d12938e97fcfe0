"""Edges from device events to the syncs that cannot return before they end.

Which these are is in `CallTimes`; a copy that held the host is one of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.device import DeviceTimes
from tb_hookview.analysis.dependencies.graph import EdgeKind, EdgeSet, Evidence
from tb_hookview.analysis.dependencies.nodes import Nodes
from tb_hookview.analysis.dependencies.points import Points
from tb_hookview.arrays.joins import index_of, median, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, StringIndex

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
