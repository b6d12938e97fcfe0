"""One pass over a graph: the time of every node from durations, lags and pauses."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.graph import Graph
from tb_hookview.arrays.types import Int, Nanoseconds

NEVER = -(1 << 60)
"""Lag of an edge that is taken out."""


class Lengths(Struct, frozen=True):
    """What passes at nodes and edges, nanoseconds: as recorded, or changed."""

    duration: Nanoseconds
    """Of each node, shape (n,)."""
    lag: Nanoseconds
    """Of each edge, shape (e,); `NEVER` takes it out."""
    pause: Nanoseconds
    """Before each node, shape (n,)."""


def recorded(graph: Graph) -> Lengths:
    """Lengths as the trace has them."""
    return Lengths(graph.nodes.duration, graph.edges.lag, graph.pause)


class Replay(Struct, frozen=True):
    """A graph with the times that some lengths lead to."""

    graph: Graph
    lengths: Lengths
    time: Nanoseconds
    """Of each node since the origin, shape (n,)."""

    @property
    def leaves_after(self) -> Nanoseconds:
        """Time in its source before each edge leaves it, shape (e,)."""
        return np.where(
            self.graph.edges.from_end, self.lengths.duration[self.graph.edges.source], 0
        )

    @property
    def end(self) -> Nanoseconds:
        """End of each node."""
        return self.time + self.lengths.duration


class Replayer:
    """Replays one graph any number of times."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._pairs = graph.edges.source.tolist(), graph.edges.target.tolist()

    def __call__(self, lengths: Lengths) -> Replay:
        """Replay with some lengths."""
        graph = self._graph
        passed = np.where(graph.edges.from_end, lengths.duration[graph.edges.source], 0)
        passed = passed + lengths.lag + lengths.pause[graph.edges.target]
        time = [0] * len(graph.nodes.time)
        for source, target, length in zip(*self._pairs, passed.tolist(), strict=True):
            arrival = time[source] + length
            if arrival > time[target]:
                time[target] = arrival
        return Replay(graph, lengths, np.array(time, np.int64))


def binding_edges(replay: Replay) -> Int:
    """Edge that decided the time of each node, -1 for none; shape (n,)."""
    graph, lengths = replay.graph, replay.lengths
    arrival = replay.time[graph.edges.source] + replay.leaves_after
    arrival = arrival + lengths.lag + lengths.pause[graph.edges.target]
    binds = np.flatnonzero(arrival == replay.time[graph.edges.target])
    edge = np.full(len(graph.nodes.time), -1, np.int64)
    edge[graph.edges.target[binds]] = binds
    return edge
