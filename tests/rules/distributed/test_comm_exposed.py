"""`comm-exposed`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import findings, operators, row

RULE = "comm-exposed"
REDUCE = [("c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)")]
GEMM = [("aten::mm", "gemm")]
GATHER = [("c10d::_allgather_base_", "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)")]
COMPUTES = operators(GEMM, kernel=50)
EVALUATE = "autograd::engine::evaluate_function: "
SINK = f"{EVALUATE}torch::autograd::AccumulateGrad"


def test_nothing_is_computed_meanwhile(tmp_path: Path) -> None:
    reduces = operators(REDUCE, start=1020, kernel=60, stream=20)
    (finding,) = findings(tmp_path, COMPUTES, reduces)[RULE]
    assert finding.cost_us_per_step == pytest.approx(60 - 30), "30 of 60 us behind the product"
    assert finding.gain_us_per_step is None
    assert finding.gain_bound_us_per_step == 30
    assert [advice.id for advice in finding.advice] == ["rank-straggler"]
    assert len(finding.caveats) == 1


def test_all_of_it_overlaps(tmp_path: Path) -> None:
    reduces = operators(REDUCE, start=1020, kernel=30, stream=20)
    assert RULE not in findings(tmp_path, COMPUTES, reduces)


def test_a_small_part_of_the_step(tmp_path: Path) -> None:
    reduces = operators(REDUCE, start=1055, kernel=10, stream=20)
    assert RULE not in findings(tmp_path, COMPUTES, reduces, operators(GEMM, start=1500))


@pytest.mark.parametrize(("start", "exposed"), [(1080, 500), (1110, None)])
def test_a_collective_is_of_the_step_that_launches_it(
    tmp_path: Path, start: float, exposed: float | None
) -> None:
    """It runs after the end of the step, as those of a host that runs ahead do."""
    step = row("user_annotation", "ProfilerStep#1", 1000, 100)
    reduces = operators(REDUCE, start=start, kernel=500, delay=15, stream=20)
    found = findings(tmp_path, COMPUTES, reduces, [step])
    assert [each.cost_us_per_step for each in found[RULE]] == [exposed] * (exposed is not None)


def test_a_graph_may_hide_what_is_computed(tmp_path: Path) -> None:
    reduces = operators(REDUCE, start=1020, kernel=60, stream=20)
    graph = [row("cuda_runtime", "cudaGraphLaunch", 1045, 3)]
    assert len(findings(tmp_path, COMPUTES, reduces, graph)[RULE][0].caveats) == 2


def test_devices_of_one_process_are_exposed_for_their_mean(tmp_path: Path) -> None:
    rows = [
        each
        for device in range(4)
        for start, calls in ((1000, GEMM), (1020, REDUCE))
        for each in operators(calls, start=start + device, kernel=16, device=device)
    ]
    (finding,) = findings(tmp_path, rows)[RULE]
    assert finding.cost_us_per_step == 4 * 16
    assert "for 64.0 us of the trace, summed over 4 devices, nothing" in finding.evidence


@pytest.mark.parametrize(("start", "fix"), [(1100, "The optimizer reduces"), (1300, "If what is")])
def test_shards_that_the_optimizer_gathers(tmp_path: Path, start: float, fix: str) -> None:
    step = [row("user_annotation", "Optimizer.step#DistAdam.step", 1090, 100)]
    gathers = operators(GATHER, start=start, kernel=60, stream=20)
    (finding,) = findings(tmp_path, COMPUTES, step, gathers)[RULE]
    assert finding.fix.startswith(fix)


def test_transfers_that_overlap_are_not_counted_twice(tmp_path: Path) -> None:
    reduces = operators(REDUCE, start=1100, kernel=60, stream=20)
    beside = operators(REDUCE, start=1120, kernel=60, stream=21)
    (finding,) = findings(tmp_path, COMPUTES, reduces, beside)[RULE]
    assert finding.cost_us_per_step == pytest.approx(80)


def test_how_much_is_moved(tmp_path: Path) -> None:
    reduces = operators([("record_param_comms", "ncclDevKernel_AllReduce")], start=1100, kernel=60)
    known = {"Collective name": "allreduce", "dtype": "Float", "Group size": 2}
    reduces[0]["args"] |= {**known, "In msg nelems": 500_000, "Out msg nelems": 500_000}
    assert "; 2.00 MB, 1 message in all" in findings(tmp_path, COMPUTES, reduces)[RULE][0].evidence
    others = operators([("mylib::push", "nvshmem_put")], start=1200, kernel=60)
    (finding,) = findings(tmp_path, COMPUTES, reduces, others)[RULE]
    assert "; 2.00 MB, 1 message whose size is known" in finding.evidence


def test_collectives_of_batch_norms_are_not_in_the_figures(tmp_path: Path) -> None:
    norm = [row("cpu_op", "SyncBatchNorm", 1095, 45)]
    gathers = operators(GATHER * 2, start=1100, kernel=12, stream=20)
    reduces = operators(REDUCE, start=1150, kernel=60, stream=20)
    found = findings(tmp_path, COMPUTES, norm, gathers, reduces)
    assert found[RULE][0].evidence.startswith("1 collective, 60.0 us; for 60.0 us of the trace")


def test_collectives_of_batch_norms_do_not_make_up_the_tenth(tmp_path: Path) -> None:
    norm = [row("cpu_op", "SyncBatchNorm", 1095, 45)]
    gathers = operators(GATHER * 2, start=1100, kernel=12, stream=20)
    reduces = operators(REDUCE, start=1150, kernel=6, stream=20)
    found = findings(tmp_path, COMPUTES, norm, gathers, reduces)
    assert ("sync-batchnorm" in found, RULE in found) == (True, False)


def test_a_share_of_a_trace_is_of_it_without_its_set_up(tmp_path: Path) -> None:
    reduces = operators(REDUCE, start=7000, kernel=60, stream=20)
    assert RULE in findings(tmp_path, COMPUTES, reduces)


def test_steps_that_differ(tmp_path: Path) -> None:
    rows = []
    for number, length in enumerate((10, 40, 120)):
        start = 1000 + 1000 * number
        rows.append(row("user_annotation", f"ProfilerStep#{number}", start, 300))
        rows += operators(GEMM, start=start)
        rows += operators(REDUCE, start=start + 100, kernel=length, stream=20)
    (finding,) = findings(tmp_path, rows)[RULE]
    assert finding.cost_us_per_step == pytest.approx(80)
    assert "for 80.0 us of a step (40.0 us to 120 us) nothing" in finding.evidence


@pytest.mark.parametrize(
    ("collective", "marks", "said"),
    [
        pytest.param(REDUCE, ["DistributedDataParallel.forward"], "no_sync()", id="DDP"),
        pytest.param(REDUCE, [], "as DistributedDataParallel does", id="no DDP"),
        pytest.param(REDUCE, ["FSDP::post_backward_reduce (0)"], "Prefetch the next", id="HSDP"),
        pytest.param(
            [("c10d::alltoall_base_", "ncclDevKernel_SendRecv(ncclDevComm*)")],
            ["fbgemm::split_embedding_codegen_lookup_sgd_function"],
            "next batch",
            id="embeddings",
        ),
        pytest.param(
            [("c10d::alltoall_base_", "ncclDevKernel_SendRecv(ncclDevComm*)")],
            ["moe::grouped_mm"],
            "Split the batch in two",
            id="experts",
        ),
        pytest.param(
            [("c10d::recv_", "ncclDevKernel_SendRecv(ncclDevComm*)")],
            [],
            "more microbatches",
            id="stages",
        ),
        pytest.param(GATHER, ["FSDP::pre_forward"], "Prefetch the next shards (FSDP", id="shards"),
        pytest.param(GATHER, [], "If what is gathered and scattered are activations", id="parts"),
    ],
)
def test_the_remedy_is_that_of_the_collective(
    tmp_path: Path, collective: list[tuple[str, str]], marks: list[str], said: str
) -> None:
    moves = operators(collective, start=1020, kernel=60, stream=20)
    marked = [row("user_annotation", name, 990, 5) for name in marks]
    marked += [row("cpu_op", SINK, 980, 5)]
    assert said in findings(tmp_path, COMPUTES, moves, marked)[RULE][0].fix


@pytest.mark.parametrize(
    ("around", "name", "gradients"),
    [
        ("cpu_op", f"{EVALUATE}MmBackward0", False),
        ("python_function", "nn.Module: Linear_0", False),
        ("cpu_op", SINK, True),
        ("cpu_op", f"{EVALUATE}CompiledFunctionBackward", True),
        ("user_annotation", "all of them", True),
    ],
    ids=["in a node", "forward", "in a hook", "compiled", "after the backward"],
)
def test_all_reduces_between_operators(
    tmp_path: Path, around: str, name: str, gradients: bool
) -> None:
    """As many as there are gradients, of which those of activations are none."""
    reduces = operators(REDUCE * 24, start=1100, kernel=12, stream=20)
    nodes = [row("cpu_op", SINK, 500 + 10 * i, 8) for i in range(24)]
    nodes += [row("cpu_op", SINK.split()[-1], 502 + 10 * i, 4) for i in range(24)]
    found = findings(tmp_path, COMPUTES, nodes, [row(around, name, 1095, 500)], reduces)
    assert ("collective-per-parameter" in found) == gradients
    assert ("see the finding collective-per-parameter" in found[RULE][0].fix) == gradients
    assert ("activations in tensor parallelism" in found[RULE][0].fix) != gradients


@pytest.mark.parametrize("kernel", [REDUCE[0][1], "void vllm::cross_device_reduce_1stage<half, 4>"])
def test_all_reduces_of_inference(tmp_path: Path, kernel: str) -> None:
    reduces = operators([("mine::reduce", kernel)] * 24, start=1100, kernel=12, stream=20)
    (finding,) = findings(tmp_path, COMPUTES, reduces)[RULE]
    assert "nothing overlaps them: all-reduce 288 us" in finding.evidence
    assert "gradients in buckets" not in finding.fix
    assert "activations in tensor parallelism" in finding.fix


def on_host(length: float, collective: str = "gloo:all_reduce") -> list[dict[str, Any]]:
    """A step of 300 us whose thread waits for a collective that a thread of gloo runs."""
    return [
        row("user_annotation", "ProfilerStep#1", 1000, 300),
        row("cpu_op", "aten::mm", 1000, 50),
        row("user_annotation", collective, 1055, length, "gloo"),
        row("cpu_op", "aten::mm", 1060 + length, 240 - length),
    ]


@pytest.mark.parametrize(("length", "compare"), [(100, False), (200, True)])
def test_the_training_thread_waits_for_collectives_of_the_host(
    tmp_path: Path, length: float, compare: bool
) -> None:
    (finding,) = findings(tmp_path, on_host(length))[RULE]
    assert finding.cost_us_per_step == pytest.approx(length, abs=10)
    assert finding.evidence.startswith("1 collective per step on host threads")
    assert "most of their time in all-reduce" in finding.evidence
    assert ("compare the ranks first" in finding.fix) == compare


@pytest.mark.parametrize(
    ("collective", "name", "fix"),
    [
        ("gloo:send", "send and receive", "Post receives early"),
        ("gloo:barrier", "others", "accumulate gradients"),
    ],
)
def test_messages_and_barriers_of_the_host(
    tmp_path: Path, collective: str, name: str, fix: str
) -> None:
    (finding,) = findings(tmp_path, on_host(100, collective))[RULE]
    assert f"most of their time in {name}" in finding.evidence
    assert fix in finding.fix
    assert "stage" not in finding.fix, "without a backward pass there need be none"


@pytest.mark.parametrize("collective", ["gloo:all_reduce", "gloo:all_gather"])
def test_shards_on_the_host_have_one_remedy(tmp_path: Path, collective: str) -> None:
    """Gloo names a reduce-scatter all_reduce, and which has more time differs between ranks."""
    marks = [row("user_annotation", "FSDP::all_gather (0)", 1001, 5), row("cpu_op", SINK, 980, 5)]
    (finding,) = findings(tmp_path, [*on_host(100, collective), *marks])[RULE]
    assert finding.fix.startswith("Prefetch the next shards")
    assert "set_requires_gradient_sync" in finding.fix
    assert "hook" not in finding.fix


def test_a_short_wait_for_collectives_of_the_host(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, on_host(15))


def test_a_kernel_says_more_than_the_operator_around_it(tmp_path: Path) -> None:
    """An operator that exchanges tokens gathers how many there are first."""
    around = [row("cpu_op", "ExpertsAllToAll", 1095, 200)]
    gathers = operators(GATHER, start=1100, kernel=60, stream=20)
    sends = operators([("mylib::push", "_mxfp8_all_to_all_push_kernel")], start=1170, kernel=30)
    (finding,) = findings(tmp_path, COMPUTES, around, gathers, sends)[RULE]
    assert "all-gather 60.0 us, all-to-all 30.0 us" in finding.evidence


@pytest.mark.parametrize(
    ("elements", "length", "compare"), [(8, 200, True), (8, 90, False), (500_000, 200, False)]
)
def test_small_messages_that_last_long(
    tmp_path: Path, elements: int, length: float, compare: bool
) -> None:
    """200 us for 32 bytes are a wait for another rank, 90 us may be the network's latency."""
    kernels = [("record_param_comms", "ncclDevKernel_AllReduce")]
    reduces = operators(kernels, start=1100, kernel=length)
    known = {"Collective name": "allreduce", "dtype": "Float", "Group size": 2}
    reduces[0]["args"] |= {**known, "In msg nelems": elements, "Out msg nelems": elements}
    computes = operators(GEMM, start=1400, kernel=200)
    (finding,) = findings(tmp_path, COMPUTES, reduces, computes)[RULE]
    assert ("most of it is a wait for another rank" in finding.fix) == compare
    assert ("overlap pieces" in finding.fix) != compare, "of no use for a wait"


@pytest.mark.parametrize(
    ("length", "others", "said"),
    [
        (200, 150, ["all-gathers take too long", "The all-to-alls: Split the batch in two"]),
        (90, 70, ["latency of the network"]),
    ],
)
def test_small_messages_next_to_others(
    tmp_path: Path, length: float, others: float, said: list[str]
) -> None:
    """Tiny gathers are neither shards nor activations, whatever is exchanged besides."""
    kernels = [("record_param_comms", "ncclDevKernel_AllGather")]
    gathers = operators(kernels, start=1100, kernel=length)
    known = {"Collective name": "_allgather_base", "dtype": "Long", "Group size": 2}
    gathers[0]["args"] |= {**known, "In msg nelems": 8, "Out msg nelems": 16}
    sends = operators([("mylib::push", "my_all_to_all_kernel")], start=1400, kernel=others)
    fix = findings(tmp_path, COMPUTES, gathers, sends)[RULE][0].fix
    assert all(words in fix for words in said)
    assert "shards" not in fix


def test_a_stage_waits_for_its_neighbours(tmp_path: Path) -> None:
    """A wait may be a bubble of the schedule, which has a remedy of its own."""
    around = [row("cpu_op", "c10d::recv_", 1095, 30), row("cpu_op", SINK, 980, 5)]
    moves = operators([("record_param_comms", "ncclDevKernel_SendRecv")], start=1100, kernel=400)
    known = {"Collective name": "recv", "dtype": "Float", "Group size": 2}
    moves[0]["args"] |= {**known, "In msg nelems": 8, "Out msg nelems": 8}
    fix = findings(tmp_path, COMPUTES, around, moves)[RULE][0].fix
    assert "most of it is a wait for another rank" in fix
    assert "more microbatches" in fix


@pytest.mark.parametrize(("length", "waits"), [(8_000, False), (80_000, True)])
def test_small_messages_that_last_long_on_the_host(
    tmp_path: Path, length: float, waits: bool
) -> None:
    """Ranks hand messages on one after the other, so 8 ms may be the latency of many."""
    some = on_host(length)
    some[2]["args"] |= {"Input Dims": [[9000]], "Input type": ["float"]}
    (finding,) = findings(tmp_path, some)[RULE]
    assert ("most of it is a wait for another rank" in finding.fix) == waits
    assert ("overlap pieces" in finding.fix) != waits


def test_most_of_a_step(tmp_path: Path) -> None:
    """It may be transfer as well as a wait: one rank does not show which."""
    reduces = operators(REDUCE, start=1100, kernel=500, stream=20)
    fix = findings(tmp_path, COMPUTES, reduces)[RULE][0].fix
    assert "does not show which part of it is a wait for other ranks: compare the ranks" in fix
    assert "most of it is a wait" not in fix


ALL_TO_ALL = [("c10d::alltoall_base_", "ncclDevKernel_SendRecv(ncclDevComm*)")]


@pytest.mark.parametrize(
    ("mark", "ahead"),
    [
        ("## sparse_data_dist ##", False),
        ("## start_sparse_data_dist ##", False),
        ("## something ##", True),
    ],
)
def test_indices_that_are_exchanged_ahead_already(tmp_path: Path, mark: str, ahead: bool) -> None:
    moves = operators(ALL_TO_ALL, start=1020, kernel=60, stream=20)
    marks = [
        row("user_annotation", mark, 1002, 10),
        row("user_annotation", "## alltoall_fwd ##", 1019, 30),
    ]
    (finding,) = findings(tmp_path, COMPUTES, marks, moves)[RULE]
    assert "all-to-all 30.0 us, 30.0 us of it under ## alltoall_fwd ##" in finding.evidence
    assert ("TrainPipelineSparseDist" in finding.fix) == ahead
