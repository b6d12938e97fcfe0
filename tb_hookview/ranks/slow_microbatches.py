"""Which microbatches a stage of a pipeline works longer on than the other stages do.

stage 0   [F0][F1][F2]
stage 1       [F0][   F1   ][F2]     the forward of microbatch 1: the others' take as long as F0
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median, median_low
from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.ranks.map.microbatches import MicrobatchTimes
from tb_hookview.ranks.map.summary import RankSummary

_EXPLAINED = 1 / 2
"""Part of what the rank is slow by in all, which a pass exceeds to be named."""
_ALSO = 1 / 4
"""Part of the longest excess of a microbatch, from which on another one is slow as well."""
_US = 1000.0


class _Pass(NamedTuple):
    """One direction of one stage."""

    stage: int
    backward: bool


def find_slow_microbatches(
    ranks: Sequence[RankSummary], stages: Sequence[int], late: int, excess: float
) -> schema.StageWork | None:
    """Find the pass and the microbatches on which a stage spends most of its excess.

    Args:
        ranks: summaries.
        stages: places of the ranks of its pipeline, in order.
        late: its own place.
        excess: time per step by which it works longer than the others, nanoseconds.

    Returns:
        None where no pass of its microbatches explains half of that.
    """
    work = {place: _by_pass(ranks[place]) for place in stages}
    best: schema.StageWork | None = None
    most = _EXPLAINED * excess
    for of, times in work[late].items():
        others = [_typical(work[place], backward=of.backward) for place in stages if place != late]
        known = [time for time in others if time is not None]
        usual = median_low(known) if known else max(times.values())
        longer = {number: time - usual for number, time in sorted(times.items()) if time > usual}
        if sum(longer.values()) <= most:
            continue
        most = sum(longer.values())
        slow = [n for n, time in longer.items() if time >= _ALSO * max(longer.values())]
        best = schema.StageWork(
            stage=of.stage if of.stage >= 0 else stages.index(late),
            direction="backward" if of.backward else "forward",
            microbatches=slow,
            of_microbatches=len(times),
            time_us=median(times[number] for number in slow) / _US,
            usual_us=usual / _US,
        )
    return best


def _typical(work: dict[_Pass, dict[int, float]], *, backward: bool) -> float | None:
    """Median over the microbatches of a rank in one direction; None without any."""
    times = [time for of, own in work.items() if of.backward == backward for time in own.values()]
    return median(times) if times else None


def _by_pass(rank: RankSummary) -> dict[_Pass, dict[int, float]]:
    """Time of each microbatch by pass: the median of the measured steps, nanoseconds."""
    found: defaultdict[_Pass, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    work: MicrobatchTimes = rank.microbatches
    for row in np.flatnonzero(rank.steps.counted[work.step]).tolist():
        of = _Pass(int(work.stage[row]), bool(work.backward[row]))
        found[of][int(work.number[row])].append(int(work.time[row]))
    return {
        of: {number: median(times) for number, times in own.items()} for of, own in found.items()
    }
