"""The invariants of the report on every real trace that lies beside the checkout."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import shared_traces

from tb_hookview.analysis import analyze, build_report, load
from tb_hookview.analysis.schema import ReportData

pytestmark = pytest.mark.skipif(
    not shared_traces.FOLDER.is_dir(), reason="no ../shared/traces beside the checkout"
)
NEAR = 1e-3
"""Sums of exact nanoseconds, each divided into microseconds: off by far less than this."""


@pytest.mark.parametrize("path", shared_traces.all_traces(), ids=lambda path: path.name)
def test_invariants(path: Path) -> None:
    report = analyze(path)
    data = report.data
    check_backward(data)
    check_totals_of_modules(data)
    check_steps(data)
    check_syncs(data)
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


def check_syncs(data: ReportData) -> None:
    assert data.totals.sync_count == len(data.syncs)
    assert data.totals.sync_blocked_us == pytest.approx(
        sum(sync.duration_us for sync in data.syncs), abs=NEAR
    )
    assert all(sync.duration_us >= 0 for sync in data.syncs)
    gaps = [sync.device_idle_us for sync in data.syncs if sync.device_idle_us is not None]
    assert all(0 <= gap <= data.trace.duration_us for gap in gaps)


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


def test_reports_of_single_steps_sum_to_the_whole() -> None:
    made = load(shared_traces.shared_trace("hta_a100_nccl_training"))
    whole = build_report(made).data
    parts = [build_report(made, [step.name]).data for step in whole.steps]
    host = sum(part.coverage.backward_host_us for part in parts)
    assert host == pytest.approx(whole.coverage.backward_host_us, abs=NEAR)
    device = sum(part.coverage.backward_device_us or 0.0 for part in parts)
    assert device == pytest.approx(whole.coverage.backward_device_us, abs=NEAR)
