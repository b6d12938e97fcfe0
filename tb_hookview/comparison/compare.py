"""Changes between two reports. All numbers are per step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tb_hookview.comparison.pairing import RowPair, pair_modules, same_place
from tb_hookview.comparison.sides import (
    StepMeans,
    on_both,
    pair,
    row_id,
    rows_of,
    spread_pair,
    status_of,
    totals,
)
from tb_hookview.comparison.tables import (
    finding_changes,
    kernel_changes,
    memory_changes,
    sync_changes,
)
from tb_hookview.schema import Comparison, Module, ModuleChange, Pair, ReportData, Side, own_syncs

PHASES = ("forward", "backward", "optimizer", "data", "other")
SPREAD = (
    "duration_us",
    *(f"{phase}_us" for phase in PHASES),
    "device_busy_us",
    "device_idle_us",
    "sync_blocked_us",
)
"""Fields of steps of which the spread is compared."""


def compare(base: ReportData, other: ReportData) -> Comparison:
    """Join two reports on measured steps (`Report.counted`); what changed most comes first.

    `compare(b, a)` is `compare(a, b)` with its sides exchanged; rows that changed equally may
    come in another order.
    """
    both_device = base.coverage.measure == other.coverage.measure == "device"
    measure = "device" if both_device else "host"
    left, right = StepMeans(base, measure), StepMeans(other, measure)
    matches = pair_modules(base.modules, other.modules)
    step = totals(left, right, lambda r: r.mean("duration_us"))
    return Comparison(
        schema=1,
        measure=measure,
        base=_side(base),
        other=_side(other),
        step_us=step,
        forward_us=totals(left, right, StepMeans.forward),
        backward_us=totals(left, right, StepMeans.backward),
        backward_unattributed_us=totals(left, right, StepMeans.unattributed),
        syncs=totals(left, right, lambda r: r.per_step(len(own_syncs(r.report.syncs)))),
        sync_blocked_us=totals(left, right, lambda r: r.per_step(_blocked_us(r.report))),
        modules=_modules(left, right, matches),
        speedup=step.base / step.other if step.base and step.other else None,
        phases_us={phase: _mean(left, right, f"{phase}_us") for phase in PHASES},
        device_busy_us=_mean(left, right, "device_busy_us"),
        device_idle_us=_mean(left, right, "device_idle_us"),
        idle_us=_idle(left, right),
        device_us_by_kind=_by_kind(left.by_kind(), right.by_kind()),
        sync_sites=sync_changes(left, right, matches),
        kernels=kernel_changes(left, right),
        kernels_omitted_us=totals(left, right, StepMeans.omitted_kernels),
        findings=finding_changes(left, right, matches),
        spread={field: spread_pair(left, right, field) for field in SPREAD},
        memory=memory_changes(base, other),
    )


def _side(report: ReportData) -> Side:
    names, means = [step.name for step in report.steps], report.per_step
    return Side(report.trace.path, len(names), names, of=means.of, text=means.text)


def _blocked_us(report: ReportData) -> float:
    return sum(sync.duration_us for sync in own_syncs(report.syncs))


def _mean(left: StepMeans, right: StepMeans, field: str) -> Pair:
    return totals(left, right, lambda reading: reading.mean(field))


def _idle(left: StepMeans, right: StepMeans) -> dict[str, Pair]:
    sides = left.idle(), right.idle()
    causes = dict.fromkeys(cause for side in sides for cause in side or {})
    return {cause: pair(*(side[cause] if side else None for side in sides)) for cause in causes}


def _by_kind(base: Mapping[str, float], other: Mapping[str, float]) -> dict[str, Pair]:
    kinds = dict.fromkeys([*base, *other])
    return {kind: pair(base.get(kind, 0.0), other.get(kind, 0.0)) for kind in kinds}


def _modules(left: StepMeans, right: StepMeans, matches: Sequence[RowPair]) -> list[ModuleChange]:
    base, other = left.report.modules, right.report.modules
    changes = [_module(left, right, *rows_of(base, other, match)) for match in matches]
    return sorted(changes, key=lambda module: (module.status == "same", -module.effect_us))


def _module(
    left: StepMeans, right: StepMeans, base: Module | None, other: Module | None
) -> ModuleChange:
    present = other or base
    assert present is not None  # a match has a row on one side at least

    def both(number: Callable[[StepMeans, Module], float | None]) -> Pair:
        return on_both(left, right, base, other, number)

    before, after = base.id if base else None, other.id if other else None
    forward = both(lambda r, m: r.work(m.forward))
    backward = both(lambda r, m: r.work(m.backward))
    syncs = both(lambda r, m: r.per_step(m.sync.count))
    blocked = both(lambda r, m: r.per_step(m.sync.blocked_us))
    moved = base is not None and other is not None and not same_place(base, other)
    return ModuleChange(
        id=row_id(before, after),
        base_id=before,
        other_id=after,
        path=present.path,
        module_class=present.module_class,
        status=status_of(base, other, moved=moved, pairs=(forward, backward, syncs, blocked)),
        forward_us=forward,
        backward_us=backward,
        syncs=syncs,
        sync_blocked_us=blocked,
        sync_idle_us=both(lambda r, m: r.per_step(m.sync.device_idle_us)),
        base_path=None if base is None else base.path,
        other_path=None if other is None else other.path,
    )
