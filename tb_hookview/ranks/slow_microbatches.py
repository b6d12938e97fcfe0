"""Which microbatches a stage of a pipeline works longer on than the other stages do.

stage 0   [F0][F1][F2]
stage 1       [F0][   F1   ][F2]     the forward of microbatch 1: the others' take as long as F0
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median, median_low
from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.arrays.joins import lower_quartile
from tb_hookview.ranks.map.summary import RankSummary

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
