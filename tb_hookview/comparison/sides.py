"""Numbers of a row or of a whole report on both sides, and how they vary from step to step."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import median
from typing import TypeVar

import msgspec

from tb_hookview.comparison.pairing import RowPair
from tb_hookview.schema import Module, Pair, ReportData, Spread, SpreadPair, Status, Work

Row = TypeVar("Row")
LEAST_US = 1e-6
"""Less than this is rounding: a trace's clock counts nanoseconds, and steps divide them."""


class StepMeans:
    """One report's numbers per step, in the measure both sides share."""

    def __init__(self, report: ReportData, measure: str) -> None:
        self.report = report
        self.measure = measure
        self.steps = max(len(report.steps), 1)

    def per_step(self, value: float | None) -> float | None:
        """A sum over the steps as their mean."""
        return None if value is None else value / self.steps

    def values(self, field: str) -> list[float]:
        """A number of each step; none where a step does not hold it."""
        numbers: list[float | None] = [getattr(step, field) for step in self.report.steps]
        known = [number for number in numbers if number is not None]
        return known if len(known) == len(numbers) else []

    def mean(self, field: str) -> float | None:
        """Mean of a number of the steps; None where a step does not hold it."""
        values = self.values(field)
        return sum(values) / self.steps if values else None

    def idle(self) -> dict[str, float] | None:
        """Mean idle time of the devices by cause; None where a step lacks it."""
        parts = [msgspec.structs.asdict(step.idle) for step in self.report.steps if step.idle]
        if not parts or len(parts) < len(self.report.steps):
            return None
        return {cause: sum(part[cause] for part in parts) / self.steps for cause in parts[0]}

    def work(self, work: Work) -> float | None:
        """A module's self time, microseconds per step."""
        return self.per_step(work.own(device=self.measure == "device"))

    def backward(self) -> float | None:
        """Time of the backward pass without communication, microseconds per step."""
        return self.per_step(self.report.coverage.total(device=self.measure == "device"))

    def unattributed(self) -> float | None:
        """The part of it that belongs to no module."""
        return self.per_step(self.report.coverage.unattributed(device=self.measure == "device"))

    def forward(self) -> float | None:
        """Time of the forward pass without communication, microseconds per step."""
        if self.measure == "device":
            return self.per_step(self.report.totals.forward_compute_us)
        return self.mean("forward_us")

    def omitted_kernels(self) -> float | None:
        """Device time of the names that the table of kernels omits; None without device events."""
        omitted = self.report.kernels_omitted
        if omitted is not None:
            return self.per_step(omitted.total_us)
        return 0.0 if self.report.kernels else None

    def by_kind(self) -> dict[str, float]:
        """Device time by kernel class, without classes that have none."""
        return {k: us / self.steps for k, us in self.report.totals.device_us_by_kind.items()}


def rows_of(
    base: Sequence[Row], other: Sequence[Row], match: RowPair
) -> tuple[Row | None, Row | None]:
    """The rows of a match."""
    left, right = match
    return (
        None if left is None else base[left],
        None if right is None else other[right],
    )


def row_id(base_id: int | str | None, other_id: int | str | None) -> str:
    """Id of a row of the comparison, from its ids in both reports."""
    base, other = ("" if number is None else number for number in (base_id, other_id))
    return f"{base}|{other}"


def each(
    key: Callable[[Row], Hashable | None],
) -> Callable[[Sequence[Row]], list[Hashable | None]]:
    """Keys of rows, from the key of one."""
    return lambda rows: [key(row) for row in rows]


def status_of(
    base: object | None, other: object | None, *, moved: bool, pairs: Iterable[Pair]
) -> Status:
    """Status of a row; `moved` counts where both sides have it."""
    if base is None:
        return "appeared"
    if other is None:
        return "vanished"
    if moved:
        return "moved"
    return "changed" if any(abs(pair.change or 0.0) >= LEAST_US for pair in pairs) else "same"


def on_both(
    left: StepMeans,
    right: StepMeans,
    base: Row | None,
    other: Row | None,
    number: Callable[[StepMeans, Row], float | None],
) -> Pair:
    """A number of a row on both sides; a missing row costs nothing."""
    before = None if base is None else number(left, base)
    after = None if other is None else number(right, other)
    if base is None:
        return Pair(None, after, after)
    if other is None:
        return Pair(before, None, None if before is None else -before)
    return pair(before, after)


def totals(left: StepMeans, right: StepMeans, number: Callable[[StepMeans], float | None]) -> Pair:
    """A number of the whole report on both sides."""
    return pair(number(left), number(right))


def pair(base: float | None, other: float | None) -> Pair:
    """Two numbers; the change is known where both are."""
    return Pair(base, other, None if base is None or other is None else other - base)


def module_numbers(
    base: Sequence[Module], other: Sequence[Module], matches: Sequence[RowPair]
) -> tuple[dict[int | None, Hashable], dict[int | None, Hashable]]:
    """Number of the match of each module, by side and id."""
    numbers: tuple[dict[int | None, Hashable], dict[int | None, Hashable]] = ({}, {})
    for number, match in enumerate(matches):
        for side, row in enumerate(rows_of(base, other, match)):
            if row is not None:
                numbers[side][row.id] = number
    return numbers


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
