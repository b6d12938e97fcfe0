"""The ranks' steps replayed with some of what a rank does taken out.

    rank 0   |- own -|[ all_reduce ....held]|- own -|     the end is a gate: rank 0 was held to it
    rank 1   |- own ----------------|[ a.r.]|- own -|

A rank's time is its own except while it is held: does nothing but wait in a collective. The
rest passes as recorded, less what is taken out. A collective begins on a rank when that rank comes
to it, and ends on all ranks at once: its transfer after the last of them came. If any rank was held
to the end of a collective, no rank of it goes on before that end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_hookview.arrays.types import Bool, Float, Int, Nanoseconds
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.ranks.matching import Matched
from tb_hookview.ranks.members import Members
from tb_hookview.ranks.waits import Waits


class Played(NamedTuple):
    """A run that was played."""

    members: Members
    """Its collectives, on a clock that all ranks share."""
    length: float
    """Time from the first moment of any rank to the last one, nanoseconds."""


class Replay:
    """A run whose own times can be changed: m collectives with n members over r ranks; nanoseconds.

    Args:
        ranks: summaries.
        matched: their collectives.
        waits: the transfers of these.
    """

    def __init__(self, ranks: Sequence[RankSummary], matched: Matched, waits: Waits) -> None:
        members = self._members = matched.members
        self._transfer = waits.transfer
        self._own = [np.diff(rank.edges) - rank.held for rank in ranks]
        offset = np.nan_to_num(matched.clocks.offset)
        first, last = (np.array([rank.edges[at] for rank in ranks], float) for at in (0, -1))
        begin = first - offset
        self._begin: Float = begin - begin.min()
        self._recorded_end: Float = last - offset - begin.min()
        self._of_ranks = members.of_ranks(len(ranks))
        self._start, self._end = (self._edge(ranks, at) for at in (members.start, members.end))
        self._before, self._since = _ended_before(members, self._of_ranks)
        self._gate = self._held_to_the_end(ranks)

    @property
    def recorded(self) -> float:
        """Recorded time from the first moment of any rank to the last one."""
        return float(self._recorded_end.max() - self._begin.min())

    def play(self, saved: Mapping[int, Float] | None = None) -> Played:
        """Play the run.

        Args:
            saved: by rank, time to take from its own between consecutive edges, shape (e - 1,).
        """
        passed = [
            np.concatenate([[0.0], np.cumsum(np.maximum(own - (saved or {}).get(rank, 0.0), 0.0))])
            for rank, own in enumerate(self._own)
        ]
        begun, ended = self._each(passed, self._start), self._each(passed, self._end)
        count, members = len(self._start), self._members
        # of each member after its collective; the ranks' own at their begin follow
        delay = np.concatenate([np.empty(count), self._begin])
        for collective in range(len(members)):
            mine = members.of(collective)
            delay[mine] = delay[self._before[mine]]
            if self._gate[collective]:
                come = begun[mine] + delay[self._since[mine]]
                leave = come.max() + self._transfer[collective]
                delay[mine] = np.maximum(delay[mine], leave - ended[mine])
        final = [own[-1] if len(own) else count + at for at, own in enumerate(self._of_ranks)]
        last = [own[-1] for own in passed]
        start, end = begun + delay[self._since], ended + delay[:count]
        moved = replace(members, start=_whole(start), end=_whole(np.maximum(start, end)))
        return Played(moved, float((delay[final] + last).max() - self._begin.min()))

    def _each(self, columns: Sequence[NDArray[Any]], index: Int) -> NDArray[Any]:
        """Value of each member at an index of its rank's column, shape (n,)."""
        found = np.empty(len(index), columns[0].dtype)
        for column, mine in zip(columns, self._of_ranks, strict=True):
            found[mine] = column[index[mine]]
        return found

    def _edge(self, ranks: Sequence[RankSummary], moment: Int) -> Int:
        """Index of each member's moment among the edges of its rank, shape (n,)."""
        found = np.empty_like(moment)
        for rank, mine in zip(ranks, self._of_ranks, strict=True):
            found[mine] = np.searchsorted(rank.edges, moment[mine])
        return found

    def _held_to_the_end(self, ranks: Sequence[RankSummary]) -> Bool:
        """Whether any rank was held until the end of each collective, shape (m,)."""
        held = self._each([np.append(rank.held, 0) for rank in ranks], np.maximum(self._end - 1, 0))
        return np.asarray(self._members.total((held > 0).astype(np.int64)) > 0)


def _whole(moment: Float) -> Nanoseconds:
    return np.asarray(moment.round().astype(np.int64))


def _ended_before(members: Members, of_ranks: Sequence[Int]) -> tuple[Int, Int]:
    """The rank's member before each, and the last one that it had left when it began; shape (n,).

    Where there is none: the number of members, and the rank's place, for ranks follow members.
    """
    count = len(members.rank)
    before, since = np.empty(count, np.int64), np.empty(count, np.int64)
    for rank, own in enumerate(of_ranks):
        places = np.concatenate([[count + rank], own])
        until = np.maximum.accumulate(members.end[own])
        left = np.searchsorted(until, members.start[own], side="right")
        before[own] = places[:-1]
        since[own] = places[np.minimum(left, np.arange(len(own)))]
    return before, since
