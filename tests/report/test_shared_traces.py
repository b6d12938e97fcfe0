"""Figures of reports on traces that others recorded, known by other means."""

from __future__ import annotations

import numpy as np
import pytest
import shared_traces

from tb_hookview.loading import analyze, load
from tb_hookview.report.build import build_report


def test_the_first_sample_of_the_predecessor() -> None:
    """Syncs of torch_tb_profiler's samples: 12 copies and the profiler's own."""
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
    """All but the loss, not in a module; the all-reduce of gradients is separate."""
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
    host = sum(part.coverage.backward_host_us or 0 for part in parts)
    assert host == pytest.approx(whole.coverage.backward_host_us or 0, abs=1e-3)
    device = sum(part.coverage.backward_device_us or 0.0 for part in parts)
    assert device == pytest.approx(whole.coverage.backward_device_us, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "launches"),
    [("hta_a100_cuda_graphs_rank0", 81), ("hta_v100_training", 41), ("kineto_resnet50", 0)],
)
def test_launches_onto_a_full_queue(name: str, launches: int) -> None:
    """None of them is a sync, however long it took."""
    analysis = load(shared_traces.shared_trace(name))
    blocked = analysis.blocked_launches
    assert len(blocked) == launches
    assert not np.isin(blocked, analysis.syncs.row).any()


def test_a_slow_loader_is_why_the_first_sample_idles() -> None:
    """The annotated time of the loader and the device's gaps cover each other nearly."""
    path = shared_traces.shared_trace("kineto_resnet50_num_workers_0/worker0.1623143089861")
    for step in analyze(path).steps:
        assert step.idle.data_loading > 0.7 * step.device_idle_us
        assert step.idle.data_loading <= step.data_us
