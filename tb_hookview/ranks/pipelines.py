"""Pipelines: which ranks are one, its microbatches, and the bubble against that of even stages.

rank 0   [F0][F1][F2]......[B0]..[B1]..[B2]     p = 2, m = 3: 1/4 of the schedule is idle
rank 1   ....[F0][F1][F2][B0]..[B1]..[B2]
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median, median_low
from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.collectives.calls import POINT_TO_POINT
from tb_hookview.arrays.joins import lower_quartile
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.ranks.stages import held_in, messages, unpaired


def find_pipelines(ranks: Sequence[RankSummary], numbers: Sequence[int]) -> list[list[int]]:
    """Find the pipelines of a run: places of the ranks of each, which messages connect, ascending.

    Args:
        ranks: summaries.
        numbers: of the ranks.
    """
    place = {number: at for at, number in enumerate(numbers)}
    together = {at: {at} for at, rank in enumerate(ranks) if messages(rank)}
    unnamed = [at for at in together if unpaired(ranks[at])]
    pairs = {pair for at in together for pair in _pairs(ranks[at], place)}
    # messages without ranks can be of one pipeline only where a rank has one process group
    pairs |= {(unnamed[0], at) for at in unnamed if (ranks[at].process_groups or 1) == 1}
    for one, other in pairs:
        if one in together and other in together and together[one] is not together[other]:
            together[one] |= together[other]
            for each in together[other]:
                together[each] = together[one]
    groups = {id(of): sorted(of) for of in together.values() if len(of) > 1}
    has_steps = [bool(rank.steps.counted.any()) for rank in ranks]
    return sorted(of for of in groups.values() if all(has_steps[at] for at in of))


def pipeline_row(
    number: int,
    ranks: Sequence[RankSummary],
    stages: Sequence[int],
    numbers: Sequence[int],
    rows: Sequence[schema.Rank],
) -> schema.Pipeline:
    """Measure one pipeline of a run."""
    count, bubbles = len(stages), [_bubble(ranks[stage]) for stage in stages]
    microbatches = _by_ranges(ranks, stages) or _by_messages(ranks, stages)
    return schema.Pipeline(
        id=number,
        ranks=[numbers[stage] for stage in stages],
        microbatches=microbatches,
        bubble=fmean(bubbles),
        ideal_bubble=(count - 1) / (microbatches + count - 1) if microbatches else None,
        bubbles=bubbles,
        compute_us=[rows[stage].compute_us for stage in stages],
    )


def _pairs(rank: RankSummary, place: Mapping[int, int]) -> set[tuple[int, int]]:
    calls, mine = rank.collectives, messages(rank)
    ends = zip(calls.source[mine].tolist(), calls.target[mine].tolist(), strict=True)
    return {(place[a], place[b]) for a, b in ends if a in place and b in place}


def _bubble(rank: RankSummary) -> float:
    """Share of its measured steps in which a rank does nothing but wait in messages."""
    counted = rank.steps.counted
    held = held_in(rank, messages(rank))[counted].sum()
    return float(held / max(rank.steps.duration[counted].sum(), 1))


def _by_ranges(ranks: Sequence[RankSummary], stages: Sequence[int]) -> float | None:
    """Forwards of a rank per step, where all ranks mark as many."""
    found = {float(ranks[at].steps.microbatches[ranks[at].steps.counted].mean()) for at in stages}
    return (found.pop() or None) if len(found) == 1 else None


def _by_messages(ranks: Sequence[RankSummary], stages: Sequence[int]) -> float | None:
    """Messages that the ends of a chain send per step; ranks between send twice as many."""
    sent = [_per_step(ranks[at], POINT_TO_POINT[0]) for at in stages]
    received = [_per_step(ranks[at], POINT_TO_POINT[1]) for at in stages]
    least = min(sent)
    chain = Counter({least: 2, 2 * least: len(stages) - 2})
    is_chain = least > 0 and sent == received and Counter(sent) == +chain
    return least if is_chain else None


def _per_step(rank: RankSummary, kind: str) -> float:
    mine = np.array([each == kind for each in rank.collectives.kind], bool)
    step = rank.step[mine]
    counted = rank.steps.counted
    return float(counted[step[step >= 0]].sum() / max(counted.sum(), 1))


# Which microbatches a stage of a pipeline works longer on than the other stages do.
#
# stage 0   [F0][F1][F2]
# stage 1       [F0][   F1   ][F2]     the forward of microbatch 1: the others' take as long as F0


_ALSO = 1 / 4
"""Part of the longest excess of a microbatch, from which on another one is slow as well."""
_TIMES = 2.0
"""What it takes over what it takes the others, from which on that is no chance, and:"""
_RARE = 20
"""of that number of others at most one takes as long as it does in 3 of 4 steps."""
_LEAST = 6
"""Times of slow microbatches, at least: those of all steps."""
_US = 1000.0

_Times = Mapping[int, list[int]]
"""Nanoseconds in each measured step, by microbatch."""


class _Pass(NamedTuple):
    """One direction of one stage."""

    stage: int
    backward: bool


class SlowPass(NamedTuple):
    """One direction of a stage in which some microbatches take longer."""

    work: schema.StageWork
    excess: float
    """Of all of them per step, nanoseconds."""
    is_sure: bool
    """Whether that is no chance."""


def slow_passes(ranks: Sequence[RankSummary], stages: Sequence[int], late: int) -> list[SlowPass]:
    """Find the passes of a stage that take longer than those of other stages, the slowest first.

    Args:
        ranks: summaries.
        stages: places of the ranks of its pipeline, in order; empty where it is in none.
        late: its own place.
    """
    if late not in stages:
        return []
    others = [_by_pass(ranks[place]) for place in stages if place != late]
    found = []
    for of, times in _by_pass(ranks[late]).items():
        theirs = [_all_times(each, backward=of.backward) for each in others]
        if slow := _compared(of, times, [each for each in theirs if each], stages.index(late)):
            found.append(slow)
    return sorted(found, key=lambda each: -each.excess)


def _all_times(passes: Mapping[_Pass, _Times], *, backward: bool) -> list[int]:
    """Times of all microbatches of a rank in one direction."""
    own = [times for of, times in passes.items() if of.backward == backward]
    return [time for times in own for each in times.values() for time in each]


def _compared(
    of: _Pass, times: _Times, others: Sequence[Sequence[int]], place: int
) -> SlowPass | None:
    """Compare the microbatches of a pass with those of each other stage."""
    usual = median_low(median(each) for each in others) if others else 0.0
    typical = {number: median(times[number]) for number in sorted(times)}
    longer = {number: time - usual for number, time in typical.items() if time > usual}
    if not longer or not others:
        return None
    slow = [n for n, more in longer.items() if more >= _ALSO * max(longer.values())]
    rest = np.concatenate([*others, *(times[n] for n in times if n not in slow)])
    rare = np.sort(rest)[len(rest) - 1 - len(rest) // _RARE]
    least = min(lower_quartile(np.array(times[number])) for number in slow)
    work = schema.StageWork(
        stage=of.stage if of.stage >= 0 else place,
        direction="backward" if of.backward else "forward",
        microbatches=slow,
        of_microbatches=len(times),
        time_us=median(typical[number] for number in slow) / _US,
        usual_us=usual / _US,
    )
    is_sure = least > max(rare, _TIMES * usual) and sum(len(times[n]) for n in slow) >= _LEAST
    return SlowPass(work, sum(longer.values()), bool(is_sure))


def _by_pass(rank: RankSummary) -> dict[_Pass, dict[int, list[int]]]:
    """Times of the microbatches in measured steps, by pass."""
    found: defaultdict[_Pass, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    work = rank.microbatches
    for row in np.flatnonzero(rank.steps.counted[work.step]).tolist():
        of = _Pass(int(work.stage[row]), bool(work.backward[row]))
        found[of][int(work.number[row])].append(int(work.time[row]))
    return {of: dict(times) for of, times in found.items()}
