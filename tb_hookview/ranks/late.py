"""Why a rank was late: what it spent more time on than the others since all were together.

    others   [last common one ]--- a ---|-- b --[waits    ]
    late       [              ]--- a ---|------ b --------[]
                                                 late by: b

From the last collective that all of them had left to this one, each rank's time goes to modules,
loader, optimizer, waits for its device, and the rest. A part by which the late rank exceeds the
median of the others is a reason. The time is counted from start to start: there each rank is at the
same place of the program, which it need not be where the collective ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.activity import DATA, OPTIMIZER, PEERS, WAIT
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.ranks.clocks import ends_of, starts_of
from tb_hookview.ranks.matching import Matched
from tb_hookview.ranks.summary import RankSummary, Spent
from tb_hookview.ranks.waits import Waits

CAUSES = {DATA: "data", OPTIMIZER: "optimizer", WAIT: "sync"}
"""Reasons that are no module, by their codes; any other is "host"."""

_COMPARED = 16
"""Ranks with which a late one is compared, so that the cost of a collective is bounded."""

Reason = tuple[str, str]
"""Kind ("module", "data", "optimizer", "sync" or "host"), and path of the module."""


class Episode(NamedTuple):
    """One collective for which the others waited; nanoseconds."""

    collective: int
    """Index into the matched, -1 for a step as a whole."""
    rank: int
    step: int
    """Step of the late rank in which it was, -1 for none."""
    caused: float
    """Mean wait of the others."""
    late_by: int
    """Time of the late rank before it, less that of the next latest."""
    reasons: dict[Reason, int]
    """By how much each part of the late rank's time exceeds the others' median."""
    since: int
    """Moment on the late rank's clock from which they are counted: up to the start."""
    on_device: bool
    """Whether they are of its device events, else of its host."""


def find_episodes(ranks: Sequence[RankSummary], matched: Matched, waits: Waits) -> list[Episode]:
    """Explain every collective that had a late rank."""
    starts, ends = starts_of(ranks, matched.member), ends_of(ranks, matched.member)
    episodes: list[Episode] = []
    explained: dict[bytes, int] = {}
    """The last one that was explained, by the ranks that took part."""
    for collective in np.flatnonzero(waits.late >= 0).tolist():
        present = waits.present[collective]
        before = _before(waits, starts, ends, collective)
        if before < 0:
            continue
        together, begin = ends[before], starts[before]
        if (last := explained.get(present.tobytes())) is not None:
            # what came before that is explained already
            together, begin = (np.maximum(each, starts[last]) for each in (together, begin))
        explained[present.tobytes()] = collective
        since = np.where(present, np.maximum(starts[collective] - together, 0), -1)
        late = int(waits.late[collective])
        others = compared(present, late)
        reasons, on_device = _reasons(ranks, begin, starts[collective], others, late)
        episodes.append(
            Episode(
                collective=collective,
                rank=late,
                step=int(ranks[late].step[matched.member[collective, late]]),
                caused=float(waits.caused_alone[collective]),
                late_by=max(0, int(since[late]) - int(np.delete(since, late).max())),
                reasons=reasons,
                since=int(begin[late]),
                on_device=on_device,
            )
        )
    return episodes


def compared(present: Bool, late: int) -> list[int]:
    """Some of the ranks that took part, the late one left out: a median needs no more."""
    others = np.flatnonzero(present)
    others = others[others != late]
    chosen = np.linspace(0, len(others) - 1, min(len(others), _COMPARED)).astype(np.int64)
    found: list[int] = others[chosen].tolist()
    return found


def _before(waits: Waits, starts: Int, ends: Int, collective: int) -> int:
    """The last collective that every rank of this one had left before this began; -1 for none."""
    present = waits.present[collective]
    for before in range(collective - 1, -1, -1):
        together = waits.present[before][present].all()
        if together and (ends[before][present] <= starts[collective][present]).all():
            return before
    return -1


def _reasons(
    ranks: Sequence[RankSummary], begin: Int, end: Int, others: Sequence[int], late: int
) -> tuple[dict[Reason, int], bool]:
    """Excess of the late rank by reason: by its device where that did more, else by its host.

    Args:
        ranks: summaries.
        begin: moments between which the ranks are compared, each on its own clock; shape (r,).
        end: the same.
        others: the ranks that the late one is compared with.
        late: the late rank.
    """
    own = ranks[late]
    host = excess_of(ranks, begin, end, others, late, device=False)
    if not len(own.device.window):
        return host, False
    device = excess_of(ranks, begin, end, others, late, device=True)
    on_device = 2 * sum(device.values()) >= sum(host.values())
    return (device if on_device else host), on_device


def excess_of(
    ranks: Sequence[RankSummary],
    begin: Int,
    end: Int,
    others: Sequence[int],
    late: int,
    *,
    device: bool,
) -> dict[Reason, int]:
    """Parts by which the late rank's time exceeds the median of the others' where it does."""

    def times(number: int) -> dict[Reason, int]:
        rank = ranks[number]
        spent: Spent = rank.device if device else rank.host
        first, last = np.searchsorted(rank.edges, [begin[number], end[number]]).tolist()
        return _named(rank, spent.between(first, last))

    own, compared = times(late), [times(other) for other in others]
    excess = {
        reason: time - int(median(other.get(reason, 0) for other in compared))
        for reason, time in own.items()
    }
    return {reason: time for reason, time in excess.items() if time > 0}


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
