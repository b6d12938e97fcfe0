"""The invariants of the report on every real trace that lies beside the checkout."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import shared_traces

from tb_hookview.analysis import Analysis, analyze, build_report, intervals, load
from tb_hookview.analysis.gaps import Cause
from tb_hookview.analysis.schema import ReportData

pytestmark = pytest.mark.skipif(
    not shared_traces.FOLDER.is_dir(), reason="no ../shared/traces beside the checkout"
)
NEAR = 1e-3
"""Sums of exact nanoseconds, each divided into microseconds: off by far less than this."""


@pytest.mark.parametrize("path", shared_traces.all_traces(), ids=lambda path: path.name)
def test_invariants(path: Path) -> None:
    analysis = load(path)
    report = build_report(analysis)
    data = report.data
    check_backward(data)
    check_totals_of_modules(data)
    check_steps(data)
    check_idle(analysis)
    check_syncs(data)
    check_operators(data)
    check_devices(data)
    check_threads(data)
    check_kinds(data)
    check_kernels(data)
    check_finite(json.loads(report.to_json()))


def check_backward(data: ReportData) -> None:
    coverage, modules = data.coverage, data.modules
    host = sum(m.backward.self_host_us or 0.0 for m in modules)
    assert host + coverage.unattributed_host_us == pytest.approx(
        coverage.backward_host_us, abs=NEAR
    )
    assert sum(n.host_us for n in data.nodes) == pytest.approx(coverage.backward_host_us, abs=NEAR)
    assert coverage.backward_device_us == data.totals.backward_device_us
    if coverage.backward_device_us is None:
        assert all(m.backward.device_us is None for m in modules)
        return
    device = sum(m.backward.self_device_us or 0.0 for m in modules)
    total = device + (coverage.unattributed_us or 0.0)
    assert total == pytest.approx(coverage.backward_device_us, abs=NEAR)
    nodes = sum(node.device_us or 0.0 for node in data.nodes)
    assert nodes == pytest.approx(coverage.backward_device_us, abs=NEAR)
    known = sum(coverage.by_evidence.values()) + sum(coverage.unattributed_by_reason.values())
    measured = coverage.backward_device_us or coverage.backward_host_us
    assert known == pytest.approx(measured, abs=NEAR)


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
        assert module.backward.host_us == pytest.approx(own + below.get(module.path, 0.0), abs=NEAR)


def check_steps(data: ReportData) -> None:
    for step in data.steps:
        phases = (step.forward_us, step.backward_us, step.optimizer_us, step.data_us, step.other_us)
        assert min(phases) >= 0
        assert sum(phases) == pytest.approx(step.duration_us, abs=NEAR)
        assert (step.idle is None) == (step.device_idle_us is None)
        if step.idle is not None:
            causes = msgspec.structs.astuple(step.idle)
            assert min(causes) >= 0
            assert sum(causes) == pytest.approx(step.device_idle_us, abs=NEAR)


def check_idle(analysis: Analysis) -> None:
    """Nanoseconds: the parts of idle time, each device's gaps, and what waits are billed."""
    gaps, work, windows = analysis.gaps, analysis.work, analysis.steps.window
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
    assert data.totals.sync_blocked_us == pytest.approx(
        sum(sync.duration_us for sync in data.syncs), abs=NEAR
    )
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
            assert sum(work.by_kind.values()) == pytest.approx(work.device_us, abs=NEAR)
            assert 0 <= (work.tensor_core_us or 0.0) <= (work.device_us or 0.0)
    totals, coverage = data.totals, data.coverage
    everything = sum(totals.device_us_by_kind.values())
    assert (totals.communication_device_us is None) == (not totals.device_us_by_kind)
    assert (totals.tensor_core_us or 0) + (totals.tensor_core_unknown_us or 0) <= everything + NEAR
    if coverage.communication_device_us is not None:
        assert coverage.communication_device_us <= totals.communication_device_us + NEAR
        assert coverage.unattributed_communication_us <= coverage.unattributed_us + NEAR


def check_kernels(data: ReportData) -> None:
    """The table holds all device work, each piece once."""
    kernels, omitted = data.kernels, data.kernels_omitted
    by_kind: dict[str, float] = {}
    for kernel in kernels:
        by_kind[kernel.kind] = by_kind.get(kernel.kind, 0.0) + kernel.total_us
        assert sum(kernel.by_phase.values()) <= kernel.total_us + NEAR
        assert kernel.mean_us <= kernel.max_us + NEAR
    assert kernels == sorted(kernels, key=lambda kernel: -kernel.total_us)
    assert len({(k.name, k.event, k.kind) for k in kernels}) == len(kernels)
    if omitted is None:
        assert by_kind == pytest.approx(data.totals.device_us_by_kind, abs=NEAR)
    listed = sum(by_kind.values()) + (omitted.total_us if omitted else 0.0)
    assert listed == pytest.approx(sum(data.totals.device_us_by_kind.values()), abs=NEAR)


def check_operators(data: ReportData) -> None:
    for row in data.operators:
        assert row.calls > 0
        assert 0 <= row.self_host_us <= row.host_us + NEAR
        if row.device_us is not None:
            assert 0 <= (row.self_device_us or 0.0) <= row.device_us + NEAR
    own = sum(row.self_device_us or 0.0 for row in data.operators)
    assert own <= sum(row.total_us for row in data.kernels) + _omitted_us(data) + NEAR


def _omitted_us(data: ReportData) -> float:
    return data.kernels_omitted.total_us if data.kernels_omitted else 0.0


def check_devices(data: ReportData) -> None:
    for row in data.breakdown:
        parts = (row.kernel_us, row.copy_us, row.set_us, row.communication_us, row.runtime_us)
        rest = (row.data_us, row.host_us, row.other_us)
        assert min(*parts, *rest) >= 0
        assert sum(parts) + sum(rest) == pytest.approx(row.duration_us, abs=NEAR)
    assert [row.device for row in data.devices] == list(data.totals.device_busy_us)
    for device in data.devices:
        either = device.compute_us + device.communication_us - device.overlapped_us
        assert either <= device.busy_us + NEAR
        assert device.busy_us <= device.span_us + NEAR
        assert device.busy_us == pytest.approx(data.totals.device_busy_us[device.device], abs=NEAR)
        assert device.tensor_core_us <= device.kernel_us + NEAR
        assert device.tensor_core_eligible_us <= device.kernel_us + NEAR
        shares = (device.utilization or 0.0, device.sm_efficiency or 0.0)
        assert all(0 <= share <= 1 for share in shares)
        assert 0 <= (device.occupancy_pct or 0.0) <= 100
    omitted = data.kernels_omitted.count if data.kernels_omitted else 0
    assert sum(row.count for row in data.streams) == omitted + sum(k.count for k in data.kernels)


def check_threads(data: ReportData) -> None:
    """Parts sum to the whole; what a phase takes of the steps, some thread spends in it."""
    spent: dict[str, float] = {}
    for thread in data.threads:
        assert sum(thread.by_phase.values()) == pytest.approx(thread.busy_us, abs=NEAR)
        assert thread.blocked_us <= thread.busy_us + NEAR
        assert thread.busy_us <= data.trace.duration_us + NEAR
        for phase, time in thread.by_phase.items():
            spent[phase] = spent.get(phase, 0.0) + time
    for phase in ("forward", "backward", "optimizer", "data"):
        in_steps = sum(getattr(step, f"{phase}_us") for step in data.steps)
        assert in_steps <= spent.get(phase, 0.0) + NEAR
    waiting = {sync.thread for sync in data.syncs if sync.duration_us}
    assert waiting <= {thread.thread for thread in data.threads}


def check_finite(value: Any) -> None:
    if isinstance(value, float):
        assert math.isfinite(value)
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        check_finite(inner)


def test_the_first_sample_of_the_predecessor() -> None:
    """Waits that torch_tb_profiler's samples are known to hold: 12 copies and the profiler's own."""
    path = shared_traces.shared_trace("kineto_resnet50_num_workers_0/worker0.1623143089861")
    data = analyze(path).data
    waits = [sync for sync in data.syncs if sync.cause != "profiler"]
    (own,) = [sync for sync in data.syncs if sync.cause == "profiler"]
    assert len(waits) == 12
    assert {sync.api for sync in waits} <= {"cudaStreamSynchronize", "cudaMemcpyAsync"}
    assert (own.api, own.duration_us) == ("cudaDeviceSynchronize", 16194.0)
    assert len(data.steps) == 6


def test_a_copy_that_holds_the_wait_itself() -> None:
    """A device-to-pageable copy of 147 ms: the synchronize after it took microseconds."""
    path = shared_traces.shared_trace("hta_a100_cuda_graphs_rank0")
    waits = [sync for sync in analyze(path).syncs if sync.cause != "profiler"]
    longest = max(waits, key=lambda sync: sync.duration_us)
    assert (longest.api, longest.operator) == ("cudaMemcpyAsync", "aten::copy_")
    assert longest.duration_us == pytest.approx(146_947, abs=1)


def test_recomputation_is_told_apart_in_a_checkpointed_resnet() -> None:
    path = shared_traces.shared_trace("tracelens_mi300_resnet_checkpointing_ddp")
    data = analyze(path).data
    recomputed = [module for module in data.modules if module.recompute is not None]
    assert recomputed
    assert data.coverage.by_evidence["recompute"] > 0
    assert data.coverage.by_evidence["python_stack"] > 0


def test_a_checkpointed_data_parallel_backward_is_attributed_without_our_recorder() -> None:
    """All but the loss, which ran in no module; the all-reduce of gradients is told apart."""
    coverage = analyze(shared_traces.shared_trace("tracelens_mi300_resnet_checkpointing_ddp"))
    coverage = coverage.data.coverage
    computed = coverage.backward_device_us - coverage.communication_device_us
    missing = coverage.unattributed_us - coverage.unattributed_communication_us
    assert coverage.communication_device_us > 0.5 * coverage.backward_device_us
    assert missing < 0.01 * computed


def test_reports_of_single_steps_sum_to_the_whole() -> None:
    made = load(shared_traces.shared_trace("hta_a100_nccl_training"))
    whole = build_report(made).data
    parts = [build_report(made, [step.name]).data for step in whole.steps]
    host = sum(part.coverage.backward_host_us for part in parts)
    assert host == pytest.approx(whole.coverage.backward_host_us, abs=NEAR)
    device = sum(part.coverage.backward_device_us or 0.0 for part in parts)
    assert device == pytest.approx(whole.coverage.backward_device_us, abs=NEAR)


@pytest.mark.parametrize(
    ("name", "launches"),
    [("hta_a100_cuda_graphs_rank0", 81), ("hta_v100_training", 17), ("kineto_resnet50", 0)],
)
def test_launches_onto_a_full_queue(name: str, launches: int) -> None:
    """None of them is among the waits, however long it took."""
    analysis = load(next(path for path in shared_traces.all_traces() if name in str(path)))
    blocked = analysis.blocked_launches
    assert len(blocked) == launches
    assert not np.isin(blocked, analysis.syncs.position).any()


def test_a_slow_loader_is_why_the_first_sample_idles() -> None:
    """The annotated time of the loader and the device's gaps cover each other nearly."""
    path = shared_traces.shared_trace("kineto_resnet50_num_workers_0/worker0.1623143089861")
    for step in analyze(path).steps:
        assert step.idle.data_loading > 0.7 * step.device_idle_us
        assert step.idle.data_loading <= step.data_us
