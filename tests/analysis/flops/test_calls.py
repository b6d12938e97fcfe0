"""FLOPs of calls and kernels of drawn timelines; sums of all rows are among the invariants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from shared_traces import shared_trace
from support.event_tables import event_table

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.loading import analyze, load

PICTURE = """
    main ops    [aten::linear                                ]  [aten::mm     ]
    main ops      [aten::addmm                             ]
    main calls       [go corr=1]  [go corr=2]                      [go corr=3]
    gpu  kernel              [gemm corr=1       ][bias corr=2 ]
    """
NAMES = {"gemm": "ampere_sgemm_64x64_tn", "bias": "elementwise_kernel", "go": "cudaLaunchKernel"}
SHAPES = {
    "aten::linear": [[2, 3, 8], [5, 8], [5]],
    "aten::addmm": [[5], [6, 8], [8, 5]],
    "aten::mm": [[6, 8], [8, 5]],
}


def drawn(folder: Path) -> Analysis:
    events = grid.events(PICTURE, NAMES)
    for event in events:
        if shapes := SHAPES.get(event["name"]):
            types = ["float"] * len(shapes)
            event["args"] |= {"Input Dims": shapes, "Input type": types}
    return load(grid.write(folder / "t.json", events))


def test_the_outermost_call_counts_and_its_product_does_the_work(tmp_path: Path) -> None:
    analysis = drawn(tmp_path)
    flops = 2 * 6 * 8 * 5
    assert analysis.call_work.flops[analysis.counted_calls].tolist() == [flops]
    assert analysis.device_work.flops.tolist() == [flops, 0.0]
    moved = 4 * (48 + 40 + 5 + 30)
    assert analysis.device_work.bytes.tolist()[0] == moved
    rows = {row.name: row for row in table(analysis, "operators_by_shape")}
    linear = rows["aten::linear"]
    assert (linear.flops, linear.flops_us) == (flops, 20.0 + 14.0)
    assert linear.flop_per_byte == flops / moved
    assert rows["aten::mm"].flops is None, "nothing that it launched is in the trace"


def test_an_operator_without_a_formula_has_what_runs_in_it(tmp_path: Path) -> None:
    """Also within one that has a formula, of the same product."""
    picture = """
        main ops    [aten::linear                 ]
        main ops      [aten::matmul            ]
        main ops        [aten::mm            ]
        main calls        [go corr=1]
        gpu  kernel              [gemm corr=1       ]
        """
    events = grid.events(picture, NAMES)
    for event in events:
        if event["cat"] == "cpu_op":
            event["args"] |= {"Input Dims": [[6, 8], [8, 5]], "Input type": ["float"] * 2}
            event["args"]["Input Dims"][1].sort(reverse=event["name"] != "aten::linear")
    analysis = load(grid.write(tmp_path / "t.json", events))
    rows = {row.name: row for row in table(analysis, "operators_by_shape")}
    assert {row.flops for row in rows.values()} == {2 * 6 * 8 * 5}
    assert {row.flops_us for row in rows.values()} == {20.0}
    assert len({row.flop_per_byte for row in rows.values()}) == 1
    assert analysis.device_work.flops.tolist() == [2 * 6 * 8 * 5]


def test_what_is_written_to_is_not_read(tmp_path: Path) -> None:
    """`out` of `aten::mm`."""
    picture = """
        main ops   [aten::mm     ] [aten::mm out=1   ]
        main calls    [go corr=1]     [go corr=2]
        gpu  kernel       [gemm corr=1]    [gemm corr=2]
        """
    events = grid.events(picture, NAMES)
    for event in events:
        if event["cat"] == "cpu_op":
            shapes = [[6, 8], [8, 5], [6, 5]][: 3 if "out" in event["args"] else 2]
            event["args"] |= {"Input Dims": shapes, "Input type": ["float"] * len(shapes)}
    analysis = load(grid.write(tmp_path / "t.json", events))
    assert analysis.device_work.bytes.tolist() == [4 * (48 + 40 + 30)] * 2


def test_an_operator_that_is_called_again_within_itself(tmp_path: Path) -> None:
    """That of all ranks calls itself on the part of this one."""
    picture = """
        main ops    [aten::linear                 ]
        main ops      [aten::mm all=1            ]
        main ops        [aten::mm              ]
        main calls        [go corr=1]
        gpu  kernel              [gemm corr=1       ]
        """
    events = grid.events(picture, NAMES)
    shapes = iter([[[6, 8], [10, 8]], [[6, 8], [8, 10]], [[6, 8], [8, 5]]])
    for event in events:
        if event["cat"] == "cpu_op":
            event["args"] |= {"Input Dims": next(shapes), "Input type": ["float"] * 2}
    analysis = load(grid.write(tmp_path / "t.json", events))
    assert analysis.device_work.flops.tolist() == [2 * 6 * 8 * 5]
    rows = [(row.name, row.flops) for row in table(analysis, "operators_by_shape")]
    own = 2 * 6 * 8 * 5
    assert rows[0] == ("aten::linear", own)
    assert set(rows[1:]) == {("aten::mm", own)}


@pytest.mark.parametrize("missing", ["calls", "kernel", None])
def test_a_call_of_whose_kernels_the_trace_lacks_one(missing: str | None, tmp_path: Path) -> None:
    """Its FLOPs are left out with its time, as the kernel's `External id` or the launch shows it."""
    picture = """
        main ops    [aten::mm ext=1 ] [aten::mm ext=2            ]
        main calls    [go corr=1]      [go corr=3]  [go corr=4]
        gpu  kernel         [gemm corr=1]   [gemm corr=3][sum corr=4 ext=2]
        """
    events = grid.events(picture, NAMES)
    if missing is not None:
        category = {"calls": "cuda_runtime", "kernel": "kernel"}[missing]
        events = [e for e in events if (e["cat"], e["args"].get("correlation")) != (category, 4)]
    for event in events:
        if event["name"] == "aten::mm":
            event["args"] |= {"Input Dims": SHAPES["aten::mm"], "Input type": ["float"] * 2}
    (row,) = table(load(grid.write(tmp_path / "t.json", events)), "operators_by_shape")
    one, calls, spent = 2 * 6 * 8 * 5, *((1, 13) if missing else (2, 13 + 13 + 18))
    assert (row.flops, row.flops_us) == (calls * one, spent)
    assert row.tflop_per_s == pytest.approx(calls * one / spent / 1e6)


@pytest.mark.parametrize(
    "picture",
    [
        """
        main ops    [aten::mm ext=7 ] [aten::mm ext=2            ]
        main calls    [go corr=1]      [go corr=3]
        gpu  kernel  [fft corr=5 ext=2] [gemm corr=1] [gemm corr=3]
        """,
        """
        main ops    [aten::mm ext=7   ] [aten::mm ext=2             ]
        main calls    [go corr=1 ext=1]  [go corr=3 ext=3]
        gpu  kernel  [gemm corr=1 ext=1]  [gemm corr=3 ext=3][fft corr=2 ext=2]
        """,
    ],
    ids=["begins before", "correlation ids"],
)
def test_a_kernel_without_a_launch_that_is_not_the_calls(picture: str, tmp_path: Path) -> None:
    events = grid.events(picture, NAMES)
    for event in events:
        if event["name"] == "aten::mm":
            event["args"] |= {"Input Dims": SHAPES["aten::mm"], "Input type": ["float"] * 2}
    (row,) = table(load(grid.write(tmp_path / "t.json", events)), "operators_by_shape")
    assert row.flops == 2 * (2 * 6 * 8 * 5)


def test_no_share_of_a_peak_above_one() -> None:
    """Products of distributed tensors over two ranks, by 51.9 of 82.6 TFLOP/s at most."""
    operators = analyze(shared_trace("llama_4layers_4090")).data.operators
    shares = {row.name: row.peak_share for row in operators if row.peak_share}
    assert max(shares.values()) < 0.65
    assert shares["aten::mm"] == pytest.approx(0.554, abs=0.0005)
    assert max(row.tflop_per_s or 0 for row in operators) < 51.9
    flops = {row.name: row.flops for row in operators}
    assert flops["aten::linear"] == flops["aten::matmul"] == flops["aten::mm"]


def table(analysis: Analysis, name: str) -> list[Any]:
    return list(event_table(name, select(analysis, None)))


def test_a_step_has_the_flops_of_its_own_calls(tmp_path: Path) -> None:
    picture = """
        main notes  [one                ][two                ]
        main ops     [aten::mm        ]    [aten::mm        ]
        main calls     [go corr=1]           [go corr=2]
        gpu  kernel        [gemm corr=1]         [gemm corr=2]
        """
    events = grid.events(picture, {**NAMES, "one": "ProfilerStep#1", "two": "ProfilerStep#2"})
    for event in events:
        if event["name"] == "aten::mm":
            event["args"] |= {"Input Dims": SHAPES["aten::mm"], "Input type": ["float"] * 2}
    report = analyze(grid.write(tmp_path / "t.json", events), steps=["ProfilerStep#2"])
    (row,) = (row for row in report.operators if row.name == "aten::mm")
    assert (row.calls, row.flops) == (1, 2 * 6 * 8 * 5)
