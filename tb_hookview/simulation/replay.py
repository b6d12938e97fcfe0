"""One pass over a graph: the time of every node from durations, lags and pauses."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.graph import EdgeKind, Graph
from tb_hookview.analysis.dependencies.points import Window
from tb_hookview.arrays.joins import index_of
from tb_hookview.arrays.types import Int, Nanoseconds, TimeSet

# Device events whose times follow from two others.
#
# Most have two edges: from the event before on their stream, and from a launch. In a run of
# events whose launches are in one chain of the host, with T(first) the time of the event before
# the run and T(origin) that of the first of the chain,
#
#     time = max(T(first) + of_event, T(origin) + of_launch)


class Chains:
    """Nodes whose time is that of the first of their chain and a length.

    What is of each of these nodes is in their order: by chain, then along it.
    """

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
        self.order = np.lexsort((node, self.first[node]))
        """Place of each in what the chains were made of."""
        self.node = node[self.order]
        """These nodes, in order."""
        opens = np.diff(self.first[self.node], prepend=-1) != 0
        self._opens, self._chain = np.flatnonzero(opens), np.cumsum(opens) - 1

    def lengths(self, passed: Nanoseconds) -> Nanoseconds:
        """Time of each node after the first of its chain, shape (c,), by that from one to it."""
        total = np.cumsum(passed)
        return np.asarray(total - (total - passed)[self._opens][self._chain])

    def highest_until(self, value: Nanoseconds) -> Nanoseconds:
        """Highest value of each node and those before it in its chain, shape (c,)."""
        if not len(value):
            return value
        highest, least = (end.reduceat(value, self._opens) for end in (np.maximum, np.minimum))
        # Shifted so that the least of each chain is the highest of the one before.
        shift = np.append(0, np.cumsum(highest[:-1] - least[1:]))[self._chain]
        return np.asarray(np.maximum.accumulate(value + shift) - shift)

    def least_after(self, value: Nanoseconds) -> Nanoseconds:
        """Least value of each node and those after it in its chain, shape (n,)."""
        least, step = value.copy(), 1
        mine = value[self.node]
        inner = np.ones(len(mine), bool)
        while inner.any():
            inner = np.zeros(len(mine), bool)
            inner[:-step] = self._chain[step:] == self._chain[:-step]
            later = np.flatnonzero(inner)
            mine[later] = np.minimum(mine[later], mine[later + step])
            step *= 2
        least[self.node] = mine
        first = self.first[self.node[self._opens]]
        least[first] = np.minimum(least[first], mine[self._opens])
        return least


class Runs:
    """Runs of a graph's device events."""

    def __init__(self, graph: Graph, count: Int, first: Int) -> None:
        """Find the runs.

        Args:
            graph: what is replayed.
            count: number of edges to each node, shape (n,).
            first: first of the chain of each point of the host, shape (n,).
        """
        edges, size = graph.edges, len(graph.nodes.time)
        stream, launch = _pairs(graph, count)
        origin = np.full(size, -1)
        origin[edges.target[launch]] = first[edges.source[launch]]
        before = origin[edges.source[stream]]
        mine = (before < 0) | (before == origin[edges.target[stream]])
        stream, launch = stream[mine], launch[mine]
        self.chains = Chains(size, edges.source[stream], edges.target[stream])
        self._stream, self._launch = stream[self.chains.order], launch[self.chains.order]
        self._launched = edges.source[self._launch]
        self.node = self.chains.node
        """These events."""
        self.origin = origin
        """First of the chain that each of them was launched in, shape (n,)."""

    def lengths(
        self, passed: Nanoseconds, of_chain: Nanoseconds
    ) -> tuple[Nanoseconds, Nanoseconds]:
        """`of_event` and `of_launch` of each of these events.

        Args:
            passed: time that passes on each edge, shape (e,).
            of_chain: time of each node after the first of its chain of the host, shape (n,).
        """
        # An edge that is taken out is as good as one that leads to before the origin; sums of many
        # stay within 64 bits.
        never = -1 - int(np.maximum(passed, 0).sum())
        of_event = self.chains.lengths(np.maximum(passed[self._stream], never))
        launched = np.maximum(passed[self._launch] + of_chain[self._launched], never)
        return of_event, of_event + self.chains.highest_until(launched - of_event)


def _pairs(graph: Graph, count: Int) -> tuple[Int, Int]:
    """Both edges of each device event that has one of its stream and one from the host."""
    edges, on_device = graph.edges, graph.nodes.event >= 0
    opens = (np.cumsum(count) - count)[(count == 2) & on_device]
    left, right = (on_device[edges.source[edge]] for edge in (opens, opens + 1))
    stream = opens + right
    both = (left != right) & (edges.kind[stream] == EdgeKind.STREAM)
    stream, opens = stream[both], opens[both]
    before, row = edges.source[stream], np.arange(len(stream))
    following = np.zeros(len(on_device), np.int64)
    following[before] = row
    only = following[before] == row
    return stream[only], (2 * opens + 1 - stream)[only]


NEVER = -(1 << 60)
"""Lag of an edge that is taken out."""


class Quiet(NamedTuple):
    """Time of a host thread of which the cost of recording takes nothing off."""

    thread: int
    time: TimeSet
    """On the trace's clock."""


class Lengths(Struct, frozen=True):
    """What passes at nodes and edges, nanoseconds: as recorded, or changed."""

    duration: Nanoseconds
    """Of each node, shape (n,)."""
    lag: Nanoseconds
    """Of each edge, shape (e,); `NEVER` takes it out."""
    pause: Nanoseconds
    """Before each node, shape (n,); 0 where the graph has none."""
    quiet: tuple[Quiet, ...] = ()
    """By thread, where a cost was taken off the host's lags."""


def recorded(graph: Graph) -> Lengths:
    """Lengths as the trace has them."""
    return Lengths(graph.nodes.duration, graph.edges.lag, graph.pause)


class Replay(Struct, frozen=True, dict=True):
    """A graph with the times that some lengths lead to."""

    graph: Graph
    lengths: Lengths
    time: Nanoseconds
    """Of each node since the origin, shape (n,)."""

    @cached_property
    def arrival(self) -> Nanoseconds:
        """Time of its target by each edge alone, shape (e,)."""
        edges = self.graph.edges
        passed = np.where(edges.from_end, self.lengths.duration[edges.source], 0)
        passed += self.lengths.lag + self.lengths.pause[edges.target]
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
        self.between = np.flatnonzero(~single)
        single = np.flatnonzero(single)
        self.chains = Chains(size, edges.source[single], edges.target[single])
        self._single = single[self.chains.order]
        self._paused = np.flatnonzero(graph.pause[edges.target])
        self._from_end = np.flatnonzero(edges.from_end)
        self._ends = edges.source[self._from_end]
        self._runs = runs = Runs(graph, count, self.chains.first)
        first = runs.chains.first[self.chains.first]
        few = first == np.arange(size)
        self._few, number = int(few.sum()), np.cumsum(few) - 1
        self._first, self._origin = number[first], number[runs.origin]
        self._launched = self._origin[runs.node]
        place = index_of(runs.node, size)
        looped = self.between[place[edges.target[self.between]] < 0]
        launched = place[edges.source[looped]]
        again = looped[launched >= 0]
        self._edge, self._again = np.concatenate([looped, again]), launched[launched >= 0]
        self._source = edges.source[looped]
        source = [self._first[self._source], self._origin[edges.source[again]]]
        self._pairs = _Pairs(np.concatenate(source), number[edges.target[self._edge]])

    def __call__(self, lengths: Lengths) -> Replay:
        """Replay with some lengths."""
        graph, chains, runs = self.graph, self.chains, self._runs
        passed = lengths.lag.copy()
        passed[self._paused] += lengths.pause[graph.edges.target[self._paused]]
        passed[self._from_end] += lengths.duration[self._ends]
        after = np.zeros(len(lengths.duration), np.int64)
        after[chains.node] = chains.lengths(passed[self._single])
        of_event, of_launch = runs.lengths(passed, after)
        after[runs.node] = of_event
        left = np.append(after[self._source], of_launch[self._again])
        few = self._pairs.times(left + passed[self._edge], self._few)
        time = few[self._first] + after
        time[runs.node] = np.maximum(time[runs.node], few[self._launched] + of_launch)
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


# The length of a step in a replay.
#
# Two things take turns in a loop of steps, and the slower sets the pace:
#
#     device: (end of the window's work - end of the work launched before it) / steps
#     host:   (end of the last step on the host - start of the first) / steps
#
# With these a step can only become shorter where durations and lags do.


class Pace(NamedTuple):
    """What sets the pace of a replay."""

    step: float
    """Nanoseconds per step."""
    since: int
    """Moment from which on the steps are measured, nanoseconds since the origin."""
    last: int
    """Node at the end of what is measured."""


class Measure(Struct, frozen=True, dict=True):
    """Measures replays of one window."""

    graph: Graph
    window: Window

    @cached_property
    def events(self) -> Int:
        """Nodes of the device events launched in the steps."""
        return self.graph.nodes.of_event[self.window.step >= 0]

    def completions(self, replay: Replay) -> Nanoseconds:
        """Moment at which host and device are done with each step, shape (s,)."""
        done = replay.time[self.graph.step_end].copy()
        step = self.window.step
        np.maximum.at(done, step[step >= 0], replay.end(self.events))
        return done

    def base(self, replay: Replay) -> int:
        """Moment at which the device begins with the window's own events; 0 for the origin."""
        return int(replay.end(self.graph.before).max(initial=0))

    def pace(self, replay: Replay) -> Pace:
        """Length of a step, and what decides it."""
        return max(self.by_device(replay), self.by_host(replay), key=lambda pace: pace.step)

    def by_host(self, replay: Replay) -> Pace:
        """Pace of the host."""
        host = int(self.graph.step_end[-1])
        return Pace(int(replay.time[host]) / len(self.window.steps), 0, host)

    def by_device(self, replay: Replay) -> Pace:
        """Pace of the device."""
        host, mine = int(self.graph.step_end[-1]), self.events
        last = int(mine[replay.end(mine).argmax()]) if len(mine) else host
        if replay.time[host] > replay.end(last):
            last = host
        base = self.base(replay)
        return Pace((int(replay.end(last)) - base) / len(self.window.steps), base, last)
