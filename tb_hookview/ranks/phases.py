"""In which of its passes a module of a straggler takes longer than on the other ranks."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low
from typing import Literal

import numpy as np

from tb_hookview.ranks.late import compared
from tb_hookview.ranks.map.summary import RankSummary, TimesOf


def phase_of(
    ranks: Sequence[RankSummary], times: TimesOf, late: int, path: str
) -> Literal["forward", "backward"]:
    """Find the pass in which a module's time per step exceeds the others' by most.

    Args:
        ranks: summaries.
        times: what they spent their time on.
        late: the straggler.
        path: of the module.
    """
    chosen = [late, *compared(range(len(ranks)), late)]
    own, *others = (_passes(ranks[rank], times, rank, path) for rank in chosen)
    forward, backward = (
        mine - median_low(theirs)
        for mine, theirs in zip(own, zip(*others, strict=True), strict=True)
    )
    return "backward" if backward > forward else "forward"


def _passes(rank: RankSummary, times: TimesOf, number: int, path: str) -> tuple[float, float]:
    """Time per measured step that a module spends in its forward, and in its backward."""
    spent = times(number).device if len(times(number).device.window) else times(number).host
    steps, total = rank.steps, [0, 0]
    for step in np.flatnonzero(steps.counted).tolist():
        start = int(steps.start[step])
        edges = np.searchsorted(rank.edges, [start, start + int(steps.duration[step])]).tolist()
        for code, time in spent.between(*edges).items():
            if code >= 0 and rank.modules[code] == path:
                total[rank.backward[code]] += time
    count = max(int(steps.counted.sum()), 1)
    return total[0] / count, total[1] / count
