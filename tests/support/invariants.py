"""What holds in every report, whatever the trace: sums, orders and numbers that are numbers."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData

NEAR = 1e-3
"""Sums of exact nanoseconds, each divided into microseconds: off by far less than this."""
SHARE = 1e-9
"""The same where the times themselves are absurd, and floats hold no microsecond of them."""


def near(value: Any) -> Any:
    return pytest.approx(value, abs=NEAR, rel=SHARE)


def at_most(value: float) -> float:
    return value + max(NEAR, SHARE * abs(value))


def check(analysis: Analysis) -> ReportData:
    """Build the report of a trace and hold it against all that must be true of any."""
    report = build_report(analysis)
    data = report.data
    check_backward(data)
    check_totals_of_modules(data)
    check_steps(data)
    check_idle(analysis)
    check_syncs(data)
    check_devices(data)
    check_threads(data)
    if not _rows_cross(analysis):
        check_operators(data)
        if not analysis.host.device_threads[analysis.call_tree.thread].any():
            check_phases_of_threads(data)
    check_kinds(data)
    check_kernels(data)
    check_finite(json.loads(report.to_json()))
    return data


def check_backward(data: ReportData) -> None:
    coverage, modules = data.coverage, data.modules
    host = sum(m.backward.self_host_us or 0.0 for m in modules)
    assert host + coverage.unattributed_host_us == near(coverage.backward_host_us)
    assert sum(n.host_us for n in data.nodes) == near(coverage.backward_host_us)
    assert coverage.backward_device_us == data.totals.backward_device_us
    if coverage.backward_device_us is None:
        assert all(m.backward.device_us is None for m in modules)
        return
    device = sum(m.backward.self_device_us or 0.0 for m in modules)
    total = device + (coverage.unattributed_us or 0.0)
    assert total == near(coverage.backward_device_us)
    nodes = sum(node.device_us or 0.0 for node in data.nodes)
    assert nodes == near(coverage.backward_device_us)
    known = sum(coverage.by_evidence.values()) + sum(coverage.unattributed_by_reason.values())
    measured = coverage.backward_device_us or coverage.backward_host_us
    assert known == near(measured)


def check_totals_of_modules(data: ReportData) -> None:
    """A module's time is its own plus that of the modules directly below it."""
    place = {module.path: index for index, module in enumerate(data.modules)}
    assert len(place) == len(data.modules)
    below: dict[str | None, float] = {}
    for module in data.modules:
        below[module.parent] = below.get(module.parent, 0.0) + (module.backward.host_us or 0.0)
        if module.parent is not None:
            assert place[module.parent] < place[module.path]
    for module in data.modules:
        own = module.backward.self_host_us or 0.0
        assert module.backward.host_us == near(own + below.get(module.path, 0.0))


def check_steps(data: ReportData) -> None:
    for step in data.steps:
        forward = 0.0 if step.forward_us is None else step.forward_us  # unknown: then in other_us
        phases = (forward, step.backward_us, step.optimizer_us, step.data_us, step.other_us)
        assert min(phases) >= 0
        assert sum(phases) == near(step.duration_us)
        assert (step.idle is None) == (step.device_idle_us is None)
        if step.idle is not None:
            causes = msgspec.structs.astuple(step.idle)
            assert min(causes) >= 0
            assert sum(causes) == near(step.device_idle_us)


def check_idle(analysis: Analysis) -> None:
    """Nanoseconds: the parts of idle time, each device's gaps, and what waits are billed."""
    gaps, work, windows = analysis.gaps, analysis.device_events, analysis.steps.window
    devices = np.unique(work.device)
    idle = (windows[:, 1] - windows[:, 0]) * len(devices)
    for device in devices:
        mine, busy = gaps.device == device, work.device == device
        assert (gaps.start[mine] < gaps.end[mine]).all()
        assert (gaps.end[mine][:-1] <= gaps.start[mine][1:]).all()
        time = intervals.of(work.start[busy], work.end[busy])
        assert not len(intervals.intersect(time, intervals.of(gaps.start[mine], gaps.end[mine])))
        idle = idle - intervals.lengths_within(time, windows)
    assert np.array_equal(sum(gaps.within(windows).values()), idle)
    billed = gaps.by_sync(len(analysis.syncs))
    assert billed.sum() == gaps.duration[gaps.cause == Cause.SYNC].sum()
    assert (billed <= (analysis.syncs.end - analysis.syncs.start) * max(len(devices), 1)).all()
    assert not billed[analysis.syncs.by_profiler].any()


def check_syncs(data: ReportData) -> None:
    assert data.totals.sync_count == len(data.syncs)
    assert data.totals.sync_blocked_us == near(sum(sync.duration_us for sync in data.syncs))
    assert all(sync.duration_us >= 0 for sync in data.syncs)
    gaps = [sync.device_idle_us for sync in data.syncs if sync.device_idle_us is not None]
    assert all(0 <= gap <= data.trace.duration_us for gap in gaps)


def check_kinds(data: ReportData) -> None:
    """Kinds sum to the device time, of every module and direction and of the whole."""
    for module in data.modules:
        for work in (module.forward, module.backward, module.recompute):
            if work is None or work.by_kind is None:
                assert work is None or work.device_us is None
                continue
            assert sum(work.by_kind.values()) == near(work.device_us)
            assert 0 <= (work.tensor_core_us or 0.0) <= (work.device_us or 0.0)
    totals, coverage = data.totals, data.coverage
    everything = sum(totals.device_us_by_kind.values())
    # A kind without any time is left out, so that work which took none is in no kind.
    assert not totals.device_us_by_kind or totals.communication_device_us is not None
    assert (totals.tensor_core_us or 0) + (totals.tensor_core_unknown_us or 0) <= at_most(
        everything
    )
    if coverage.communication_device_us is not None:
        assert coverage.communication_device_us <= at_most(totals.communication_device_us)
        assert coverage.unattributed_communication_us <= at_most(coverage.unattributed_us)


def check_kernels(data: ReportData) -> None:
    """The table holds all device work, each piece once."""
    kernels, omitted = data.kernels, data.kernels_omitted
    by_kind: dict[str, float] = {}
    for kernel in kernels:
        by_kind[kernel.kind] = by_kind.get(kernel.kind, 0.0) + kernel.total_us
        assert sum(kernel.by_phase.values()) <= at_most(kernel.total_us)
        assert kernel.mean_us <= at_most(kernel.max_us)
    assert kernels == sorted(kernels, key=lambda kernel: -kernel.total_us)
    assert len({(k.name, k.event, k.kind) for k in kernels}) == len(kernels)
    if omitted is None:
        spent = {kind: time for kind, time in by_kind.items() if time}
        assert spent == near(data.totals.device_us_by_kind)
    listed = sum(by_kind.values()) + (omitted.total_us if omitted else 0.0)
    assert listed == near(sum(data.totals.device_us_by_kind.values()))


def check_operators(data: ReportData) -> None:
    for row in data.operators:
        assert row.calls > 0
        assert 0 <= row.self_host_us <= at_most(row.host_us)
        if row.device_us is not None:
            assert 0 <= (row.self_device_us or 0.0) <= at_most(row.device_us)
    own = sum(row.self_device_us or 0.0 for row in data.operators)
    assert own <= at_most(sum(row.total_us for row in data.kernels) + _omitted_us(data))


def _omitted_us(data: ReportData) -> float:
    return data.kernels_omitted.total_us if data.kernels_omitted else 0.0


def check_devices(data: ReportData) -> None:
    for row in data.breakdown:
        parts = (row.kernel_us, row.copy_us, row.set_us, row.communication_us, row.runtime_us)
        rest = (row.data_us, row.host_us, row.other_us)
        assert min(*parts, *rest) >= 0
        assert sum(parts) + sum(rest) == near(row.duration_us)
    assert [row.device for row in data.devices] == list(data.totals.device_busy_us)
    for device in data.devices:
        either = device.compute_us + device.communication_us - device.overlapped_us
        assert either <= at_most(device.busy_us)
        assert device.busy_us <= at_most(device.span_us)
        assert device.busy_us == near(data.totals.device_busy_us[device.device])
        assert device.tensor_core_us <= at_most(device.kernel_us)
        assert device.tensor_core_eligible_us <= at_most(device.kernel_us)
        shares = (device.utilization or 0.0, device.sm_efficiency or 0.0)
        assert all(0 <= share <= 1 for share in shares)
        assert 0 <= (device.occupancy_pct or 0.0) <= 100
    omitted = data.kernels_omitted.count if data.kernels_omitted else 0
    assert sum(row.count for row in data.streams) == omitted + sum(k.count for k in data.kernels)


def check_threads(data: ReportData) -> None:
    """Parts sum to the whole."""
    for thread in data.threads:
        assert sum(thread.by_phase.values()) == near(thread.busy_us)
        assert thread.blocked_us <= at_most(thread.busy_us)
        assert thread.busy_us <= at_most(data.trace.duration_us)
    waiting = {sync.thread for sync in data.syncs if sync.duration_us}
    assert waiting <= {thread.thread for thread in data.threads}


def check_phases_of_threads(data: ReportData) -> None:
    """What a phase takes of the steps, some thread spends in it."""
    spent: dict[str, float] = {}
    for thread in data.threads:
        for phase, time in thread.by_phase.items():
            spent[phase] = spent.get(phase, 0.0) + time
    for phase in ("forward", "backward", "optimizer", "data"):
        in_steps = sum(getattr(step, f"{phase}_us") or 0.0 for step in data.steps)
        assert in_steps <= at_most(spent.get(phase, 0.0))


def _rows_cross(analysis: Analysis) -> bool:
    """Say whether a row of the host ends behind the row it began in: whose time is that?"""
    call_tree = analysis.call_tree
    inside = call_tree.parent >= 0
    return bool((call_tree.end[inside] > call_tree.end[call_tree.parent[inside]]).any())


def check_finite(value: Any) -> None:
    if isinstance(value, float):
        assert math.isfinite(value)
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        check_finite(inner)
