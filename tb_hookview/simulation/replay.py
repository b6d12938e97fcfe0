"""One pass over a graph: the time of every node from durations, lags and pauses."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.graph import EdgeKind, Graph
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


class Replay(Struct, frozen=True, dict=True):
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

    @cached_property
    def arrival(self) -> Nanoseconds:
        """Time of its target by each edge alone, shape (e,)."""
        edges = self.graph.edges
        passed = self.leaves_after + self.lengths.lag + self.lengths.pause[edges.target]
        return np.asarray(self.time[edges.source] + passed)

    @property
    def end(self) -> Nanoseconds:
        """End of each node."""
        return self.time + self.lengths.duration


class Replayer:
    """Replays one graph any number of times.

    Most points of the host have one edge, from the point before: their times follow from that of
    the first of such a chain. The loop goes over the other nodes only.
    """

    def __init__(self, graph: Graph, chained: tuple[EdgeKind, ...] = (EdgeKind.HOST,)) -> None:
        """Find the chains.

        Args:
            graph: what is replayed.
            chained: edges that chains are made of: no two of these kinds leave the same node.
        """
        edges = graph.edges
        self.graph = graph
        count = np.bincount(edges.target, minlength=len(graph.nodes.time))
        single = (count == 1)[edges.target] & edges.of(*chained) & (edges.source > 0)
        self.chains = Chains(len(count), edges.source[single], edges.target[single])
        self._single, self.edge = np.flatnonzero(single), np.flatnonzero(~single)
        self._source = edges.source[self.edge]
        self.pairs = self.chains.first[self._source].tolist(), edges.target[self.edge].tolist()

    def __call__(self, lengths: Lengths) -> Replay:
        """Replay with some lengths."""
        graph, edges = self.graph, self.graph.edges
        passed = np.where(edges.from_end, lengths.duration[edges.source], 0)
        passed = passed + lengths.lag + lengths.pause[edges.target]
        offset = self.chains.offsets(passed[self._single])
        length = passed[self.edge] + offset[self._source]
        time = [0] * len(graph.nodes.time)
        for source, target, after in zip(*self.pairs, length.tolist(), strict=True):
            arrival = time[source] + after
            if arrival > time[target]:
                time[target] = arrival
        return Replay(graph, lengths, np.array(time, np.int64)[self.chains.first] + offset)


class Chains:
    """Nodes whose time is that of the first of their chain and a length."""

    def __init__(self, size: int, before: Int, node: Int) -> None:
        """Find the chains.

        Args:
            size: number of nodes.
            before: node before each node that is not the first of its chain, shape (c,).
            node: these nodes.
        """
        self.first = np.arange(size)
        self.first[node] = before
        active = node
        while len(active):
            further = self.first[self.first[active]]
            moved = further != self.first[active]
            self.first[active] = further
            active = active[moved]
        self._order = np.lexsort((node, self.first[node]))
        self._node = node[self._order]
        opens = np.diff(self.first[self._node], prepend=-1) != 0
        self._opens, self._chain = np.flatnonzero(opens), np.cumsum(opens) - 1

    def offsets(self, passed: Nanoseconds) -> Nanoseconds:
        """Time of each node after the first of its chain, shape (n,).

        Args:
            passed: time from the node before to each of the chains' nodes, shape (c,).
        """
        total = np.cumsum(passed[self._order])
        before = (total - passed[self._order])[self._opens]
        offset = np.zeros(len(self.first), np.int64)
        offset[self._node] = total - before[self._chain]
        return offset

    def least_after(self, value: Nanoseconds) -> Nanoseconds:
        """Least value of each node and those after it in its chain, shape (n,)."""
        least, step = value.copy(), 1
        mine = value[self._node]
        inner = np.ones(len(mine), bool)
        while inner.any():
            inner = np.zeros(len(mine), bool)
            inner[:-step] = self._chain[step:] == self._chain[:-step]
            later = np.flatnonzero(inner)
            mine[later] = np.minimum(mine[later], mine[later + step])
            step *= 2
        least[self._node] = mine
        first = self.first[self._node[self._opens]]
        least[first] = np.minimum(least[first], mine[self._opens])
        return least


def binding_edges(replay: Replay) -> Int:
    """Edge that decided the time of each node, -1 for none; shape (n,)."""
    graph = replay.graph
    binds = np.flatnonzero(replay.arrival == replay.time[graph.edges.target])
    edge = np.full(len(graph.nodes.time), -1, np.int64)
    edge[graph.edges.target[binds]] = binds
    return edge
