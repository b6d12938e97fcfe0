"""The critical path of a replay: the chain of edges that decided how long a step took."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.arrays.types import DeviceEventIndex, Int, Nanoseconds, ThreadIndex
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


class CriticalPath(Struct, frozen=True):
    """Pieces of time of the path in order, shape (k,); their lengths add up to what is measured."""

    part: Int
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


def critical_path(replay: Replay, pace: Pace) -> CriticalPath:
    """Follow the binding edges back from the end of what is measured."""
    graph, lengths = replay.graph, replay.lengths
    edge = _chain(replay, pace.last)
    source, target = graph.edges.source[edge], graph.edges.target[edge]
    begins, left = replay.time[source], replay.leaves_after[edge]
    lag = lengths.lag[edge]
    runs = begins + left + np.minimum(lag, 0)
    arrives = runs + np.maximum(lag, 0)
    last = np.array([pace.last])
    host = _by_host(graph.edges.kind[edge])
    start = np.concatenate([begins, runs, arrives, replay.time[last]])
    end = np.concatenate([runs, arrives, replay.time[target], replay.end[last]])
    part = np.concatenate(
        [
            np.full(len(edge), Part.DEVICE),
            np.where(host, Part.HOST, Part.LATENCY),
            np.full(len(edge), Part.PAUSE),
            [Part.DEVICE],
        ]
    )
    nothing = np.full(len(edge), -1)
    event = np.concatenate([graph.nodes.event[source], nothing, nothing, graph.nodes.event[last]])
    thread = np.concatenate(
        [nothing, np.where(host, graph.nodes.thread[target], -1), nothing, [-1]]
    )
    start = np.maximum(start, pace.since)
    order = np.flatnonzero(end > start)
    order = order[np.argsort(start[order], kind="stable")]
    edges = np.concatenate([edge, edge, edge, [-1]])
    return CriticalPath(
        part[order], edges[order], start[order], end[order], event[order], thread[order]
    )


def _chain(replay: Replay, last: int) -> Int:
    """Binding edges from the origin to a node, first one first."""
    binding, source = binding_edges(replay).tolist(), replay.graph.edges.source
    edges, node = [], last
    while (edge := binding[node]) >= 0 and node > 0:
        edges.append(edge)
        node = int(source[edge])
    return np.array(edges[::-1], np.int64)


def _by_host(kind: Int) -> np.ndarray:
    """Whether the lag of an edge is the host's work."""
    host = (kind == EdgeKind.HOST) | (kind == EdgeKind.HANDOVER) | (kind == EdgeKind.QUEUE)
    return np.asarray(host)
