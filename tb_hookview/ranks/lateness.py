"""How late each rank is in each step, and whether that is more than chance.

    rank 0   [====== waits ======|= transfer =]     waits 6
    rank 1   [=== waits ===|= transfer =]           waits 4, the others 3 on average: not late
    rank 2         [= transfer =]                   waits 0, the others 5 on average: late by 5

A rank is late by what the ranks with which it has collectives wait longer than it does, their mean.
So one that is itself kept waiting, as the stages after a slow one are, is not; and in an even run
lateness is 0 on average, whatever the distribution of its noise. A rank that comes early, while
most of the others come together, waits for none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import ceil, comb, log, sqrt
from statistics import median, median_high
from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.joins import running_max
from tb_hookview.arrays.types import Bool, Float, Int, Nanoseconds
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.ranks.members import Members
from tb_hookview.ranks.stages import unpaired

MOST = 3 / 4
"""Share of the steps in which a straggler is late."""
LEAST_SHARE = 0.03
"""Share of the step by which it is late, at least."""
_ERRORS = 4.0
"""Standard errors of its mean by which it is late, at least; more of few steps."""
_CHANCE = 0.002
"""Or: chance in an even run that any rank is the latest in as many steps, at most."""

_WHOLE = 1 / 2
"""Part of a step's duration on most ranks below which one that lacks collectives was cut off."""


def compared_steps(ranks: Sequence[RankSummary], members: Members) -> tuple[list[Bool], list[Bool]]:
    """Measured steps of each rank that are compared, and those that are cut off in its trace.

    In the former it has a collective with others, or a message.
    """
    begun = []
    for rank, mine in zip(ranks, members.of_ranks(len(ranks)), strict=True):
        step = rank.step[np.concatenate([members.index[mine], np.array(unpaired(rank), np.int64)])]
        begun.append(np.bincount(step[step >= 0], minlength=len(rank.steps.name)))
    usual = _usual_steps(ranks, begun)
    cut = [_cut_off(rank, count, usual) for rank, count in zip(ranks, begun, strict=True)]
    compared = [
        rank.steps.counted & (count > 0) & ~lacks
        for rank, count, lacks in zip(ranks, begun, cut, strict=True)
    ]
    return compared, cut


def _usual_steps(
    ranks: Sequence[RankSummary], begun: Sequence[Int]
) -> Mapping[str, tuple[int, float]]:
    """Most collectives that a rank has in a step, and the step's median duration, by its name."""
    found: dict[str, list[tuple[int, int]]] = {}
    for rank, counts in zip(ranks, begun, strict=True):
        for at in np.flatnonzero(rank.steps.counted).tolist():
            of = int(counts[at]), int(rank.steps.duration[at])
            found.setdefault(rank.steps.name[at], []).append(of)
    return {
        name: (max(count for count, _ in of), median_high(time for _, time in of))
        for name, of in found.items()
    }


def _cut_off(rank: RankSummary, begun: Int, usual: Mapping[str, tuple[int, float]]) -> Bool:
    """Which steps lack collectives and most of the time that they have on other ranks."""
    steps = zip(rank.steps.name, begun.tolist(), rank.steps.duration.tolist(), strict=True)
    none = (0, 0.0)
    cut = [
        count < usual.get(name, none)[0] and time < _WHOLE * usual.get(name, none)[1]
        for name, count, time in steps
    ]
    return np.asarray(rank.steps.counted & np.array(cut, bool))


def names_of(ranks: Sequence[RankSummary], compared: Sequence[Bool]) -> list[str]:
    """Names of the steps in which several ranks are compared."""
    seen: Counter[str] = Counter()
    for rank, mine in zip(ranks, compared, strict=True):
        seen.update({rank.steps.name[at] for at in np.flatnonzero(mine).tolist()})
    return sorted(name for name, count in seen.items() if count > 1)


def peers_of(ranks: Sequence[RankSummary], members: Members) -> list[Int]:
    """Ranks with which each has collectives or messages, itself among them."""
    groups = {members.rank[members.of(each)].tobytes(): each for each in range(len(members))}
    peers: list[set[int]] = [set() for _ in ranks]
    distinct = [members.rank[members.of(each)].tolist() for each in groups.values()]
    for group in [*distinct, [place for place, rank in enumerate(ranks) if unpaired(rank)]]:
        for rank in group:
            peers[rank].update(group)
    return [np.array(sorted(of), np.int64) for of in peers]


def find_lateness(
    ranks: Sequence[RankSummary],
    waits: Sequence[Nanoseconds],
    compared: Sequence[Bool],
    names: Sequence[str],
    peers: Sequence[Int],
) -> Float:
    """Time by which each rank is late in some steps, shape (r, s); NaN for unknown.

    Args:
        ranks: summaries.
        waits: time that each rank waited in each of its steps.
        compared: which of its steps are compared.
        names: of these steps.
        peers: ranks with which each is compared, itself among them.
    """
    place = {name: at for at, name in enumerate(names)}
    waited = np.full((len(ranks), len(names)), np.nan)
    for number, rank in enumerate(ranks):
        steps = [at for at in np.flatnonzero(compared[number]) if rank.steps.name[at] in place]
        waited[number, [place[rank.steps.name[at]] for at in steps]] = waits[number][steps]
    late = np.full_like(waited, np.nan)
    total: dict[bytes, tuple[Float, Int]] = {}
    for number, of in enumerate(peers):
        if (key := of.tobytes()) not in total:
            known = waited[of]
            total[key] = np.nansum(known, axis=0), (~np.isnan(known)).sum(axis=0)
        sums, count = total[key]
        others = np.where(count > 1, (sums - waited[number]) / np.maximum(count - 1, 1), np.nan)
        late[number] = others - waited[number]
    return late


def late_at_begin(ranks: Sequence[RankSummary], members: Members) -> Float:
    """Time by which each rank is late for its first collective where no step is marked, shape (r,).

    It shows when each recording began, and not how long a rank worked: 0 where steps are marked.
    """
    late = np.zeros(len(ranks))
    if any(rank.steps.marked for rank in ranks):
        return late
    longer = members.beyond_others(members.wait)
    for number, mine in enumerate(members.of_ranks(len(ranks))):
        if len(mine):
            late[number] = -longer[mine[members.index[mine].argmin()]]
    return late


def latest(
    late: Float, step: float, left_out: set[int], is_sure: Callable[[int], bool] = lambda _: False
) -> int | None:
    """The rank that is late by most, on average, of those that are stragglers; None without one.

    Args:
        late: shape (r, s).
        step: mean duration of a step.
        left_out: ranks that are named already.
        is_sure: whether it is known of a rank by its own work that this is no chance.
    """
    known = ~np.isnan(late)
    count = known.sum(axis=1)
    mean = np.nansum(late, axis=1) / np.maximum(count, 1)
    often = (np.nan_to_num(late) > 0).sum(axis=1) >= MOST * np.maximum(count, 1)
    scatter = _pooled(late)
    for rank in np.argsort(-mean).tolist():
        if mean[rank] < LEAST_SHARE * step:
            return None
        if rank in left_out:
            continue
        own = late[rank, known[rank]]
        if often[rank] and (is_consistent(own, scatter) or _is_rare(late, rank)):
            return int(rank)
        if is_sure(rank):
            return int(rank)
    return None


def suspected(late: Float, step: float, left_out: Collection[int]) -> tuple[int, int] | None:
    """The rank that is late in all steps and the steps it takes to rule out chance, if more.

    Args:
        late: shape (r, s).
        step: mean duration of a step.
        left_out: stragglers.
    """
    ranks, count = late.shape
    filled = np.nan_to_num(late, nan=-np.inf)
    filled[list(left_out)] = -np.inf
    worst = np.unique(filled.argmax(axis=0))
    if ranks < 2 or not count or len(worst) != 1:
        return None
    needed = times_needed(ranks)
    is_long = float(filled[worst[0]].mean()) >= LEAST_SHARE * step
    return (int(worst[0]), needed) if is_long and count < needed else None


def times_needed(ranks: int) -> int:
    """How often one of two or more ranks has to be the latest, each time, to rule out chance."""
    return ceil(1 - log(_CHANCE) / log(ranks))


def is_consistent(late: Float, scatter: float = 0.0) -> bool:
    """Whether the mean over some steps is more than their noise.

    Args:
        late: of each step; a single one says nothing, and is taken as it is.
        scatter: standard deviation of the noise at least.
    """
    count, mean = len(late), float(late.mean()) if len(late) else 0.0
    if count < 2:
        return mean > 0
    noise = max(float(late.std(ddof=1)), scatter) / sqrt(count)
    return mean > 0 and mean >= _ERRORS * (1 + 2 / (count - 1)) * noise


def _pooled(late: Float) -> float:
    """Standard deviation of a rank's lateness from step to step, their median."""
    of_ranks = [row[~np.isnan(row)] for row in late]
    deviations = [float(row.std(ddof=1)) for row in of_ranks if len(row) > 1]
    return median(deviations) if deviations else 0.0


def _is_rare(late: Float, rank: int) -> bool:
    """Whether it is the latest in more steps than chance makes any of the ranks."""
    steps = late[:, ~np.isnan(late[rank])]
    worst: int = (np.nan_to_num(steps, nan=-np.inf).argmax(axis=0) == rank).sum().item()
    ranks, count = late.shape[0], steps.shape[1]
    chance: float = ranks * comb(count, worst) / float(ranks) ** worst
    return worst >= MOST * count and chance <= _CHANCE


# Who waited for whom: times of matched collectives without a common clock.
#
#     rank 0   [== waits ==|= transfer =]          duration 0
#     rank 1               [= transfer =]          the shortest: it came last
#     rank 2       [=waits=|= transfer =]
#
# All ranks leave together. So the rank with the shortest duration came last, its duration is the
# transfer, and what another's is longer by, that rank waited. Not so where there is a root: it may
# leave as soon as it has sent, so nobody is known to have come last. Where a kernel ran on after
# all others had left, as the clocks show, it waited for no rank: something interrupted it.


_TOGETHER = 1 / 20
"""Share of the longest wait within which members come together."""
WAITED_NS = 100_000
"""Waits below this name no straggler: the ranks' arrival is never quite equal."""


class Waits(NamedTuple):
    """Times of m collectives with n members, nanoseconds."""

    transfer: Nanoseconds
    """Shortest duration of each collective, shape (m,)."""
    alone: Nanoseconds
    """Time that each member waited, but not in one that its rank began earlier; shape (n,)."""
    last: Int
    """The member that came last, -1 for unknown and where none waited for it; shape (m,)."""
    caused: Float
    """Mean wait of the other members, shape (m,)."""


def find_waits(members: Members) -> Waits:
    """Measure transfer and waits of every collective."""
    transfer, wait = members.least(members.duration), members.wait
    alone = _alone(members, wait)
    caused = members.mean_of_others(wait)
    held = wait + (members.ran_on > 0)  # the last of those that waited for nobody
    shortest = np.where(held == 0, np.arange(len(wait)), len(wait))
    known = (caused >= WAITED_NS) & ~members.rooted
    last = np.where(known, members.least(shortest), -1)
    return Waits(transfer, alone, last, caused)


def for_last(members: Members, waits: Nanoseconds) -> Nanoseconds:
    """Part of the members' waits that is for the last to come to a collective, shape (n,).

        rank 0   [==== waits ====|= transfer =]     early: without the delay of one of the others
        rank 1   .............[==|= transfer =]     it waits for the next
        rank 2   ...............[= transfer =]

    Where most come together with it, only what these wait is.

    Args:
        members: of the collectives.
        waits: of the members, shape (n,).
    """
    middle, collective = members.middle_wait, members.collective
    longest = -members.least(-members.wait)
    together = middle <= _TOGETHER * longest
    return np.where(together[collective], np.minimum(waits, middle[collective]), waits)


def _alone(members: Members, wait: Nanoseconds) -> Nanoseconds:
    """Time of each wait that is in none of those that its rank began before; shape (n,)."""
    order = np.lexsort((np.arange(len(wait)), members.start, members.rank))
    rank, start = members.rank[order], members.start[order]
    end = start + wait[order]
    # of an earlier one of the same rank
    until = np.concatenate([start[:1], running_max(rank, end)[:-1]])
    until = np.where(np.diff(rank, prepend=-1) != 0, start, until)
    alone = np.empty_like(wait)
    alone[order] = np.maximum(end - np.maximum(start, until), 0)
    return alone
