"""One pass over a graph: the time of every node from durations, lags and pauses."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.graph import EdgeKind, Graph
from tb_hookview.arrays.types import Int, Nanoseconds
from tb_hookview.simulation.runs import Chains, Runs

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

    def end(self, node: Int | int) -> Nanoseconds:
        """End of some nodes, or of one."""
        return np.asarray(self.time[node] + self.lengths.duration[node])


class Replayer:
    """Replays one graph any number of times.

    Times of most nodes follow from those of few: `Chains` of points of the host, and `Runs` of
    device events. The loop goes over edges between these few, numbered from 0.
    """

    def __init__(self, graph: Graph) -> None:
        """Find chains and runs."""
        edges, size = graph.edges, len(graph.nodes.time)
        self.graph = graph
        count = np.bincount(edges.target, minlength=size)
        single = (count == 1)[edges.target] & edges.of(EdgeKind.HOST) & (edges.source > 0)
        self.chains = Chains(size, edges.source[single], edges.target[single])
        self._single, self.between = np.flatnonzero(single), np.flatnonzero(~single)
        self._from_end = np.flatnonzero(edges.from_end)
        self._ends = edges.source[self._from_end]
        self._runs = runs = Runs(graph, count, self.chains.first)
        first = runs.chains.first[self.chains.first]
        few = first == np.arange(size)
        self._few, number = int(few.sum()), np.cumsum(few) - 1
        self._first, self._origin = number[first], number[runs.origin]
        looped = self.between[~runs.inner[edges.target[self.between]]]
        again = looped[runs.inner[edges.source[looped]]]
        self._edge, self._again = np.concatenate([looped, again]), len(again)
        source = [self._first[edges.source[looped]], self._origin[edges.source[again]]]
        self._pairs = _Pairs(np.concatenate(source), number[edges.target[self._edge]])

    def __call__(self, lengths: Lengths) -> Replay:
        """Replay with some lengths."""
        graph, edges, runs = self.graph, self.graph.edges, self._runs
        passed = lengths.pause[edges.target] + lengths.lag
        passed[self._from_end] += lengths.duration[self._ends]
        of_chain = self.chains.offsets(passed[self._single])
        of_event, of_launch = runs.offsets(passed, of_chain)
        offset = of_chain + of_event
        source = edges.source[self._edge]
        after, again = offset[source], len(source) - self._again
        after[again:] = of_launch[source[again:]]
        few = self._pairs.times(after + passed[self._edge], self._few)
        time, node = few[self._first] + offset, runs.node
        by_launch = few[self._origin[node]] + of_launch[node]
        time[node] = np.maximum(time[node], by_launch)
        return Replay(graph, lengths, time)


class _Pairs:
    """The edges that the loop goes over, each pair of nodes once and in order of targets."""

    def __init__(self, source: Int, target: Int) -> None:
        self._order = np.lexsort((source, target))
        source, target = source[self._order], target[self._order]
        opens = np.diff(source, prepend=-1) != 0
        opens |= np.diff(target, prepend=-1) != 0
        self._opens = np.flatnonzero(opens)
        self._source, self._target = source[self._opens], target[self._opens]
        self._listed = self._source.tolist(), self._target.tolist()

    def times(self, length: Nanoseconds, size: int) -> Nanoseconds:
        """Time of each node, shape (size,), by what passes on each edge."""
        if not len(length):
            return np.zeros(size, np.int64)
        after = np.maximum.reduceat(length[self._order], self._opens)
        there = after > NEVER // 2
        pairs = self._listed
        if not there.all():
            pairs = self._source[there].tolist(), self._target[there].tolist()
            after = after[there]
        time = [0] * size
        for source, target, by in zip(*pairs, after.tolist(), strict=True):
            arrival = time[source] + by
            if arrival > time[target]:
                time[target] = arrival
        return np.array(time, np.int64)


def binding_edges(replay: Replay) -> Int:
    """Edge that decided the time of each node, -1 for none; shape (n,)."""
    graph = replay.graph
    binds = np.flatnonzero(replay.arrival == replay.time[graph.edges.target])
    edge = np.full(len(graph.nodes.time), -1, np.int64)
    edge[graph.edges.target[binds]] = binds
    return edge
