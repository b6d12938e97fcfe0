"""The critical path of a replay: the chain of edges that decided how long a step took."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.arrays.types import Code, DeviceEventIndex, Int, Nanoseconds, ThreadIndex
from tb_hookview.simulation.measure import Pace
from tb_hookview.simulation.replay import Replay, binding_edges


class Part(IntEnum):
    """What passed the time of a piece of the path."""

    HOST = 0
    """A host thread worked."""
    DEVICE = 1
    """A device event ran."""
    LATENCY = 2
    """From launch to start, between events of a stream, from stream to stream, and from the end of
    a device event to the return of the sync that waited for it."""
    PAUSE = 3
    """What no edge explains."""
    PEERS = 4
    """Other ranks had not come to a collective: on the device before it began, on the host from
    its call to where the thread that waited for it goes on."""


class CriticalPath(Struct, frozen=True):
    """Pieces of time of the path in order, shape (k,); their lengths add up to what is measured."""

    part: Code
    """`Part`."""
    edge: Int
    """Edge of the graph that each piece belongs to."""
    start: Nanoseconds
    end: Nanoseconds
    """Times in the replay, since the origin."""
    event: DeviceEventIndex
    """Device event that ran, -1 for none."""
    thread: ThreadIndex
    """Host thread that worked, -1 for none."""


def critical_path(replay: Replay, pace: Pace, edge: Int) -> CriticalPath:
    """Cut the binding edges to the end of what is measured by what passed their time."""
    graph, lengths = replay.graph, replay.lengths
    source, target = graph.edges.source[edge], graph.edges.target[edge]
    begins = replay.time[source]
    left = np.where(graph.edges.from_end[edge], lengths.duration[source], 0)
    lag = lengths.lag[edge]
    runs = begins + left + np.minimum(lag, 0)
    arrives = runs + np.maximum(lag, 0)
    host, last = _by_host(graph.edges.kind[edge]), pace.last

    def column(device: Int | int, lags: Int | int, pause: Int | int, end: int) -> Int:
        """Values of each edge's pieces in turn, and of the last node."""
        pieces = np.empty(3 * len(edge) + 1, np.int64)
        pieces[:-1:3], pieces[1::3], pieces[2::3], pieces[-1] = device, lags, pause, end
        return pieces

    start = column(begins, runs, arrives, int(replay.time[last]))
    start = np.maximum(start, pace.since)
    end = column(runs, arrives, replay.time[target], int(replay.end(last)))
    passed = np.where(host, Part.HOST, Part.LATENCY)
    passed[graph.edges.kind[edge] == EdgeKind.COLLECTIVE] = Part.PEERS
    late = np.where(graph.peers[target], Part.PEERS, Part.PAUSE)
    part = column(Part.DEVICE, passed, late, Part.DEVICE)
    event = column(graph.nodes.event[source], -1, -1, int(graph.nodes.event[last]))
    thread = column(-1, np.where(host, graph.nodes.thread[target], -1), -1, -1)
    there = np.flatnonzero(end > start)
    columns = (column(edge, edge, edge, -1), start, end, event, thread)
    return CriticalPath(part[there].astype(np.int8), *(each[there] for each in columns))


def binding_chain(replay: Replay, last: int) -> Int:
    """Binding edges from the origin to a node, first one first."""
    binding = binding_edges(replay)
    before = np.where(binding >= 0, replay.graph.edges.source[binding], 0)
    on_chain = np.zeros(len(before), bool)
    on_chain[last] = True
    while before[last]:  # twice as far back each time
        on_chain[before[on_chain]] = True
        before = before[before]
    on_chain[0] = False
    edges = binding[on_chain]
    return edges[edges >= 0]


def _by_host(kind: Code) -> np.ndarray:
    """Whether the lag of an edge is the host's work."""
    host = (kind == EdgeKind.HOST) | (kind == EdgeKind.HANDOVER) | (kind == EdgeKind.QUEUE)
    return np.asarray(host)
