"""Ranks that exchange messages which no trace pairs: whose steps hold more work.

    stage 0   |- work -|...... recv ......|- work -|
    stage 1   |.recv.|---- work ----|----- work ---|     waits least: it works longest
    stage 2   |.......... recv ....|- work -|. send|

Gloo names neither source nor target of a message. So steps are compared as a whole: the rank that
spends the least time in its messages is late by what the others spend more, for what it worked
longer on than their median.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import numpy as np

from tb_hookview.analysis.collectives.names import POINT_TO_POINT
from tb_hookview.arrays import intervals
from tb_hookview.arrays.types import Nanoseconds
from tb_hookview.ranks.late import Episode, excess_of
from tb_hookview.ranks.map.summary import RankSummary, TimesOf
from tb_hookview.ranks.waits import WAITED_NS


def unpaired(rank: RankSummary) -> list[int]:
    """Messages of a rank that name neither source nor target."""
    calls = rank.collectives
    named = (calls.source >= 0) | (calls.target >= 0)
    return [
        index
        for index, kind in enumerate(calls.kind)
        if kind in POINT_TO_POINT and not named[index]
    ]


def find_stage_episodes(ranks: Sequence[RankSummary], times: TimesOf) -> list[Episode]:
    """Explain every step in which one rank spent less time in such messages than the others."""
    spent = [_message_time(rank) for rank in ranks]
    of_step: dict[str, dict[int, int]] = defaultdict(dict)
    for number, (rank, own) in enumerate(zip(ranks, spent, strict=True)):
        if own is not None:
            for step, name in enumerate(rank.steps.name):
                of_step[name][number] = step
    several = [steps for steps in of_step.values() if len(steps) > 1]
    return [e for steps in several if (e := _episode(ranks, times, spent, steps))]


def message_waits(ranks: Sequence[RankSummary]) -> list[Nanoseconds | None]:
    """Time of each rank in such messages beyond the least of all ranks in that step, by step."""
    spent = [_message_time(rank) for rank in ranks]
    least: dict[str, int] = {}
    for rank, times in zip(ranks, spent, strict=True):
        if times is not None:
            for name, time in zip(rank.steps.name, times.tolist(), strict=True):
                least[name] = min(time, least.get(name, time))
    return [
        None if times is None else times - np.array([least[name] for name in rank.steps.name])
        for rank, times in zip(ranks, spent, strict=True)
    ]


def _message_time(rank: RankSummary) -> Nanoseconds | None:
    """Time in each step in which such a message was under way; None for a rank without any."""
    indices = unpaired(rank)
    if not indices:
        return None
    calls, steps = rank.collectives, rank.steps
    window = np.stack([steps.start, steps.start + steps.duration], axis=1)
    return intervals.lengths_within(intervals.of(calls.start[indices], calls.end[indices]), window)


def _episode(
    ranks: Sequence[RankSummary],
    times: TimesOf,
    spent: Sequence[Nanoseconds | None],
    steps: dict[int, int],
) -> Episode | None:
    """What one step says; None where no rank waits for another."""
    time = {r: int(own[step]) for r, step in steps.items() if (own := spent[r]) is not None}
    late = min(time, key=time.__getitem__)
    others = [time[rank] for rank in time if rank != late]
    caused = median(others) - time[late]
    if caused < WAITED_NS:
        return None
    spans = {rank: _span(ranks[rank], step) for rank, step in steps.items()}
    return Episode(
        collective=-1,
        rank=late,
        step=steps[late],
        caused=caused,
        late_by=min(others) - time[late],
        reasons=excess_of(ranks, times, spans, late, device=False),
        since=spans[late][0],
        on_device=False,
    )


def _span(rank: RankSummary, step: int) -> tuple[int, int]:
    start = int(rank.steps.start[step])
    return start, start + int(rank.steps.duration[step])
