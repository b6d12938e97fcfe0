"""Who waited for whom: times of matched collectives without a common clock.

    rank 0   [== waits ==|= transfer =]          duration 0
    rank 1               [= transfer =]          the shortest: it came last
    rank 2       [=waits=|= transfer =]

All ranks leave together. So the rank with the shortest duration came last, its duration is the
transfer, and what another's is longer by, that rank waited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.types import Bool, Float, Int, Nanoseconds
from tb_hookview.ranks.clocks import ends_of, starts_of
from tb_hookview.ranks.matching import Matched
from tb_hookview.ranks.summary import RankSummary

WAITED_NS = 100_000
"""Waits below this name no late rank: the ranks' arrival is never quite equal."""


class Waits(NamedTuple):
    """Times of m matched collectives over r ranks, nanoseconds."""

    transfer: Nanoseconds
    """Shortest duration of each, shape (m,)."""
    wait: Nanoseconds
    """Time that each rank waited in each, 0 where it takes no part; shape (m, r)."""
    alone: Nanoseconds
    """The part of it in which the rank did not wait in one that it began earlier: these add up."""
    present: Bool
    """Whether each rank takes part, shape (m, r)."""
    late: Int
    """The rank that came last, -1 where none waited for it; shape (m,)."""
    caused: Float
    """Mean wait of the other ranks, shape (m,)."""
    caused_alone: Float
    """The same of `alone`."""


def find_waits(ranks: Sequence[RankSummary], matched: Matched) -> Waits:
    """Measure transfer and waits of every matched collective."""
    member = matched.member
    present = member >= 0
    starts = starts_of(ranks, member)
    duration = ends_of(ranks, member) - starts
    longest = np.iinfo(np.int64).max
    known = np.where(present, duration, longest)
    if not len(member):
        nothing = np.zeros(0, np.int64)
        return Waits(nothing, duration, duration, present, nothing, np.zeros(0), np.zeros(0))
    transfer = known.min(axis=1)
    wait = np.where(present, duration - transfer[:, None], 0)
    alone, others = _alone(present, starts, wait), np.maximum(present.sum(axis=1) - 1, 1)
    caused = wait.sum(axis=1) / others
    late = np.where(caused >= WAITED_NS, known.argmin(axis=1), -1)
    return Waits(transfer, wait, alone, present, late, caused, alone.sum(axis=1) / others)


def _alone(present: Bool, starts: Nanoseconds, wait: Nanoseconds) -> Nanoseconds:
    """Time of each wait that is in none of those that the rank began before; shape (m, r)."""
    alone = np.zeros_like(wait)
    for rank in range(present.shape[1]):
        mine = np.flatnonzero(present[:, rank])
        mine = mine[np.argsort(starts[mine, rank], kind="stable")]
        start = starts[mine, rank]
        end = start + wait[mine, rank]
        until = np.maximum.accumulate(end)
        until = np.concatenate([start[:1], until[:-1]])
        alone[mine, rank] = np.maximum(end - np.maximum(start, until), 0)
    return alone
