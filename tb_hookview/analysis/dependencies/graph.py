"""The dependency graph as columns: nodes in order of time, edges in order of their targets.

A node is a moment: a point of a host thread, or the start of a device event. An edge says that its
target is not before its source and a lag:

    time[target] >= time[source] + (duration[source] if from_end) + lag
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.points import LAUNCHES, Points, Window
from tb_hookview.arrays.joins import index_of, isin, pair_key, running_max, scatter
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    Bool,
    Code,
    DeviceEventIndex,
    EventRow,
    Int,
    Nanoseconds,
    SyncIndex,
    ThreadIndex,
)
from tb_hookview.schema.timeline import LinkEvidence, LinkKind

# Nodes of the graph: points of host threads, and device events, in order of time.


class Nodes(NamedTuple):
    """Nodes in the order of `number_nodes`, shape (n,); node 0 is the origin."""

    time: Nanoseconds
    """Since the start of the window."""
    duration: Nanoseconds
    """Of device events; 0 for points of the host."""
    thread: ThreadIndex
    """Thread of a point of the host, -1 for a device event and the origin."""
    event: DeviceEventIndex
    """Device event of each node, -1 for a point of the host."""
    history: Bool
    """Device events launched before the window: they stay as recorded."""
    of_point: Int
    """Node of each point."""
    of_event: Int
    """Node of each of the window's device events."""


def number_nodes(analysis: Analysis, window: Window, points: Points) -> Nodes:
    """Put points and device events in one order of time, after the origin.

    A device event comes after its launch and after the one before it on its stream, whatever its
    clock says: edges lead on in that order.
    """
    events = analysis.device_events
    start = events.start[window.events] - analysis.clock_ahead
    end = np.maximum(start + events.duration[window.events], window.start)
    start = np.maximum(start, window.start)
    host = len(points.time)
    time = np.concatenate([[window.start], points.time, start])
    rank = np.concatenate([[-1], points.rank, np.full(len(start), LAUNCHES + 1)])
    mine = analysis.trace.events.correlation[events.event[window.events]]
    tie = np.concatenate([np.zeros(host + 1, np.int64), mine])
    moment = np.concatenate([time[: host + 1], _begun(analysis, window, start, mine)])
    order = np.lexsort((tie, rank, moment))
    number = index_of(order, len(order))
    none = np.zeros(host + 1, np.int64)
    return Nodes(
        time=time[order] - window.start,
        duration=np.concatenate([none, end - start])[order],
        thread=np.concatenate([[-1], points.thread, np.full(len(start), -1)])[order],
        event=np.concatenate([none - 1, window.events])[order],
        history=np.concatenate([none > 0, window.history])[order],
        of_point=number[1 : host + 1],
        of_event=number[host + 1 :],
    )


def _begun(analysis: Analysis, window: Window, start: Nanoseconds, correlation: Int) -> Nanoseconds:
    """Moment by which each device event of the window is put in order."""
    events = analysis.device_events
    launched = lookup(analysis.call_tree.start, events.launch[window.events])
    moment = np.maximum(launched, start)
    stream = analysis.timing.stream[window.events]
    order = np.lexsort((correlation, start, stream))
    moment[order] = running_max(stream[order], moment[order])
    return moment


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
    CALLS = 2
    """Calls of the runtime: what was launched before and after them."""
    TIMES = 3
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
    """Nodes that are collectives, shape (n,)."""
    late_for_peers: Bool
    """Those that pause for what other ranks do (`LaunchTiming.of_peers`); not the first event of a
    device, as what the device did before is not in the trace. Shape (n,)."""
    loading: Bool
    """Edges of a host thread that is in a data loader, shape (e,)."""
    step_end: Int
    """Node at the end of each replayed step on the host, shape (s,)."""
    before: Int
    """Device events launched before the window: when they end, the device begins with the window's
    own. None where no step is marked."""
    sync: SyncIndex
    """Syncs of the window, shape (w,)."""
    sync_end: Int
    """Node at the end of each of them."""
    launches: Bool
    """Whether each is a launch that waits for what it launched, and without that wait launches."""


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


# Links between rows of a trace: the edges of the graph that have an event at both ends, and more.
#
# What launched a device event and which forward operator made a node is known of every row. What
# waited for what is known of the steps that are replayed; elsewhere only `Syncs.blocking_event`.


EVIDENCE: dict[Evidence, LinkEvidence] = {
    Evidence.ORDER: "order",
    Evidence.CORRELATION: "correlation id",
    Evidence.CALLS: "calls of the runtime",
    Evidence.TIMES: "times",
}
"""What in the trace shows an edge, in words."""


class Links(NamedTuple):
    """Links of one kind and evidence: rows of `Events`, shape (l,)."""

    kind: LinkKind
    evidence: LinkEvidence
    source: EventRow
    """What came first: launch, forward operator, what was waited for."""
    target: EventRow


def row_links(analysis: Analysis) -> Iterator[Links]:
    """Yield the links that every row may have: launches, forward operators."""
    rows, nodes = analysis.call_tree.event, analysis.nodes
    device_events = analysis.device_events
    launched = np.flatnonzero(device_events.launch >= 0)
    yield Links(
        "launch",
        EVIDENCE[Evidence.CORRELATION],
        rows[device_events.launch[launched]],
        device_events.event[launched],
    )
    made = nodes.forward_op >= 0
    by_sequence = nodes.by_sequence >= 0
    shown_by: tuple[tuple[LinkEvidence, Bool], ...] = (
        ("sequence number", made & by_sequence),
        ("flow", made & ~by_sequence),
    )
    for evidence, chosen in shown_by:
        yield Links("autograd", evidence, rows[nodes.forward_op[chosen]], rows[nodes.row[chosen]])


def wait_links(analysis: Analysis, graph: Graph | None) -> Iterator[Links]:
    """Yield what waited for which device event.

    Args:
        analysis: the trace.
        graph: of its steps; None where these are not replayed.
    """
    syncs, blocking = analysis.syncs, analysis.syncs.blocking_event
    rows, events = analysis.call_tree.event, analysis.device_events.event
    shown = np.zeros(0, np.int64)
    if graph is not None:
        edge = np.flatnonzero(graph.edges.of(EdgeKind.CROSS_STREAM))
        ends = (graph.nodes.event[of[edge]] for of in (graph.edges.source, graph.edges.target))
        yield from _by_evidence(graph, "cross_stream", edge, *(events[end] for end in ends))
        edge, source, sync = _waited_for(analysis, graph)
        yield from _by_evidence(graph, "sync", edge, events[source], rows[syncs.row[sync]])
        shown = pair_key(sync, source)
    others = (blocking >= 0) & ~isin(pair_key(np.arange(len(blocking)), blocking), shown)
    yield Links("sync", EVIDENCE[Evidence.TIMES], events[blocking[others]], rows[syncs.row[others]])


def _waited_for(analysis: Analysis, graph: Graph) -> tuple[Int, Int, Int]:
    """Edges of syncs whose device event ended within the sync; that event, and the sync."""
    sync = scatter(graph.sync_end, graph.sync, len(graph.nodes.time))
    edge = np.flatnonzero(graph.edges.of(EdgeKind.SYNC))
    source, of = graph.nodes.event[graph.edges.source[edge]], sync[graph.edges.target[edge]]
    waited: Bool = analysis.device_events.end[source] > analysis.syncs.start[of]
    return edge[waited], source[waited], of[waited]


def _by_evidence(
    graph: Graph, kind: LinkKind, edge: Int, source: EventRow, target: EventRow
) -> Iterator[Links]:
    evidence = graph.edges.evidence[edge]
    for shown, words in EVIDENCE.items():
        mine = evidence == shown
        if mine.any():
            yield Links(kind, words, source[mine], target[mine])
