"""Which collectives are one: messages between two ranks, coalesced and uneven ones."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tb_hookview.ranks.run import analyze_run
from tb_hookview.schema import Run

KERNEL = "ncclDevKernel_SendRecv"


class Call(NamedTuple):
    """A collective of one rank; milliseconds."""

    start: float
    end: float
    args: dict[str, Any]
    name: str = "record_param_comms"
    kernel: str = KERNEL


def message(source: int, target: int, rank: int, start: float, end: float, size: int = 100) -> Call:
    args = {
        "Collective name": "send" if rank == source else "recv",
        "In msg nelems": size,
        "dtype": "Float",
        "Process Group Name": "pp",
        "Group size": 3,
        "Src Rank": source,
        "Dst Rank": target,
    }
    return Call(start, end, args)


def run_of(folder: Path, calls: Sequence[Sequence[Call]]) -> Run:
    """Write and read a run, one list of collectives for each rank, in one step."""
    for rank, of_rank in enumerate(calls):
        rows = [_row("user_annotation", "ProfilerStep#0", 0.0, 100.0)]
        for number, call in enumerate(of_rank, 1):
            at = number / 10
            rows.append(_row("cpu_op", call.name, at, 0.05, **call.args))
            rows.append(_row("cuda_runtime", "cudaLaunchKernel", at, 0.01, correlation=number))
            place = {"pid": 0, "tid": 7, "correlation": number, "device": 0, "stream": 7}
            rows.append(_row("kernel", call.kernel, call.start, call.end - call.start, **place))
        info = {"rank": rank, "world_size": len(calls)}
        text = json.dumps({"distributedInfo": info, "traceEvents": rows})
        (folder / f"rank{rank}.1.pt.trace.json.gz").write_bytes(gzip.compress(text.encode()))
    with ThreadPoolExecutor(1) as executor:
        return analyze_run(folder, executor).data


def _row(category: str, name: str, start: float, time: float, **args: Any) -> dict[str, Any]:
    place = {"pid": args.pop("pid", 9), "tid": args.pop("tid", 9)}
    times = {"ts": start * 1000, "dur": time * 1000}
    return {"ph": "X", "cat": category, "name": name, **place, **times, "args": args}


def test_a_message_is_one_on_its_two_ranks(tmp_path: Path) -> None:
    """Rank 1 takes part in two pairs, of which each has an order of its own."""
    run = run_of(
        tmp_path,
        [
            [message(0, 1, 0, 10, 14), message(0, 1, 0, 50, 52)],
            [
                message(1, 2, 1, 5, 6),
                message(0, 1, 1, 12, 14),
                message(0, 1, 1, 44, 52),
                message(2, 1, 1, 70, 80),
            ],
            [message(1, 2, 2, 2, 6), message(2, 1, 2, 79, 80)],
        ],
    )
    found = [(row.ranks, row.transfer_us, row.wait_us, row.late_rank) for row in run.collectives]
    assert found == [
        (2, 1000, 3000, 1),
        (2, 2000, 2000, 1),
        (2, 2000, 6000, 0),
        (2, 1000, 9000, 2),
    ]
    assert run.unmatched == 0
    assert not run.warnings


def test_messages_there_and_back_are_not_one(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        [
            [message(0, 1, 0, 10, 12), message(1, 0, 0, 20, 30)],
            [message(1, 0, 1, 29, 30), message(0, 1, 1, 5, 12)],
        ],
    )
    assert [row.late_rank for row in run.collectives] == [0, 1]


def uneven(start: float, end: float, sent: int, received: int) -> Call:
    args = {
        "Collective name": "all_to_allv",
        "In msg nelems": sent,
        "Out msg nelems": received,
        "dtype": "Float",
        "Process Group Name": "ep",
        "Group size": 3,
    }
    return Call(start, end, args)


def test_an_uneven_all_to_all_is_one_and_counts_the_most_loaded_rank(tmp_path: Path) -> None:
    calls = [
        [uneven(10, 30, 4_000_000, 1_000_000)],
        [uneven(20, 30, 250_000, 5_000_000)],
        [uneven(12, 30, 3_000_000, 1_250_000)],
    ]
    (row,) = run_of(tmp_path, calls).collectives
    assert (row.name, row.ranks, row.bytes) == ("all_to_all", 3, 20_000_000)
    assert (row.transfer_us, row.late_rank) == (10_000, 1)
    assert row.bus_gb_per_s == pytest.approx(20e6 / 10e-3 * (2 / 3) / 1e9)


def test_each_collective_of_a_replayed_graph_is_one(tmp_path: Path) -> None:
    """One call launches all kernels of the graph, of which others compute."""
    kernels = (
        "ncclDevKernel_ReduceScatter_Sum_bf16",
        "gemm",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>",
    )
    for rank, times in enumerate([(10, 14, 20, 30, 40), (12, 14, 22, 30, 33)]):
        launch = {"correlation": 7}
        rows = [_row("cuda_runtime", "cudaGraphLaunch", 1, 1, **launch)]
        spans = ((times[0], times[1]), (times[1], times[2]), (times[3], times[4]))
        for name, (start, end) in zip(kernels, spans, strict=True):
            place = {"pid": 0, "tid": 7, "device": 0, "stream": 7, **launch}
            rows.append(_row("kernel", name, start, end - start, **place))
        info = {"rank": rank, "world_size": 2}
        text = json.dumps({"distributedInfo": info, "traceEvents": rows})
        (tmp_path / f"rank{rank}.1.pt.trace.json").write_text(text)
    with ThreadPoolExecutor(1) as executor:
        run = analyze_run(tmp_path, executor).data
    found = [(row.name, row.late_rank, row.transfer_us, row.wait_us) for row in run.collectives]
    assert found == [("reduce_scatter", 1, 2000, 2000), ("all_reduce", 1, 3000, 7000)]
    assert [row.communication_us for row in run.ranks] == [14_000, 5000]


def test_coalesced_collectives_are_one_by_their_kernel(tmp_path: Path) -> None:
    """Their parameters are at the calls, the kernel at the end of the group."""

    def coalesced(start: float, end: float) -> Call:
        return Call(start, end, {}, "nccl:coalesced", "ncclDevKernel_AllReduce_Sum_f32_RING_LL")

    run = run_of(
        tmp_path,
        [
            [coalesced(10, 20), coalesced(40, 50)],
            [coalesced(15, 20), coalesced(48, 50)],
        ],
    )
    found = [(row.name, row.ranks, row.late_rank, row.bytes) for row in run.collectives]
    assert found == [("all_reduce", 2, 1, None)] * 2
    assert [row.transfer_us for row in run.collectives] == [5000, 2000]
    assert run.unmatched == 0


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_collective_that_one_recording_lacks_shifts_no_numbered_one(
    tmp_path: Path, missing: int
) -> None:
    def numbered(number: int, start: float, end: float) -> Call:
        args = {
            "Collective name": "allreduce",
            "In msg nelems": 10,
            "dtype": "Float",
            "Process Group Name": "0",
            "Group size": 2,
            "Seq": number,
        }
        return Call(start, end, args, kernel="ncclDevKernel_AllReduce")

    calls = [[numbered(n, 20.0 * n, 20.0 * n + 5 + rank) for n in range(3)] for rank in range(2)]
    del calls[1][missing]
    run = run_of(tmp_path, calls)
    assert [row.sequence for row in run.collectives] == [n for n in range(3) if n != missing]
    assert {row.transfer_us for row in run.collectives} == {5000}
    assert run.unmatched == 1


def test_a_collective_is_of_the_step_that_launched_it(tmp_path: Path) -> None:
    """Rank 0 waits for rank 1 into its next step, and first ends what it was at before."""
    begins = [[2.5, 4, 12.5, 14, 17, 24, 27], [7, 9, 15, 17, 25, 27]]
    launches = [[None, 3, 6, 13, 16, 23, 26], [6, 8, 14, 16, 24, 26]]
    for rank in range(2):
        rows = [_row("user_annotation", f"ProfilerStep#{n}", 10 * n + 2, 10) for n in range(3)]
        for number, (start, at) in enumerate(zip(begins[rank], launches[rank], strict=True), 1):
            if at is not None:
                rows.append(_row("cuda_runtime", "cudaLaunchKernel", at, 0.1, correlation=number))
            place = {"pid": 0, "tid": 7, "correlation": number, "device": 0, "stream": 7}
            rows.append(_row("kernel", KERNEL, start, 1, **place))
        text = json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": rows})
        (tmp_path / f"rank{rank}.1.pt.trace.json.gz").write_bytes(gzip.compress(text.encode()))
    with ThreadPoolExecutor(1) as executor:
        run = analyze_run(tmp_path, executor).data
    assert (len(run.collectives), run.unmatched) == (6, 1)
