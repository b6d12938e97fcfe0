"""The dependency graph as columns: nodes in order of time, edges in order of their targets.

A node is a moment: a point of a host thread, or the start of a device event. An edge says that its
target is not before its source and a lag:

    time[target] >= time[source] + (duration[source] if from_end) + lag
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.nodes import Nodes
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.types import Bool, Code, Int, Nanoseconds, SyncIndex


class EdgeKind(IntEnum):
    """Why the target of an edge waits for its source."""

    HOST = 0
    """The next point of the same host thread."""
    LAUNCH = 1
    """A device event and the call that launched it."""
    STREAM = 2
    """The next device event of the same stream."""
    SYNC = 3
    """The end of a sync, and a device event that it waited for."""
    HANDOVER = 4
    """A host thread goes on where another one stopped (backward pass)."""
    QUEUE = 5
    """A launch that has to wait for room in the queue of its device."""
    CROSS_STREAM = 6
    """A device event that waits for one of another stream."""
    ORIGIN = 7
    """What began before the replayed window."""
    COLLECTIVE = 8
    """A host thread that waits for a collective of other threads, from its call on."""


class Evidence(IntEnum):
    """What in the trace shows an edge."""

    ORDER = 0
    """Order on one thread or stream."""
    CORRELATION = 1
    """Correlation id of launch and device event."""
    SYNC_ROW = 2
    """A `cuda_sync` row that names the stream or the event."""
    CALLS = 3
    """Calls of the runtime: what was launched before and after them."""
    TIMES = 4
    """Times alone: one ends where the other begins."""


class EdgeSet(NamedTuple):
    """Edges of one kind; sources and targets are node numbers, shape (e,)."""

    kind: EdgeKind
    evidence: Evidence
    source: Int
    target: Int
    lag: Nanoseconds
    from_end: bool
    """Whether the lag counts from the end of the source's duration."""


class Edges(Struct, frozen=True):
    """Edges ordered by target, shape (e,)."""

    source: Int
    target: Int
    lag: Nanoseconds
    from_end: Bool
    """Whether the lag counts from the end of the source's duration."""
    kind: Code
    """`EdgeKind`."""
    evidence: Code
    """`Evidence`."""
    backward: int
    """Edges that were left out, as they led back in time."""

    def of(self, *kinds: EdgeKind) -> Bool:
        """Mask of the edges of some kinds."""
        return isin(self.kind, [int(kind) for kind in kinds])


class Graph(Struct, frozen=True):
    """Nodes and edges of one window."""

    nodes: Nodes
    edges: Edges
    pause: Nanoseconds
    """Time by which each node was later than its edges explain, where that is long; shape (n,)."""
    peers: Bool
    """Nodes that are collectives: they are late for what other ranks do, shape (n,)."""
    loading: Bool
    """Edges of a host thread that is in a data loader, shape (e,)."""
    step_end: Int
    """Node at the end of each replayed step on the host, shape (s,)."""
    base: int
    """End of the last device event launched before the window, nanoseconds since its start: then
    the device begins with the window's own. 0 without any, and where no step is marked."""
    sync: SyncIndex
    """Syncs of the window, shape (w,)."""
    sync_end: Int
    """Node at the end of each of them."""


def joined(sets: Sequence[EdgeSet]) -> Edges:
    """Put sets of edges together, by target; those that lead back in time are left out."""
    sizes = [len(edges.source) for edges in sets]
    source, target, lag = (
        np.concatenate([np.asarray(edges[column], np.int64) for edges in sets])
        for column in (2, 3, 4)
    )
    forward = np.flatnonzero(source < target)
    order = forward[np.argsort(target[forward], kind="stable")]
    number = np.repeat(np.arange(len(sets)), sizes)[order]
    return Edges(
        source=source[order],
        target=target[order],
        lag=lag[order],
        from_end=np.array([edges.from_end for edges in sets], bool)[number],
        kind=np.array([edges.kind for edges in sets], np.int8)[number],
        evidence=np.array([edges.evidence for edges in sets], np.int8)[number],
        backward=len(source) - len(order),
    )


def lateness(nodes: Nodes, edges: Edges) -> Nanoseconds:
    """Time by which each node was later than its edges explain, by recorded times; shape (n,)."""
    passed = np.where(edges.from_end, nodes.duration[edges.source], 0)
    arrival = nodes.time[edges.source] + passed + edges.lag
    latest = np.zeros(len(nodes.time), np.int64)
    if len(edges.target):
        opens = np.flatnonzero(np.diff(edges.target, prepend=-1))
        latest[edges.target[opens]] = np.maximum.reduceat(arrival, opens)
    return np.asarray(nodes.time - latest)
