"""Findings of two reports that are the same: gone, new, or of another cost."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from msgspec import Struct

from tb_hookview.comparison.sides import (
    Keys,
    RowPair,
    StepMeans,
    each,
    module_numbers,
    on_both,
    pair_rows,
    row_id,
    status_of,
)
from tb_hookview.schema import BelowLimit, Finding, FindingChange, Pair

_AS_COSTLY = 0.75
"""Share of a finding's cost from which what is below its limit in the other trace costs as much:
runs of one program differ by less."""


class _Found(Struct, frozen=True):
    """A finding, or what is below a rule's limit."""

    row: Finding | BelowLimit
    module: Hashable
    """The number of its module's match; None where there is no module."""

    @property
    def finding(self) -> Finding | None:
        return self.row if isinstance(self.row, Finding) else None

    def costs_as(self, other: _Found | None) -> bool:
        """Whether it is a finding, or costs about as much as one of the other side."""
        if isinstance(self.row, Finding) or other is None:
            return True
        cost = self.row.cost_us_per_step + self.row.elsewhere_us_per_step
        return cost >= _AS_COSTLY * (other.row.cost_us_per_step or 0.0)


_FOUND_AGAIN: list[Keys[_Found]] = [
    each(lambda found: (found.row.rule, found.row.where, found.row.id)),
    each(lambda found: None if found.module is None else (found.row.rule, found.module)),
    each(lambda found: found.row.rule),
]


def finding_changes(
    left: StepMeans, right: StepMeans, modules: Sequence[RowPair]
) -> list[FindingChange]:
    """Match findings by rule and place, then by rule and module, then by rule.

    Of several of one rule and place the number in their ids tells which is which. Findings without
    a partner are matched with what is below a limit on the other side in the same way.
    """
    numbers = module_numbers(left.report.modules, right.report.modules, modules)
    sides = list(zip((left.report, right.report), numbers, strict=True))
    before, after = (_found(side.findings, known) for side, known in sides)
    found = pair_rows(before, after, _FOUND_AGAIN)
    low = [_found(side.below_limits, known) for side, known in sides]
    gone = [base for base, other in found if base and not other]
    new = [other for base, other in found if other and not base]
    rows = [row for row in found if all(row)]
    rows += [
        (base, other)
        for base, other in pair_rows([*gone, *low[0]], [*new, *low[1]], _FOUND_AGAIN)
        if (base and base.finding) or (other and other.finding)
    ]
    changes = [_finding_change(left, right, *row) for row in rows]
    return sorted(changes, key=lambda row: -abs(row.cost_us.change or 0.0))


def _found(
    rows: Sequence[Finding | BelowLimit], numbers: dict[int | None, Hashable]
) -> list[_Found]:
    return [_Found(row, numbers.get(row.module_id)) for row in rows]


def _finding_change(
    left: StepMeans, right: StepMeans, base: _Found | None, other: _Found | None
) -> FindingChange:
    before, after = (side.finding if side else None for side in (base, other))
    present = after or before
    assert present is not None  # a match has a finding on one side at least

    def both(number: Callable[[_Found], float | None]) -> Pair:
        return on_both(left, right, base, other, lambda _, found: number(found))

    cost = both(lambda found: found.row.cost_us_per_step)
    gain = both(lambda one: one.finding.gain_us_per_step if one.finding else None)
    once = both(lambda one: one.finding.once_us if one.finding else None)
    stayed = bool(base and other and base.row.where == other.row.where)
    known = (
        base if base and base.costs_as(other) else None,
        other if other and other.costs_as(base) else None,
    )
    before_id, after_id = before.id if before else None, after.id if after else None
    return FindingChange(
        id=row_id(before_id, after_id),
        base_id=before_id,
        other_id=after_id,
        rule=present.rule,
        title=present.title,
        fix=present.fix,
        status=status_of(*known, moved=not stayed, pairs=(cost, gain)),
        base_where=before.where if before else None,
        other_where=after.where if after else None,
        base_module=before.module if before else None,
        base_module_id=before.module_id if before else None,
        other_module=after.module if after else None,
        other_module_id=after.module_id if after else None,
        cost_us=cost,
        gain_us=gain,
        once_us=once,
    )
