"""Clocks of the ranks against each other, by the ends of collectives.

All ranks leave a collective at about the same moment. So the median over the collectives that two
ranks share of the difference of their ends is the offset of their clocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.types import Float, Int, Nanoseconds
from tb_hookview.ranks.summary import RankSummary


class Clocks(NamedTuple):
    """Offsets of the ranks' clocks from that of the first; shape (r,), NaN for unknown."""

    offset: Float
    """Nanoseconds to take from a rank's times."""
    spread: Float
    """Half of the range that holds the middle 90 % of the differences, nanoseconds."""


def find_clocks(ranks: Sequence[RankSummary], member: Int) -> Clocks:
    """Estimate the clocks' offsets.

    Args:
        ranks: summaries, shape (r,).
        member: matched collectives, as `Matched.member`.
    """
    ends = ends_of(ranks, member)
    offset, spread = np.full(len(ranks), np.nan), np.full(len(ranks), np.nan)
    if len(ranks):
        offset[0] = spread[0] = 0.0
    reached = [0] if len(ranks) else []
    while reached:
        base = reached.pop()
        for other in np.flatnonzero(np.isnan(offset)).tolist():
            common = (member[:, base] >= 0) & (member[:, other] >= 0)
            if common.any():
                apart = (ends[common, other] - ends[common, base]).astype(np.float64)
                low, middle, high = np.quantile(apart, [0.05, 0.5, 0.95])
                offset[other] = offset[base] + middle
                spread[other] = max(spread[base], (high - low) / 2)
                reached.append(other)
    return Clocks(offset, spread)


def moments(ranks: Sequence[RankSummary], member: Int) -> Float:
    """End of each matched collective on the first rank's clock, shape (m,)."""
    if not len(member):
        return np.zeros(0)
    offset = np.nan_to_num(find_clocks(ranks, member).offset)
    ends = np.where(member >= 0, ends_of(ranks, member) - offset, -np.inf)
    return np.asarray(ends.max(axis=1))


def ends_of(ranks: Sequence[RankSummary], member: Int) -> Nanoseconds:
    """End of each matched collective on each rank, by its own clock; 0 for none; shape (m, r)."""
    return _of(member, [rank.collectives.end for rank in ranks])


def starts_of(ranks: Sequence[RankSummary], member: Int) -> Nanoseconds:
    """Start of each matched collective on each rank, in the same way."""
    return _of(member, [rank.collectives.start for rank in ranks])


def sizes_of(ranks: Sequence[RankSummary], member: Int) -> Int:
    """Bytes of each matched collective on each rank; -1 for unknown and none; shape (m, r)."""
    return _of(member, [rank.collectives.bytes for rank in ranks], -1)


def _of(member: Int, columns: Sequence[Int], none: int = 0) -> Int:
    found = np.full(member.shape, none, np.int64)
    for rank, column in enumerate(columns):
        mine = member[:, rank] >= 0
        found[mine, rank] = column[member[mine, rank]]
    return found
