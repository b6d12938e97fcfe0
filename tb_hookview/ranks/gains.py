"""What a run gains if a rank no longer spends more time on something than the others do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tb_hookview.analysis.activity import PEERS
from tb_hookview.arrays.types import Float
from tb_hookview.ranks.late import Episode, Reason, reason_of
from tb_hookview.ranks.map.summary import RankSummary, Spent, TimesOf
from tb_hookview.ranks.matching import Matched
from tb_hookview.ranks.replay import Replay
from tb_hookview.ranks.waits import Waits


class Gains:
    """Gains of a run, by replays of it; the first one builds what all need."""

    def __init__(
        self, ranks: Sequence[RankSummary], times: TimesOf, matched: Matched, waits: Waits
    ) -> None:
        self._ranks, self._times, self._matched, self._waits = ranks, times, matched, waits

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self._ranks, self._matched, self._waits)

    @cached_property
    def _unchanged(self) -> float:
        return self._replay.makespan()

    @property
    def error(self) -> float | None:
        """By what share of it the replay misses the recorded length; None if none was asked for."""
        if "_replay" not in self.__dict__:
            return None
        recorded = self._replay.recorded
        return abs(self._unchanged - recorded) / recorded if recorded else None

    def of(self, rank: int, episodes: Sequence[Episode], reason: Reason) -> float:
        """Nanoseconds by which the run ends earlier without the excess of a reason.

        Of steps that are compared as a whole there is nothing to replay: by how much the rank was
        later than the next, as far as the reason explains it.
        """
        whole = [e for e in episodes if e.collective < 0]
        gain = float(sum(min(e.late_by, e.reasons.get(reason, 0)) for e in whole))
        if len(whole) == len(episodes):
            return gain
        saved = self._saved(rank, [e for e in episodes if e.collective >= 0], reason)
        return gain + self._unchanged - self._replay.makespan({rank: saved})

    def _saved(self, rank: int, episodes: Sequence[Episode], reason: Reason) -> Float:
        """Time of the reason to take from each window, so that each episode loses its excess."""
        own, times = self._ranks[rank], self._times(rank)
        members = self._matched.members
        saved = np.zeros(len(own.edges) - 1)
        for episode in episodes:
            spent = times.device if episode.on_device else times.host
            until = members.start[members.at(episode.collective, rank)]
            span = np.searchsorted(own.edges, [episode.since, until]).tolist()
            if excess := episode.reasons.get(reason, 0):
                time = _time_of(own, spent, reason, *span)
                saved[slice(*span)] += time * (excess / time.sum())
        return saved


def _time_of(rank: RankSummary, spent: Spent, reason: Reason, first: int, last: int) -> Float:
    """Time of a reason in each window from one edge to another, shape (last - first,)."""
    rows = spent.rows(first, last)
    codes = spent.code[rows]
    mine = np.array([reason_of(rank, code) == reason for code in codes.tolist()], bool)
    mine &= codes != PEERS
    total = np.zeros(last - first)
    np.add.at(total, spent.window[rows][mine] - first, spent.time[rows][mine])
    return total
