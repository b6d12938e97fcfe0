"""Nodes in chains: each but the first follows from the one before."""

from __future__ import annotations

import numpy as np

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
