"""Rows of two reports paired, and numbers of both sides with their spread over steps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from statistics import median
from typing import Any, TypeVar

import msgspec

from tb_hookview.schema import Module, Pair, ReportData, Spread, SpreadPair, Status, Work

# Pairs of rows of two reports that are the same row.


Row = TypeVar("Row")
RowPair = tuple[int | None, int | None]
"""Index of a row on the base's side and on the other's; None where it has no partner."""
Keys = Callable[[Sequence[Row]], Sequence[Hashable | None]]
"""The key of each of some rows, by which it finds its partner; None for none."""

WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Parts of a path that data parallelism, compilation or checkpoints put in, not the model."""


def pair_up(base: Sequence[Row], other: Sequence[Row], keys: Sequence[Keys[Row]]) -> list[RowPair]:
    """Match rows of two tables by keys, the surest first.

    Every row is in exactly one match. Two rows match by a key that no other row without a partner
    has, on either side.
    """
    partner: dict[int, int] = {}
    left, right = list(range(len(base))), list(range(len(other)))
    for key in keys:
        mine = _unique(left, key([base[index] for index in left]))
        theirs = _unique(right, key([other[index] for index in right]))
        partner |= {mine[k]: theirs[k] for k in mine if k in theirs}
        left = [index for index in left if index not in partner]
        taken = set(partner.values())
        right = [index for index in right if index not in taken]
    matched: list[RowPair] = [(index, partner.get(index)) for index in range(len(base))]
    return [*matched, *((None, index) for index in right)]


def pair_modules(base: Sequence[Module], other: Sequence[Module]) -> list[RowPair]:
    """Match modules by path and class, class and order, path end, path.

    Only labels of Python stacks (`Linear_3`) are matched by order: their numbers begin at 0 in
    every process. Of paths the longest end counts that names one module on each side, so that a
    model is matched below `DistributedDataParallel` or in another model, too.
    """
    depth = max((len(_parts(module.path)) for module in [*base, *other]), default=0)
    keys: list[Keys[Module]] = [
        each(lambda module: (module.path, module.module_class)),
        _by_order,
        each(lambda m: None if _is_label(m) else (m.module_class, _parts(m.path))),
        *(_by_end(length) for length in range(depth, 0, -1)),
        each(lambda module: module.path),
    ]
    return pair_up(base, other, keys)


def _by_order(modules: Sequence[Module]) -> list[Hashable | None]:
    numbers = _count(module.module_class if _is_label(module) else None for module in modules)
    return [
        (module.module_class, number) if _is_label(module) else None
        for module, number in zip(modules, numbers, strict=True)
    ]


def _by_end(length: int) -> Keys[Module]:
    def key(module: Module) -> Hashable | None:
        end = () if _is_label(module) else _parts(module.path)[-length:]
        # An end of numbers alone names no more than the index in a list.
        named = len(end) == length and not all(part.isdigit() for part in end)
        return (module.module_class, end) if named else None

    return each(key)


def same_place(base: Module, other: Module) -> bool:
    """Whether two matched modules have the same path, apart from label numbers."""
    labels = _is_label(base) and _is_label(other)
    return labels or _parts(base.path) == _parts(other.path)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split(".") if part and part not in WRAPPERS)


def _is_label(module: Module) -> bool:
    return re.fullmatch(re.escape(module.module_class) + r"_\d+", module.path) is not None


def _count(names: Iterator[str | None]) -> Iterator[int]:
    """Number of times that each name was there before."""
    seen: Counter[str | None] = Counter()
    for name in names:
        yield seen[name]
        seen[name] += 1


def _unique(indices: Sequence[int], keys: Sequence[Hashable | None]) -> dict[Hashable, int]:
    often = Counter(keys)
    return {
        key: index
        for index, key in zip(indices, keys, strict=True)
        if key is not None and often[key] == 1
    }


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
        return _all_known([getattr(step, field) for step in self.report.steps])

    def mean(self, field: str) -> float | None:
        """Mean of a number of the steps; None where a step does not hold it."""
        values = self.values(field)
        return sum(values) / self.steps if values else None

    def idle(self) -> dict[str, float | None] | None:
        """Mean idle time of the devices by cause; None where a step lacks it."""
        parts = [msgspec.structs.asdict(step.idle) for step in self.report.steps if step.idle]
        if not parts or len(parts) < len(self.report.steps):
            return None
        each = {cause: _all_known([part[cause] for part in parts]) for cause in parts[0]}
        return {cause: self.per_step(sum(us)) if us else None for cause, us in each.items()}

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

    def syncs(self) -> float | None:
        """Syncs per step, without the profiler's own; None where they are unknown."""
        own = self.report.totals.own_syncs()
        return own and self.per_step(own[0])

    def blocked(self) -> float | None:
        """Sum of their durations, microseconds per step."""
        own = self.report.totals.own_syncs()
        return own and self.per_step(own[1])

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
    return None if left is None else base[left], None if right is None else other[right]


def ids(base: Any, other: Any) -> dict[str, Any]:
    """Ids of a row of the comparison: its own, and those of its rows in both reports."""
    found = tuple(None if row is None else row.id for row in (base, other))
    whole = "|".join("" if number is None else str(number) for number in found)
    return {"id": whole, "base_id": found[0], "other_id": found[1]}


def each(key: Callable[[Row], Hashable | None]) -> Keys[Row]:
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


def _all_known(numbers: Sequence[float | None]) -> list[float]:
    """The numbers; none where one of them is unknown."""
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(numbers) else []


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
