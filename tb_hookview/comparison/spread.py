"""How numbers vary from step to step, and whether a difference lies within that."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tb_hookview.comparison.sides import StepMeans
from tb_hookview.schema import Spread, SpreadPair


def spread_pair(left: StepMeans, right: StepMeans, field: str) -> SpreadPair:
    """Spread of a field of the steps on both sides."""
    base, other = left.values(field), right.values(field)
    return SpreadPair(_spread(base), _spread(other), within_noise(base, other))


def within_noise(base: Sequence[float], other: Sequence[float]) -> bool | None:
    """Whether the median of each lies in the range of the other; None with fewer than two steps."""
    if min(len(base), len(other)) < 2:
        return None
    return _is_in_range(median(base), other) and _is_in_range(median(other), base)


def _is_in_range(value: float, of: Sequence[float]) -> bool:
    return min(of) <= value <= max(of)


def _spread(values: Sequence[float]) -> Spread | None:
    return Spread(median(values), min(values), max(values)) if values else None
