"""Device events whose times follow from two others.

Most have two edges: from the event before on their stream, and from a launch. In a run of events
whose launches are in one chain of the host, with T(first) the time of the event before the run and
T(origin) that of the first of the chain,

    time = max(T(first) + of_event, T(origin) + of_launch)
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.dependencies.graph import EdgeKind, Graph
from tb_hookview.arrays.types import Int, Nanoseconds


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
        mine = passed[self._order]
        total = np.cumsum(mine)
        before = total[self._opens] - mine[self._opens]
        offset = np.zeros(len(self.first), np.int64)
        offset[self._node] = total - before[self._chain]
        return offset

    def highest_until(self, value: Nanoseconds) -> Nanoseconds:
        """Highest value of each of the chains' nodes and those before it in its chain, shape (c,).

        Args:
            value: of the chains' nodes, as `passed` of `offsets`.
        """
        if not len(value):
            return value
        mine = value[self._order]
        highest, least = (end.reduceat(mine, self._opens) for end in (np.maximum, np.minimum))
        # Shifted so that the least of each chain is the highest of the one before.
        shift = np.append(0, np.cumsum(highest[:-1] - least[1:]))[self._chain]
        until = np.empty_like(mine)
        until[self._order] = np.maximum.accumulate(mine + shift) - shift
        return until

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
        self._stream, self._launch = stream[mine], launch[mine]
        self._launched = edges.source[self._launch]
        self.node = edges.target[self._stream]
        """These events."""
        self.chains = Chains(size, edges.source[self._stream], self.node)
        self.inner = np.zeros(size, bool)
        """Whether a node is one of them, shape (n,)."""
        self.inner[self.node] = True
        self.origin = origin
        """First of the chain that each of them was launched in, shape (n,)."""

    def offsets(
        self, passed: Nanoseconds, of_chain: Nanoseconds
    ) -> tuple[Nanoseconds, Nanoseconds]:
        """`of_event` and `of_launch` of each node, shape (n,).

        Args:
            passed: time that passes on each edge, shape (e,).
            of_chain: time of each node after the first of its chain of the host, shape (n,).
        """
        # An edge that is taken out is as good as one that leads to before the origin; sums of many
        # stay within 64 bits.
        never = -1 - int(np.maximum(passed, 0).sum())
        of_event = self.chains.offsets(np.maximum(passed[self._stream], never))
        launched = np.maximum(passed[self._launch] + of_chain[self._launched], never)
        of_launch, mine = np.zeros(len(of_event), np.int64), of_event[self.node]
        of_launch[self.node] = mine + self.chains.highest_until(launched - mine)
        return of_event, of_launch


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
