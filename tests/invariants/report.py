"""Sums, orders and numbers of a report that are numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from invariants.case import Case
from invariants.registry import invariant

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.modules.attribution import REASONS
from tb_hookview.schema import ReportData

NEAR = 1e-3
"""Sums of exact nanoseconds, each divided into microseconds: off by far less than this."""
SHARE = 1e-9
"""The same where the times themselves are absurd, and floats hold no microsecond of them."""


def near(value: Any) -> Any:
    return pytest.approx(value, abs=NEAR, rel=SHARE)


def at_most(value: float) -> float:
    return value + max(NEAR, SHARE * abs(value))


@invariant()
def backward_host_time_is_that_of_modules_and_of_nodes(case: Case) -> None:
    coverage = case.data.coverage
    modules = sum(m.backward.self_host_us or 0.0 for m in case.data.modules)
    assert modules + (coverage.unattributed_host_us or 0) == near(coverage.backward_host_us or 0)
    assert sum(n.host_us for n in case.data.nodes) == near(coverage.backward_host_us or 0)


@invariant()
def backward_device_time_is_that_of_modules_and_of_nodes(case: Case) -> None:
    data, coverage = case.data, case.data.coverage
    assert coverage.backward_device_us == data.totals.backward_device_us
    if coverage.backward_device_us is None:
        assert all(m.backward.device_us is None for m in data.modules)
        return
    modules = sum(m.backward.self_device_us or 0.0 for m in data.modules)
    assert modules + (coverage.unattributed_us or 0.0) == near(coverage.backward_device_us)
    nodes = sum(n.device_us or 0.0 for n in data.nodes)
    outside = coverage.unattributed_by_reason.get(REASONS[-1], 0.0)
    assert nodes + outside == near(coverage.backward_device_us)


@invariant()
def evidence_and_reasons_cover_the_backward(case: Case) -> None:
    coverage = case.data.coverage
    if coverage.backward_device_us is not None:
        known = sum(coverage.by_evidence.values())
        measured = coverage.backward_device_us or coverage.backward_host_us or 0
        assert known + sum(coverage.unattributed_by_reason.values()) == near(measured)


@invariant()
def a_module_s_time_is_its_own_and_that_of_its_children(case: Case) -> None:
    modules = case.data.modules
    place = {module.path: index for index, module in enumerate(modules)}
    assert len(place) == len(modules)
    children: dict[str | None, float] = {}
    for module in modules:
        children[module.parent] = children.get(module.parent, 0) + (module.backward.host_us or 0)
        if module.parent is not None:
            assert place[module.parent] < place[module.path]
    for module in modules:
        own, all_of_it = module.backward.self_host_us, module.backward.host_us
        if own is None:
            assert all_of_it is None, module.path
        else:
            assert all_of_it == near(own + children.get(module.path, 0.0)), module.path


@invariant()
def phases_of_a_step_sum_to_it_and_causes_to_its_idle_time(case: Case) -> None:
    for step in case.data.steps:
        named = (step.forward_us, step.backward_us, step.optimizer_us, step.data_us)
        phases = [*(phase or 0.0 for phase in named), step.other_us]  # unknown: then in other_us
        assert min(phases) >= 0
        assert sum(phases) == near(step.duration_us), step.name
        assert (step.idle is None) == (step.device_idle_us is None)
        if step.idle is not None:
            causes = [part or 0.0 for part in msgspec.structs.astuple(step.idle)]
            assert min(causes) >= 0
            assert sum(causes) == near(step.device_idle_us), step.name


@invariant()
def totals_of_syncs_are_those_of_their_rows(case: Case) -> None:
    data = case.data
    if data.totals.sync_count is None:
        assert not data.syncs
        return
    assert data.totals.sync_count == len(data.syncs)
    assert data.totals.sync_blocked_us == near(sum(sync.duration_us for sync in data.syncs))
    assert all(sync.duration_us >= 0 for sync in data.syncs)
    gaps = [sync.device_idle_us for sync in data.syncs if sync.device_idle_us is not None]
    assert all(0 <= gap <= data.trace.duration_us for gap in gaps)


@invariant()
def kinds_sum_to_the_device_time_of_modules(case: Case) -> None:
    for module in case.data.modules:
        for work in (module.forward, module.backward, module.recompute):
            if work is None or work.by_kind is None:
                assert work is None or work.device_us is None
                continue
            assert sum(work.by_kind.values()) == near(work.device_us), module.path
            assert 0 <= (work.tensor_core_us or 0.0) <= (work.device_us or 0.0)
            assert work.communication_us == work.by_kind.get("communication", 0.0)
            assert work.compute_us + work.communication_us == near(work.device_us), module.path


@invariant()
def compute_of_modules_sums_to_that_of_the_backward(case: Case) -> None:
    coverage = case.data.coverage
    for device in (True, False):
        own = sum(module.backward.own(device=device) or 0.0 for module in case.data.modules)
        whole, rest = coverage.total(device=device), coverage.unattributed(device=device)
        if whole is not None and rest is not None:
            assert own + rest == near(whole)


@invariant()
def kinds_of_all_device_time_have_parts_of_it(case: Case) -> None:
    totals, coverage = case.data.totals, case.data.coverage
    everything = sum(totals.device_us_by_kind.values())
    # A kind without any time is left out, so that work which took none is in no kind.
    assert not totals.device_us_by_kind or totals.communication_device_us is not None
    tensor_cores = (totals.tensor_core_us or 0) + (totals.tensor_core_unknown_us or 0)
    assert tensor_cores <= at_most(everything)
    if coverage.communication_device_us is not None:
        assert coverage.communication_device_us <= at_most(totals.communication_device_us)
        assert coverage.unattributed_communication_us <= at_most(coverage.unattributed_us)


@invariant()
def kernels_hold_every_device_event_once(case: Case) -> None:
    data, omitted = case.data, case.data.kernels_omitted
    by_kind: dict[str, float] = {}
    for kernel in data.kernels:
        by_kind[kernel.kind] = by_kind.get(kernel.kind, 0.0) + kernel.total_us
        assert sum(kernel.by_phase.values()) <= at_most(kernel.total_us)
        assert kernel.mean_us <= at_most(kernel.max_us)
    assert data.kernels == sorted(data.kernels, key=lambda kernel: -kernel.total_us)
    assert len({(k.name, k.event, k.kind) for k in data.kernels}) == len(data.kernels)
    if omitted is None:
        spent = {kind: time for kind, time in by_kind.items() if time}
        assert spent == near(data.totals.device_us_by_kind)
    listed = sum(by_kind.values()) + _omitted_us(data)
    assert listed == near(sum(data.totals.device_us_by_kind.values()))


@invariant()
def operators_have_no_more_self_time_than_time(case: Case) -> None:
    if _rows_cross(case.analysis):
        return
    for row in case.data.operators:
        assert row.calls > 0
        assert 0 <= row.self_host_us <= at_most(row.host_us), row.name
        if row.device_us is not None:
            assert 0 <= (row.self_device_us or 0.0) <= at_most(row.device_us), row.name
    own = sum(row.self_device_us or 0.0 for row in case.data.operators)
    assert own <= at_most(sum(row.total_us for row in case.data.kernels) + _omitted_us(case.data))


def _omitted_us(data: ReportData) -> float:
    return data.kernels_omitted.total_us if data.kernels_omitted else 0.0


@invariant()
def breakdowns_of_steps_sum_to_them(case: Case) -> None:
    for row in case.data.breakdown:
        parts = (row.kernel_us, row.copy_us, row.set_us, row.communication_us, row.runtime_us)
        rest = (row.data_us, row.host_us, row.other_us)
        assert min(*parts, *rest) >= 0
        assert sum(parts) + sum(rest) == near(row.duration_us)


@invariant()
def times_and_shares_of_devices_are_within_their_bounds(case: Case) -> None:
    data = case.data
    assert [row.device for row in data.devices] == list(data.totals.device_busy_us)
    for device in data.devices:
        either = device.compute_us + device.communication_us - device.overlapped_us
        assert either <= at_most(device.busy_us)
        assert device.busy_us <= at_most(device.span_us)
        assert device.busy_us == near(data.totals.device_busy_us[device.device])
        assert device.tensor_core_us <= at_most(device.kernel_us)
        eligible = device.tensor_core_eligible_us
        if eligible is not None:
            assert device.tensor_core_us <= at_most(eligible) <= at_most(device.kernel_us)
        shares = (device.utilization or 0.0, device.sm_efficiency or 0.0)
        assert all(0 <= share <= 1 for share in shares)
        assert 0 <= (device.occupancy_pct or 0.0) <= 100


@invariant()
def streams_count_what_kernels_count(case: Case) -> None:
    omitted = case.data.kernels_omitted.count if case.data.kernels_omitted else 0
    kernels = sum(kernel.count for kernel in case.data.kernels)
    assert sum(row.count for row in case.data.streams) == omitted + kernels


@invariant()
def phases_of_a_thread_sum_to_its_busy_time(case: Case) -> None:
    data = case.data
    for thread in data.threads:
        assert sum(thread.by_phase.values()) == near(thread.busy_us), thread.thread
        assert (thread.blocked_us or 0.0) <= at_most(thread.busy_us)
        assert thread.busy_us <= at_most(data.trace.duration_us)
    waiting = {sync.thread for sync in data.syncs if sync.duration_us}
    assert waiting <= {thread.thread for thread in data.threads}


@invariant()
def some_thread_spends_what_a_phase_takes_of_the_steps(case: Case) -> None:
    analysis = case.analysis
    on_device = analysis.host.device_threads[analysis.call_tree.thread].any()
    if _rows_cross(analysis) or on_device:
        return
    spent: dict[str, float] = {}
    for thread in case.data.threads:
        for phase, time in thread.by_phase.items():
            spent[phase] = spent.get(phase, 0.0) + time
    for phase in ("forward", "backward", "optimizer", "data"):
        in_steps = sum(getattr(step, f"{phase}_us") or 0.0 for step in case.data.steps)
        assert in_steps <= at_most(spent.get(phase, 0.0)), phase


def _rows_cross(analysis: Analysis) -> bool:
    """Say whether a row of the host ends after the row it began in: whose time is that?"""
    call_tree = analysis.call_tree
    inside = call_tree.parent >= 0
    return bool((call_tree.end[inside] > call_tree.end[call_tree.parent[inside]]).any())


@invariant()
def numbers_are_finite(case: Case) -> None:
    """As JSON they would be null: an unknown that nobody counted."""
    assert list(_not_finite(msgspec.to_builtins(case.data), "report")) == []


def _not_finite(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, float):
        if not math.isfinite(value):
            yield place
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _not_finite(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _not_finite(inner, f"{place}[{number}]")
