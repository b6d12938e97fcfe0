"""A run in which some ranks no longer spend more time on something than the others do.

Each fix is one more replay. A rank whose lateness was hidden by a worse one comes to light in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import median
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.activity import PEERS
from tb_hookview.arrays.types import Float, Nanoseconds
from tb_hookview.ranks.carried import Own, find_new_waits
from tb_hookview.ranks.late import (
    Episode,
    Phase,
    Reason,
    compared,
    each_once,
    find_episodes,
    phases_of,
    reason_of,
    without_ahead,
)
from tb_hookview.ranks.lateness import Waits, find_waits, for_last, is_consistent
from tb_hookview.ranks.map.summary import RankSummary, RankTimes, TimesOf
from tb_hookview.ranks.matching import Matched
from tb_hookview.ranks.members import Members
from tb_hookview.ranks.replay import Replay, Saved, whole
from tb_hookview.ranks.stages import limited, message_waits, messages, step_episodes, unpaired

_SAMPLED = 5
"""Other ranks, or somewhat more, that are sampled for how much their work varies."""
_MOST_OF = 1 / 2
"""Share of its lateness that the reasons of a rank explain; else it is slow throughout."""
_TRIFLE = 1 / 100
"""Share of its lateness up to which what takes longer is not named."""


class World(NamedTuple):
    """A run as it was recorded, or as it is with some ranks fixed; nanoseconds."""

    waits: list[Nanoseconds]
    """Time that each rank waits in each of its steps, for each delay of another one once."""
    saved: Mapping[int, Saved]
    """By rank, time that is taken from its own."""
    gained: float
    """By how much sooner the run ends."""


class Fix(NamedTuple):
    """What a rank spends more time on than the others, and the run without that."""

    excess: dict[Reason, float]
    """Over all steps, the largest first; nanoseconds."""
    phases: Mapping[str, Phase]
    """The pass in which most of that is, by path of the module."""
    on_device: bool
    """Whether most of the largest is time of its device."""
    world: World


class Fixes:
    """Worlds of a run.

    Args:
        ranks: summaries.
        times: what they spent their time on.
        matched: their collectives.
        waits: the transfers and waits of these.
    """

    def __init__(
        self, ranks: Sequence[RankSummary], times: TimesOf, matched: Matched, waits: Waits
    ) -> None:
        self._ranks, self._times, self._matched, self._waits = ranks, times, matched, waits
        self.is_staged = [bool(messages(rank)) for rank in ranks]
        """Whether each is a stage of a pipeline, so that its work is not that of the others."""
        self._unpaired = [place for place, rank in enumerate(ranks) if unpaired(rank)]

    @cached_property
    def recorded(self) -> World:
        """The run as it was."""
        members = self._matched.members
        waits = step_waits(self._ranks, members, for_last(members, self.new_waits))
        return World(waits, {}, 0.0)

    @cached_property
    def new_waits(self) -> Nanoseconds:
        """Part of each member's wait that is for no delay of an earlier collective, shape (n,)."""
        return self._new(self._matched.members, self._replay.own(), self._waits.alone)

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self._ranks, self._matched, self._waits)

    @cached_property
    def _unchanged(self) -> float:
        return self._replay.play().length

    @property
    def error(self) -> float | None:
        """By what share of it the replay misses the recorded length; None if none was asked for."""
        if "_unchanged" not in self.__dict__:
            return None
        recorded = self._replay.recorded
        return abs(self._unchanged - recorded) / recorded if recorded else None

    def fix(self, world: World, rank: int, late: Mapping[str, float], least: float = 0.0) -> Fix:
        """Fix one more rank.

        Args:
            world: the run with others fixed.
            rank: which one.
            late: time by which it is late there, by the name of the step.
            least: time per step by which a stage of a pipeline works longer at least.
        """
        episodes = self._episodes(rank, late)
        saved = self._excess(episodes, late)
        if self.is_staged[rank]:
            episodes, saved = limited(episodes, saved, least * len(late))
            named, excess = episodes, saved
        else:  # without its delays it does all as the others do, next to collectives too
            named = without_ahead(episodes)
            excess = self._excess(named, late)
        trifle = _TRIFLE * sum(late.values())
        excess = {reason: time for reason, time in excess.items() if time > trifle}
        if not excess:
            return Fix(excess, {}, False, world)
        phases = phases_of(self._ranks, self._times, named)
        fixed = self._shifted if self._unpaired else self._replayed
        on_device = _is_on_device(named, next(iter(excess)))
        return Fix(excess, phases, on_device, fixed(world, rank, episodes, saved))

    def surely_longer(self, rank: int, late: Mapping[str, float]) -> float:
        """Time by which a rank works longer in some steps, by reasons that are no chance.

        They are longer than what these vary by from step to step on other ranks, too.

        Args:
            rank: no stage of a pipeline.
            late: as for `fix`.
        """
        names, none = list(late), np.zeros(len(late))
        peers = compared(range(len(self._ranks)), rank)
        own = self._by_step(self._episodes(rank, late), names)
        others = [
            self._by_step(self._episodes(other, late), names)
            for other in peers[:: max(1, len(peers) // _SAMPLED)]
        ]
        return sum(
            float(time.sum())
            for why, time in own.items()
            if is_consistent(time, median(other.get(why, none).std(ddof=1) for other in others))
        )

    def _excess(
        self, episodes: Sequence[Episode], late: Mapping[str, float]
    ) -> dict[Reason, float]:
        """Chosen reasons of some steps."""
        return _chosen(self._by_step(episodes, list(late)), sum(late.values()))

    def _episodes(self, rank: int, late: Mapping[str, float]) -> list[Episode]:
        ranks, times = self._ranks, self._times
        if self.is_staged[rank]:
            return step_episodes(ranks, times, rank, list(late))
        members, names = self._matched.members, ranks[rank].steps.name
        whose = np.full(len(members), -1)
        mine = np.flatnonzero(members.rank == rank)
        whose[members.collective[mine]] = mine
        found = each_once(find_episodes(ranks, times, members, whose))
        return [each for each in found if each.step >= 0 and names[each.step] in late]

    def _by_step(self, episodes: Sequence[Episode], names: Sequence[str]) -> dict[Reason, Float]:
        """Excess of each reason in some steps, shape (s,)."""
        place = {name: at for at, name in enumerate(names)}
        total: dict[Reason, Float] = {}
        for episode in episodes:
            at = place[self._ranks[episode.rank].steps.name[episode.step]]
            for reason, time in episode.reasons.items():
                total.setdefault(reason, np.zeros(len(names)))[at] += time
        return total

    def _replayed(
        self, world: World, rank: int, episodes: Sequence[Episode], excess: Mapping[Reason, float]
    ) -> World:
        saved = {**world.saved, rank: self._saved(rank, episodes, excess)}
        played = self._replay.play(saved)
        new = self._new(played.members, played.own, find_waits(played.members).alone)
        waits = step_waits(self._ranks, played.members, for_last(played.members, new))
        gained = max(world.gained, self._unchanged - played.length)
        return World(waits, saved, gained)

    def _new(self, members: Members, own: Own, alone: Nanoseconds) -> Nanoseconds:
        """Waits without what is carried, and without the time that an earlier one waits as well."""
        new = find_new_waits(members, own, self._replay.earlier)
        return np.minimum(alone, whole(new))

    def _saved(
        self, rank: int, episodes: Sequence[Episode], excess: Mapping[Reason, float]
    ) -> Saved:
        """Time to take from each window, the last first: a reason takes what others need."""
        own, times = self._ranks[rank], self._times(rank)
        length, ahead = np.diff(own.edges).astype(np.float64), own.ahead
        taken = Saved(np.zeros(len(length)), np.zeros(len(length)))
        for episode in episodes:
            by_host = ahead.known and not episode.on_device
            free = length - (ahead.waited if by_host else own.held + ahead.idle)
            saved = taken.host if by_host else taken.device
            _, *span = np.searchsorted(own.edges, episode.spans[rank]).tolist()
            for reason in excess:
                if more := episode.reasons.get(reason, 0):
                    time = _time_of(own, times, reason, episode.on_device, *span)
                    time = np.minimum(time, free[slice(*span)])
                    time = time if time.sum() >= abs(more) else free[slice(*span)]
                    later = np.cumsum(time[::-1])[::-1] - time
                    saved[slice(*span)] += np.sign(more) * np.clip(abs(more) - later, 0, time)
        return taken

    def _shifted(
        self, world: World, rank: int, episodes: Sequence[Episode], excess: Mapping[Reason, float]
    ) -> World:
        """The same where messages are not paired, so that nothing can be replayed.

        All ranks of a step end it together: what one works less, it waits, or all gain.
        """
        waits, gained = [of.copy() for of in world.waits], world.gained
        for episode in episodes:
            less = sum(max(0, episode.reasons.get(reason, 0)) for reason in excess)
            name = self._ranks[rank].steps.name[episode.step]
            others = [
                (other, self._ranks[other].steps.name.index(name))
                for other in self._unpaired
                if other != rank and name in self._ranks[other].steps.name
            ]
            room = min(int(waits[o][at]) for o, at in others) - int(waits[rank][episode.step])
            gain = min(less, max(0, room))
            waits[rank][episode.step] += less - gain
            for other, at in others:
                waits[other][at] -= gain
            gained += gain
        return world._replace(waits=waits, gained=gained)


def step_waits(
    ranks: Sequence[RankSummary], members: Members, alone: Nanoseconds
) -> list[Nanoseconds]:
    """Time that each rank waits, by the step of the collectives.

    Args:
        ranks: summaries.
        members: the collectives.
        alone: time that each member waited, counted once; shape (n,).
    """
    found, of_ranks = [], members.of_ranks(len(ranks))
    for rank, held, mine in zip(ranks, message_waits(ranks), of_ranks, strict=True):
        total = np.zeros(len(rank.steps.name), np.int64) if held is None else held.copy()
        step = rank.step[members.index[mine]]
        np.add.at(total, step[step >= 0], alone[mine][step >= 0])
        found.append(total)
    return found


def _chosen(by_step: Mapping[Reason, Float], late: float) -> dict[Reason, float]:
    """Reasons that are no chance; all that are longer where these explain too little."""
    longer = {reason: time for reason, time in by_step.items() if time.sum() > 0}
    sure = {reason: time for reason, time in longer.items() if is_consistent(time)}
    explained = sum(float(time.sum()) for time in sure.values())
    chosen = sure if explained >= _MOST_OF * late else longer
    totals = {reason: float(time.sum()) for reason, time in chosen.items()}
    return dict(sorted(totals.items(), key=lambda item: -item[1]))


def _is_on_device(episodes: Sequence[Episode], reason: Reason) -> bool:
    """Whether most of the excess of a reason is time of a device."""
    device, host = (
        sum(each.reasons.get(reason, 0) for each in episodes if each.on_device == side)
        for side in (True, False)
    )
    return device > host


def _time_of(
    rank: RankSummary, times: RankTimes, reason: Reason, device: bool, first: int, last: int
) -> Float:
    """Time of a reason in each window from one edge to another, shape (last - first,)."""
    spent = times.device if device else times.host
    rows = spent.rows(first, last)
    codes = spent.code[rows]
    mine = np.array([reason_of(rank, code, device) == reason for code in codes.tolist()], bool)
    mine &= codes != PEERS
    total = np.zeros(last - first)
    np.add.at(total, spent.window[rows][mine] - first, spent.time[rows][mine])
    return total
