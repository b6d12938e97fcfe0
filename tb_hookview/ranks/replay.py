"""The ranks' steps replayed with some of a rank's own time taken out.

    rank 0   |- own -|[ all_reduce ....held]|- own -|     the end is a gate: rank 0 was held to it
    rank 1   |- own ----------------|[ a.r.]|- own -|

A rank's time is its own except while it is held: does nothing but wait in a collective. Its own
time passes as recorded, less what is taken out. A collective begins on a rank when that rank comes
to it, and ends on all ranks at once: its transfer after the last of them came. If any rank was held
to the end of a collective, no rank of it goes on before that end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tb_hookview.arrays.types import Bool, Float, Int
from tb_hookview.ranks.clocks import ends_of, find_clocks, starts_of
from tb_hookview.ranks.matching import Matched
from tb_hookview.ranks.summary import RankSummary
from tb_hookview.ranks.waits import Waits


class Replay:
    """A run whose own times can be changed: m collectives over r ranks; nanoseconds.

    Args:
        ranks: summaries.
        matched: their collectives.
        waits: the transfers of these.
    """

    def __init__(self, ranks: Sequence[RankSummary], matched: Matched, waits: Waits) -> None:
        self._present, self._transfer = waits.present, waits.transfer
        self._own = [np.diff(rank.edges) - rank.held for rank in ranks]
        offset = np.nan_to_num(find_clocks(ranks, matched.member).offset)
        first, last = (np.array([rank.edges[at] for rank in ranks], float) for at in (0, -1))
        self._begin: Float = first - offset
        self._recorded_end: Float = last - offset
        starts, ends = starts_of(ranks, matched.member), ends_of(ranks, matched.member)
        self._start, self._end = (_edge(ranks, moments) for moments in (starts, ends))
        self._since = _ended_before(starts, np.where(self._present, ends, np.iinfo(np.int64).min))
        self._gate = self._held_to_the_end(ranks)

    @property
    def recorded(self) -> float:
        """Recorded time from the first moment of any rank to the last one."""
        return float(self._recorded_end.max() - self._begin.min())

    def makespan(self, saved: Mapping[int, Float] | None = None) -> float:
        """Time from the first moment of any rank to the last one.

        Args:
            saved: by rank, time to take from its own between consecutive edges, shape (e - 1,).
        """
        passed = [
            np.concatenate([[0.0], np.cumsum(np.maximum(own - (saved or {}).get(rank, 0.0), 0.0))])
            for rank, own in enumerate(self._own)
        ]
        begun, ended = _at(passed, self._start), _at(passed, self._end)
        delay = np.empty((len(self._transfer) + 1, len(self._own)))
        delay[0], each = self._begin, np.arange(len(self._own))
        for row, present in enumerate(self._present):
            delay[row + 1] = delay[row]
            if self._gate[row]:
                come = begun[row] + delay[self._since[row], each]
                leave = come[present].max() + self._transfer[row]
                held = np.maximum(delay[row], leave - ended[row])
                delay[row + 1, present] = held[present]
        last = [own[-1] for own in passed]
        return float((delay[-1] + last).max() - self._begin.min())

    def _held_to_the_end(self, ranks: Sequence[RankSummary]) -> Bool:
        """Whether any rank was held until the end of each collective, shape (m,)."""
        gate = np.zeros(len(self._transfer), bool)
        for place, rank in enumerate(ranks):
            window = np.maximum(self._end[:, place] - 1, 0)
            gate |= self._present[:, place] & (np.append(rank.held, 0) > 0)[window]
        return gate


def _edge(ranks: Sequence[RankSummary], moments: Int) -> Int:
    """Index of each moment among the edges of its rank, shape (m, r)."""
    columns = [np.searchsorted(rank.edges, moments[:, place]) for place, rank in enumerate(ranks)]
    return np.stack(columns, axis=1)


def _at(values: Sequence[Float], index: Int) -> Float:
    """Value of each rank at each of its edges, shape (m, r)."""
    return np.stack([value[index[:, place]] for place, value in enumerate(values)], axis=1)


def _ended_before(starts: Int, ends: Int) -> Int:
    """Number of collectives that each rank had left when it began each one, shape (m, r)."""
    until = np.maximum.accumulate(ends, axis=0)
    columns = [
        np.searchsorted(until[:, place], starts[:, place], side="right")
        for place in range(starts.shape[1])
    ]
    earlier = np.arange(len(starts))[:, None]
    return np.minimum(np.stack(columns, axis=1), earlier)
