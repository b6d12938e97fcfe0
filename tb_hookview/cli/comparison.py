"""What changed between two reports, module by module. All numbers are per step."""

from __future__ import annotations

from typing import Literal

import msgspec

from tb_hookview.analysis.schema import Module, ReportData, Work
from tb_hookview.analysis.sync_table import own_syncs

Status = Literal["appeared", "vanished", "changed", "same"]


class Pair(msgspec.Struct, frozen=True):
    """One number on both sides; None where a side does not hold it."""

    base: float | None
    other: float | None
    change: float | None


class ModuleChange(msgspec.Struct, frozen=True, rename={"module_class": "class"}):
    """One module, its own work without that of the modules below it."""

    path: str
    module_class: str
    status: Status
    forward_us: Pair
    backward_us: Pair
    syncs: Pair
    sync_blocked_us: Pair

    @property
    def effect_us(self) -> float:
        """How much the module's own forward and backward changed together, in microseconds."""
        return abs((self.forward_us.change or 0.0) + (self.backward_us.change or 0.0))


class Side(msgspec.Struct, frozen=True):
    """Which trace a side of the comparison is."""

    path: str
    steps: int


class Comparison(msgspec.Struct, frozen=True):
    """The difference of two reports."""

    schema: int
    measure: str
    """ "device" where both traces hold the device time of their backward pass, else "host"."""
    base: Side
    other: Side
    step_us: Pair
    forward_us: Pair
    backward_us: Pair
    backward_unattributed_us: Pair
    syncs: Pair
    sync_blocked_us: Pair
    modules: list[ModuleChange]
    """Those that changed most first."""


class _Reading:
    """One report's numbers per step, in the measure both sides share."""

    def __init__(self, report: ReportData, measure: str) -> None:
        self.report = report
        self.measure = measure
        self.steps = max(len(report.steps), 1)
        self.modules = {module.path: module for module in report.modules}

    def per_step(self, value: float | None) -> float | None:
        return None if value is None else value / self.steps

    def work(self, work: Work | None) -> float | None:
        if work is None:
            return None
        return self.per_step(work.self_device_us if self.measure == "device" else work.self_host_us)

    def backward(self) -> float | None:
        coverage = self.report.coverage
        device = self.measure == "device"
        return self.per_step(coverage.backward_device_us if device else coverage.backward_host_us)

    def unattributed(self) -> float | None:
        coverage = self.report.coverage
        device = self.measure == "device"
        return self.per_step(coverage.unattributed_us if device else coverage.unattributed_host_us)

    def forward(self) -> float | None:
        if self.measure == "device":
            return self.per_step(self.report.totals.forward_device_us)
        return self.per_step(sum(step.forward_us for step in self.report.steps))


def compare(base: ReportData, other: ReportData) -> Comparison:
    """Join two reports by module path; modules with the largest change in time come first."""
    both_device = base.coverage.measure == other.coverage.measure == "device"
    measure = "device" if both_device else "host"
    left, right = _Reading(base, measure), _Reading(other, measure)
    paths = dict.fromkeys([*left.modules, *right.modules])
    modules = [_module(left, right, path) for path in paths]
    return Comparison(
        schema=1,
        measure=measure,
        base=Side(base.trace.path, len(base.steps)),
        other=Side(other.trace.path, len(other.steps)),
        step_us=_pair(
            *(r.per_step(sum(s.duration_us for s in r.report.steps)) for r in (left, right))
        ),
        forward_us=_pair(left.forward(), right.forward()),
        backward_us=_pair(left.backward(), right.backward()),
        backward_unattributed_us=_pair(left.unattributed(), right.unattributed()),
        syncs=_pair(*(r.per_step(len(own_syncs(r.report.syncs))) for r in (left, right))),
        sync_blocked_us=_pair(
            *(
                r.per_step(sum(sync.duration_us for sync in own_syncs(r.report.syncs)))
                for r in (left, right)
            )
        ),
        modules=sorted(modules, key=lambda module: (module.status == "same", -module.effect_us)),
    )


def _blocked_us(report: ReportData) -> float:
    return sum(sync.duration_us for sync in own_syncs(report.syncs))


def _module(left: _Reading, right: _Reading, path: str) -> ModuleChange:
    base, other = left.modules.get(path), right.modules.get(path)
    present = other or base
    assert present is not None  # the path came from one of the two
    sides = ((left, base), (right, other))
    forward = _pair(*(r.work(m.forward if m else None) for r, m in sides))
    backward = _pair(*(r.work(m.backward if m else None) for r, m in sides))
    syncs = _pair(*(r.per_step(m.sync.count if m else None) for r, m in sides))
    blocked = _pair(*(r.per_step(m.sync.blocked_us if m else None) for r, m in sides))
    changes = (forward.change, backward.change, syncs.change, blocked.change)
    return ModuleChange(
        path=path,
        module_class=present.module_class,
        status=_status(base, other, changed=any(changes)),
        forward_us=forward,
        backward_us=backward,
        syncs=syncs,
        sync_blocked_us=blocked,
    )


def _status(base: Module | None, other: Module | None, *, changed: bool) -> Status:
    if base is None:
        return "appeared"
    if other is None:
        return "vanished"
    return "changed" if changed else "same"


def _pair(base: float | None, other: float | None) -> Pair:
    # A module that is only on one side costs nothing on the other, so its change is its cost.
    change = None if base is None and other is None else (other or 0.0) - (base or 0.0)
    return Pair(base, other, change)
