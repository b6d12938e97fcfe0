"""Clocks of the ranks against each other, by the ends of collectives.

All ranks leave a collective at about the same moment. So the median over the collectives that two
ranks share of the difference of their ends is the offset of their clocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.split import ranges
from tb_hookview.arrays.types import Bool, Float, Int
from tb_hookview.ranks.members import Members


class Clocks(NamedTuple):
    """Offsets of the ranks' clocks from that of the first; shape (r,), NaN for unknown."""

    offset: Float
    """Nanoseconds to take from a rank's times."""
    spread: Float
    """Half of the range that holds the middle 90% of the differences, nanoseconds."""


def find_clocks(ranks: int, members: Members) -> Clocks:
    """Estimate the offsets of the clocks of some ranks, from one to those it shares some with."""
    offset, spread = np.full(ranks, np.nan), np.full(ranks, np.nan)
    if ranks:
        offset[0] = spread[0] = 0.0
    of_ranks, collective = members.of_ranks(max(ranks, 1)), members.collective
    reached, compared = [0] if ranks else [], np.zeros(len(members), bool)
    while reached and np.isnan(offset).any():
        base = reached.pop()
        own = of_ranks[base][~compared[collective[of_ranks[base]]]]
        # all their ranks are known after this
        compared[collective[own]] = True
        for other, apart in _differences(members, own, collective[own], np.isnan(offset)):
            low, middle, high = np.quantile(apart, [0.05, 0.5, 0.95])
            offset[other] = offset[base] + middle
            spread[other] = max(spread[base], (high - low) / 2)
            reached.append(other)
    return Clocks(offset, spread)


def _differences(
    members: Members, own: Int, collectives: Int, wanted: Bool
) -> list[tuple[int, Float]]:
    """Differences of the ends of other ranks from those of one, by rank.

    Args:
        members: all of them.
        own: those of one rank.
        collectives: what these are of.
        wanted: ranks that are asked for, shape (r,).
    """
    every, of_own = ranges(members.first[collectives], members.first[collectives + 1])
    asked = wanted[members.rank[every]]
    every, of_own = every[asked], of_own[asked]
    order = np.argsort(members.rank[every], kind="stable")
    rank, apart = members.rank[every], (members.end[every] - members.end[own[of_own]])[order]
    first = np.flatnonzero(np.diff(rank[order], prepend=-1))
    parts = np.split(apart.astype(np.float64), first)[1:]
    return list(zip(rank[order][first].tolist(), parts, strict=True))


def moments(members: Members, clocks: Clocks) -> Float:
    """End of each collective on the first rank's clock, shape (m,)."""
    ends = members.end - np.nan_to_num(clocks.offset)[members.rank]
    return np.maximum.reduceat(ends, members.first[:-1]) if len(members) else ends
