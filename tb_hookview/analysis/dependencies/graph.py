"""The dependency graph as columns: nodes in order of time, edges in order of their targets.

A node is a moment: a point of a host thread, or the start of a device event. An edge says that its
target is not before its source and a lag:

    time[target] >= time[source] + (duration[source] if from_end) + lag
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    Int,
    Nanoseconds,
    SyncIndex,
    ThreadIndex,
)


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


class Graph(Struct, frozen=True, dict=True):
    """Nodes (shape (n,)) in order of recorded time, and edges (shape (e,)) by target."""

    time: Nanoseconds
    """Recorded time of each node since the start of the window; node 0 is the origin, at 0."""
    duration: Nanoseconds
    """Of device events; 0 for points of the host."""
    thread: ThreadIndex
    """Thread of a point of the host, -1 for a device event and the origin."""
    event: DeviceEventIndex
    """Device event of each node, -1 for a point of the host."""
    source: Int
    target: Int
    lag: Nanoseconds
    from_end: Bool
    kind: Int
    """`EdgeKind`."""
    evidence: Int
    """`Evidence`."""
    loading: Bool
    """Edges of a host thread that is in a data loader, shape (e,)."""
    pause: Nanoseconds
    """Time by which each node was later than its edges explain, where that is long; shape (n,)."""
    step_end: Int
    """Node at the end of each replayed step on the host, shape (s,)."""
    event_node: Int
    """Node of each of the window's device events."""
    history: Bool
    """Device events launched before the window: they stay as recorded; shape (n,)."""
    base: int
    """End of the last of them: the device begins with the window's own work. 0 without any, and
    where no step is marked."""
    sync: SyncIndex
    """Syncs of the window, shape (w,)."""
    sync_end: Int
    """Node at the end of each of them."""
    backward: int
    """Edges that were left out, as they led back in time."""

    @cached_property
    def leaves_after(self) -> Nanoseconds:
        """Part of the source's duration that passes before each edge leaves it."""
        return np.where(self.from_end, self.duration[self.source], 0)

    def of(self, *kinds: EdgeKind) -> Bool:
        """Mask of the edges of some kinds."""
        found = np.zeros(len(self.kind), bool)
        for kind in kinds:
            found |= self.kind == kind
        return found


class Edges(NamedTuple):
    """Columns of edges, ordered by target."""

    source: Int
    target: Int
    lag: Nanoseconds
    from_end: Bool
    kind: Int
    evidence: Int
    backward: int


def joined(sets: Sequence[EdgeSet]) -> Edges:
    """Put sets of edges together, by target; those that lead back in time are left out."""
    sizes = [len(edges.source) for edges in sets]
    source, target, lag = (
        np.concatenate([np.asarray(edges[column], np.int64) for edges in sets])
        for column in (2, 3, 4)
    )
    forward = source < target
    order = np.argsort(target[forward], kind="stable")

    def column(values: list[int]) -> Int:
        return np.repeat(values, sizes)[forward][order]

    return Edges(
        source=source[forward][order],
        target=target[forward][order],
        lag=lag[forward][order],
        from_end=column([edges.from_end for edges in sets]).astype(bool),
        kind=column([edges.kind for edges in sets]),
        evidence=column([edges.evidence for edges in sets]),
        backward=int(np.count_nonzero(~forward)),
    )


def arrivals(edges: Edges, time: Nanoseconds, duration: Nanoseconds) -> Nanoseconds:
    """Moment at which each edge lets its target go, by the recorded times of its source."""
    passed = np.where(edges.from_end, duration[edges.source], 0)
    return np.asarray(time[edges.source] + passed + edges.lag)


def latest(edges: Edges, arrival: Nanoseconds, nodes: int) -> Nanoseconds:
    """Latest arrival at each node; 0 (the origin's time) where no edge leads to it."""
    found = np.zeros(nodes, np.int64)
    if len(edges.target):
        opens = np.flatnonzero(np.diff(edges.target, prepend=-1))
        found[edges.target[opens]] = np.maximum.reduceat(arrival, opens)
    return found
