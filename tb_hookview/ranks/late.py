"""Why a rank was late: what it spent more time on than the others since all were together.

    others   [last common one ]--- a ---|-- b --[waits    ]
    late       [              ]--- a ---|------ b --------[]
                                                 late by: b

From the last collective that all of them had left to this one, each rank's time goes to modules,
loader, optimizer, waits for its device, and the rest. A part by which the straggler exceeds the
lower median of the others is a reason: half of them at least take no longer. The time is counted
from start to start: there each rank is at the same place of the program, which it need not be where
the collective ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.activity import DATA, OPTIMIZER, PEERS, WAIT
from tb_hookview.arrays.types import Int
from tb_hookview.ranks.map.summary import RankSummary, TimesOf
from tb_hookview.ranks.members import Members

CAUSES = {DATA: "data", OPTIMIZER: "optimizer", WAIT: "sync"}
"""Reasons that are no module, by their codes; any other is "host"."""

_COMPARED = 16
"""Ranks with which a late one is compared, so that the cost of a collective is bounded."""

Reason = tuple[str, str]
"""Kind ("module", "data", "optimizer", "sync" or "host"), and path of the module."""


Spans = Mapping[int, tuple[int, int]]
"""Two moments of some ranks, each by its own clock; nanoseconds."""


class Episode(NamedTuple):
    """One collective for which the others waited; nanoseconds."""

    collective: int
    """Index into the matched, -1 for a step as a whole."""
    rank: int
    step: int
    """Step of the straggler in which it was, -1 for none."""
    late_by: int
    """Time of the straggler before it, less that of the next latest."""
    reasons: dict[Reason, int]
    """By how much each part of the straggler's time exceeds the others' median; below 0 if less."""
    since: int
    """Moment on the straggler's clock from which they are counted: up to the start."""
    on_device: bool
    """Whether they are of its device events, else of its host."""


def find_episodes(
    ranks: Sequence[RankSummary], times: TimesOf, members: Members, late_member: Int
) -> list[Episode]:
    """Explain collectives to which a rank came late.

    Args:
        ranks: summaries.
        times: what they spent their time on.
        members: the collectives, m of them.
        late_member: which member of each is explained, -1 for none; shape (m,).
    """
    of_ranks = members.of_ranks(len(ranks))
    episodes: list[Episode] = []
    explained: dict[bytes, int] = {}
    """The last one that was explained, by the ranks that took part."""
    for collective in _by_ranks(members, np.flatnonzero(late_member >= 0)):
        mine, last = members.of(collective), int(late_member[collective])
        present, start = members.rank[mine], members.start[mine]
        own = of_ranks[int(members.rank[last])]
        before = _before(members, own[: np.searchsorted(own, last)], present, start)
        if before is None:
            continue
        together, begin = members.end[before], members.start[before]
        if (earlier := explained.get(present.tobytes())) is not None:
            # what came before that is explained already
            since = members.start[members.of(earlier)]
            together, begin = np.maximum(together, since), np.maximum(begin, since)
        explained[present.tobytes()] = collective
        late, place = int(members.rank[last]), last - mine.start
        spans = dict(
            zip(present.tolist(), zip(begin.tolist(), start.tolist(), strict=True), strict=True)
        )
        reasons, on_device = reasons_of(ranks, times, spans, late)
        late_by = np.maximum(start - together, 0)
        episodes.append(
            Episode(
                collective=collective,
                rank=late,
                step=int(ranks[late].step[members.index[last]]),
                late_by=max(0, int(late_by[place]) - int(np.delete(late_by, place).max())),
                reasons=reasons,
                since=int(begin[place]),
                on_device=on_device,
            )
        )
    return sorted(episodes, key=lambda episode: episode.collective)


def _by_ranks(members: Members, collectives: Int) -> list[int]:
    """Collectives of the same ranks one after the other: their times are in memory then."""
    place: dict[bytes, int] = {}
    keys = (members.rank[members.of(each)].tobytes() for each in collectives.tolist())
    places = [place.setdefault(key, len(place)) for key in keys]
    return [int(collectives[at]) for at in np.argsort(places, kind="stable")]


def _before(members: Members, earlier: Int, present: Int, start: Int) -> Int | None:
    """Members of the last collective that some ranks had left before they began another.

    Args:
        members: all of them.
        earlier: those of one of the ranks in collectives before.
        present: the ranks.
        start: moments at which they began, of the same shape.
    """
    collectives = np.searchsorted(members.first, earlier, side="right") - 1
    for collective in collectives[::-1].tolist():
        mine = members.of(collective)
        ranks = members.rank[mine]
        place = np.minimum(np.searchsorted(ranks, present), len(ranks) - 1)
        found = mine.start + place
        if (ranks[place] == present).all() and (members.end[found] <= start).all():
            return np.asarray(found)
    return None


def compared(present: Sequence[int], late: int) -> list[int]:
    """Some of the ranks that took part, the late one left out: a median needs no more."""
    others = [rank for rank in present if rank != late]
    chosen = np.linspace(0, len(others) - 1, min(len(others), _COMPARED)).astype(np.int64)
    return [others[place] for place in chosen.tolist()]


def reasons_of(
    ranks: Sequence[RankSummary], times: TimesOf, spans: Spans, late: int
) -> tuple[dict[Reason, int], bool]:
    """Excess of the straggler by reason: by its device where that did more, else by its host."""
    host = excess_of(ranks, times, spans, late, device=False)
    if not len(times(late).device.window):
        return host, False
    device = excess_of(ranks, times, spans, late, device=True)
    on_device = 2 * _longer(device) >= _longer(host)
    return (device if on_device else host), on_device


def _longer(excess: Mapping[Reason, int]) -> int:
    return sum(time for time in excess.values() if time > 0)


def excess_of(
    ranks: Sequence[RankSummary], times: TimesOf, spans: Spans, late: int, *, device: bool
) -> dict[Reason, int]:
    """By how much each part of the straggler's time exceeds the lower median of the others'.

    Args:
        ranks: summaries.
        times: what they spent their time on.
        spans: moments between which ranks are compared, each on its own clock.
        late: the late one of them.
        device: whether time of devices is compared, else that of hosts.
    """

    own = parts_of(ranks, times, spans, late, device=device)
    others = [
        parts_of(ranks, times, spans, other, device=device) for other in compared(list(spans), late)
    ]
    return {
        reason: time - median_low(other.get(reason, 0) for other in others)
        for reason, time in own.items()
    }


def parts_of(
    ranks: Sequence[RankSummary], times: TimesOf, spans: Spans, number: int, *, device: bool
) -> dict[Reason, int]:
    """Time of one of the ranks by what it spent it on; see `excess_of`."""
    rank, of = ranks[number], times(number)
    spent = of.device if device else of.host
    first, last = np.searchsorted(rank.edges, spans[number]).tolist()
    return _named(rank, spent.between(first, last))


def _named(rank: RankSummary, times: dict[int, int]) -> dict[Reason, int]:
    named: dict[Reason, int] = {}
    for code, time in times.items():
        if code != PEERS:
            reason = reason_of(rank, code)
            named[reason] = named.get(reason, 0) + time
    return named


def reason_of(rank: RankSummary, code: int) -> Reason:
    """The reason that a code of `Spent` is time of."""
    return ("module", rank.modules[code]) if code >= 0 else (CAUSES.get(code, "host"), "")
