"""Which collectives of which ranks are one, as columns: linear in what the ranks recorded.

A matrix of collectives by ranks would grow with both: of a mesh each rank is in few of the groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_hookview.analysis.collectives.calls import POINT_TO_POINT, ROOTED
from tb_hookview.arrays.joins import index_of
from tb_hookview.arrays.types import Bool, Float, Int, Nanoseconds
from tb_hookview.ranks.map.summary import RankSummary


class Members(Struct, frozen=True):
    """Members of m collectives over r ranks: one for each rank that takes part; n of all.

    In order of collective, then rank. Every collective has one at least.
    """

    first: Int
    """The i-th collective has the members from `first[i]` to `first[i + 1]`, shape (m + 1,)."""
    rank: Int
    """Rank of each by its place among the summaries, shape (n,)."""
    index: Int
    """Index of each in the collectives of its rank, shape (n,)."""
    start: Nanoseconds
    end: Nanoseconds
    """Times of each by the clock of its rank, shape (n,)."""
    launch: Nanoseconds
    """When the host launched each, as in `RankSummary`, shape (n,)."""
    rooted: Bool
    """Collectives from one rank or to one, of which each rank leaves when its part is done; shape
    (m,)."""
    ran_on: Nanoseconds
    """How long each ran on after all others had left, by clocks that agree; 0 for most, (n,)."""

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def collective(self) -> Int:
        """The collective of each, shape (n,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    @property
    def duration(self) -> Nanoseconds:
        """Time of each in its collective, less what it ran on alone; shape (n,)."""
        return self.end - self.start - self.ran_on

    @property
    def wait(self) -> Nanoseconds:
        """By how much the duration of each exceeds the shortest of its collective, shape (n,)."""
        duration = self.duration
        return np.asarray(duration - self.least(duration)[self.collective])

    @property
    def middle_wait(self) -> Nanoseconds:
        """Upper median of the waits of each collective's members but the last to come, (m,)."""
        size, wait = np.diff(self.first), self.wait
        ascending = wait[np.lexsort((wait, self.collective))]
        return np.asarray(ascending[self.first[:-1] + np.minimum(1 + (size - 1) // 2, size - 1)])

    def of(self, collective: int) -> slice:
        """Members of a collective."""
        return slice(int(self.first[collective]), int(self.first[collective + 1]))

    def at(self, collective: int, rank: int) -> int:
        """The member of a collective that a rank is, which takes part."""
        ranks = self.rank[self.of(collective)]
        return int(self.first[collective] + np.searchsorted(ranks, rank))

    def of_ranks(self, ranks: int) -> list[Int]:
        """Members of each of some ranks, in order of the collectives."""
        order = np.argsort(self.rank, kind="stable")
        return np.split(order, np.searchsorted(self.rank[order], np.arange(1, ranks)))

    def begun(self, collectives: Int) -> Int:
        """Some collectives, those of the same ranks as their first one begins them."""
        return collectives[np.argsort(self.start[self.first[collectives]], kind="stable")]

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        """Least of the values of each collective's members, shape (m,)."""
        return np.minimum.reduceat(values, self.first[:-1]) if len(self) else values[:0]

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the values of each collective's members, shape (m,)."""
        return np.add.reduceat(values, self.first[:-1]) if len(self) else values[:0]

    def mean_of_others(self, values: NDArray[Any]) -> Float:
        """Mean of the values of each collective's members but one, whose value is 0; shape (m,)."""
        return np.asarray(self.total(values) / np.maximum(np.diff(self.first) - 1, 1))

    def beyond_others(self, values: NDArray[Any]) -> Float:
        """By how much a value of each exceeds the mean of its collective's others, shape (n,)."""
        others = np.maximum(np.diff(self.first) - 1, 1)[self.collective]
        return np.asarray(values - (self.total(values)[self.collective] - values) / others)

    def ordered(self, by: Float) -> Members:
        """The same collectives in an ascending order of theirs, shape (m,)."""
        order = np.argsort(by, kind="stable")
        moved = np.argsort(index_of(order, len(self))[self.collective], kind="stable")
        columns = (self.rank, self.index, self.start, self.end, self.launch)
        rank, index, start, end, launch = (column[moved] for column in columns)
        first, ran_on = _bounds(np.diff(self.first)[order]), self.ran_on[moved]
        return Members(first, rank, index, start, end, launch, self.rooted[order], ran_on)


def members_of(ranks: Sequence[RankSummary], collective: Int, rank: Int, index: Int) -> Members:
    """Make members of some rows.

    Args:
        ranks: summaries.
        collective: number of the collective of each, from 0 and without a gap; shape (n,).
        rank: of each.
        index: of each in the collectives of its rank.
    """
    order = np.lexsort((rank, collective))
    first, rank, index = _bounds(np.bincount(collective)), rank[order], index[order]
    kinds = [ranks[rank[at]].collectives.kind[index[at]] for at in first[:-1].tolist()]
    rooted = np.array([kind in ROOTED for kind in kinds], bool)
    start, end, launch = (np.empty_like(index) for _ in range(3))
    made = Members(first, rank, index, start, end, launch, rooted, np.zeros_like(index))
    for place, mine in enumerate(made.of_ranks(len(ranks)) if ranks else []):
        made.start[mine] = ranks[place].collectives.start[index[mine]]
        made.end[mine] = ranks[place].collectives.end[index[mine]]
        made.launch[mine] = ranks[place].launch[index[mine]]
    return made


def unmatched_steps(ranks: Sequence[RankSummary], members: Members) -> list[Bool]:
    """Steps of each rank that have collectives of several ranks, none of them matched."""
    found = []
    for rank, mine in zip(ranks, members.of_ranks(len(ranks)), strict=True):
        calls, size = rank.collectives, len(rank.steps.name)
        is_message = np.array([kind in POINT_TO_POINT for kind in calls.kind], bool)
        named = (calls.source >= 0) | (calls.target >= 0)
        # those of gloo's messages that name no ranks are compared by step
        of_several = rank.step[(calls.ranks != 1) & (named | ~is_message)]
        matched = rank.step[members.index[mine]]
        all_of, met = (
            np.bincount(step[step >= 0], minlength=size) for step in (of_several, matched)
        )
        found.append((all_of > 0) & (met == 0))
    return found


def _bounds(counts: Int) -> Int:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
