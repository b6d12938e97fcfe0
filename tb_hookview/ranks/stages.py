"""Stages of a pipeline: what they wait in messages, and what one works longer on than the others.

    stage 0   |- work -|...... recv ......|- work -|
    stage 1   |.recv.|---- work ----|----- work ---|     waits least: it works longest
    stage 2   |.......... recv ....|- work -|. send|

Their steps are compared as a whole, for each stage runs other work. Between two messages a stage
may run the backward of one microbatch and its neighbour the forward of another. Gloo names neither
source nor target of a message, so no two are paired: there a rank waits what it is held in its
messages beyond the least of all ranks in that step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low

import numpy as np

from tb_hookview.analysis.collectives.calls import POINT_TO_POINT
from tb_hookview.arrays import intervals
from tb_hookview.arrays.types import Nanoseconds
from tb_hookview.ranks.late import Episode, Reason, Span, Spans, parts_of, reasons_of
from tb_hookview.ranks.map.summary import RankSummary, TimesOf


def messages(rank: RankSummary) -> list[int]:
    """Messages of a rank from point to point."""
    return [index for index, kind in enumerate(rank.collectives.kind) if kind in POINT_TO_POINT]


def unpaired(rank: RankSummary) -> list[int]:
    """Messages of a rank that name neither source nor target."""
    calls = rank.collectives
    named = (calls.source >= 0) | (calls.target >= 0)
    return [index for index in messages(rank) if not named[index]]


def message_waits(ranks: Sequence[RankSummary]) -> list[Nanoseconds | None]:
    """Time that each rank is held in such messages beyond the least of all ranks, by step."""
    unnamed = [unpaired(rank) for rank in ranks]
    spent = [held_in(rank, of) if of else None for rank, of in zip(ranks, unnamed, strict=True)]
    least: dict[str, int] = {}
    for rank, times in zip(ranks, spent, strict=True):
        if times is not None:
            for name, time in zip(rank.steps.name, times.tolist(), strict=True):
                least[name] = min(time, least.get(name, time))
    return [
        None if times is None else times - np.array([least[name] for name in rank.steps.name])
        for rank, times in zip(ranks, spent, strict=True)
    ]


def held_in(rank: RankSummary, indices: Sequence[int]) -> Nanoseconds:
    """Time in each step in which a rank does nothing but wait in some of its collectives."""
    calls, steps, edges = rank.collectives, rank.steps, rank.edges
    under_way = intervals.of(calls.start[list(indices)], calls.end[list(indices)])
    used = intervals.lengths_within(under_way, intervals.between(edges)) > 0
    held = np.where(used, rank.held, 0)
    until = np.concatenate([[0], np.cumsum(held)])
    first, last = (np.searchsorted(edges, at) for at in (steps.start, steps.start + steps.duration))
    return np.asarray(until[last] - until[first])


def step_episodes(
    ranks: Sequence[RankSummary], times: TimesOf, late: int, names: Sequence[str]
) -> list[Episode]:
    """Explain some steps of a rank, by their names: what it worked longer on than the others."""
    places = [{name: at for at, name in enumerate(rank.steps.name)} for rank in ranks]
    found = []
    for name in names:
        spans = {
            number: _span(rank, place[name])
            for number, (rank, place) in enumerate(zip(ranks, places, strict=True))
            if name in place
        }
        why = reasons_of(ranks, times, spans, spans, late)
        longer = _longer_stages(ranks, times, spans, late, on_device=why.on_device)
        found.append(Episode(-1, late, places[late][name], longer, **why._asdict()))
    return found


def _longer_stages(
    ranks: Sequence[RankSummary], times: TimesOf, spans: Spans, late: int, *, on_device: bool
) -> int:
    """By how much the straggler works longer in all than the lower median of the others."""
    work = {
        number: sum(parts_of(ranks, times, spans, number, device=on_device).values())
        for number in spans
    }
    return max(0, work[late] - median_low(time for rank, time in work.items() if rank != late))


def limited(
    episodes: Sequence[Episode], excess: Mapping[Reason, float], least: float
) -> tuple[list[Episode], dict[Reason, float]]:
    """Take no more for reasons than the stage works longer: others may lack its modules.

    Args:
        episodes: of the stage.
        excess: of each chosen reason, over all steps.
        least: what it works longer at least, by its microbatches.
    """
    total, most = sum(excess.values()), max(least, sum(each.late_by for each in episodes))
    share = min(1.0, most / total) if total > 0 else 1.0
    return [
        each._replace(reasons={why: int(time * share) for why, time in each.reasons.items()})
        for each in episodes
    ], {why: time * share for why, time in excess.items()}


def _span(rank: RankSummary, step: int) -> Span:
    start = int(rank.steps.start[step])
    return Span(start, start, start + int(rank.steps.duration[step]))
