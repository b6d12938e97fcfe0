"""Pipelines: which ranks are one, its microbatches, and the bubble against that of even stages.

rank 0   [F0][F1][F2]......[B0]..[B1]..[B2]     p = 2, m = 3: 1/4 of the schedule is idle
rank 1   ....[F0][F1][F2][B0]..[B1]..[B2]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.collectives.names import POINT_TO_POINT
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.ranks.stages import held_in, messages, unpaired


def find_pipelines(ranks: Sequence[RankSummary], numbers: Sequence[int]) -> list[list[int]]:
    """Find the pipelines of a run: places of the ranks of each, in order of its stages.

    Args:
        ranks: summaries.
        numbers: of the ranks.
    """
    return sorted(stages for stages in _stages(ranks, numbers) if _has_steps(ranks, stages))


def _has_steps(ranks: Sequence[RankSummary], stages: Sequence[int]) -> bool:
    return all(ranks[stage].steps.counted.any() for stage in stages)


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


def _stages(ranks: Sequence[RankSummary], numbers: Sequence[int]) -> list[list[int]]:
    """Places of the ranks that are connected by messages, ascending."""
    place = {number: at for at, number in enumerate(numbers)}
    together = {at: {at} for at, rank in enumerate(ranks) if messages(rank)}
    unnamed = [at for at in together if unpaired(ranks[at])]
    pairs = {pair for at in together for pair in _pairs(ranks[at], place)}
    pairs |= {(unnamed[0], at) for at in unnamed if _is_one_group(ranks[at])}
    for one, other in pairs:
        if one in together and other in together and together[one] is not together[other]:
            together[one] |= together[other]
            for each in together[other]:
                together[each] = together[one]
    groups = {id(of): sorted(of) for of in together.values()}
    return [of for of in groups.values() if len(of) > 1]


def _is_one_group(rank: RankSummary) -> bool:
    """Whether messages without ranks can be of one pipeline only."""
    return (rank.process_groups or 1) == 1


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
