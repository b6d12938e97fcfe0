"""FLOPs of calls and kernels, drawn; sums against slow obvious ones on real traces."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from shared_traces import shared_trace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.stacks import number_stacks, stacks_at
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.tables.catalogue import event_table

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


TRACES = ("tracelens_mi300_resnet_checkpointing_ddp", "tracelens_b200_eager")


@pytest.fixture(params=TRACES, scope="module")
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return load(shared_trace(request.param))


def table(analysis: Analysis, name: str) -> list[Any]:
    return list(event_table(name, lambda: select(analysis, None)))


def test_work_is_shared_without_loss(analysis: Analysis) -> None:
    work = analysis.device_work
    by_call: dict[int, float] = defaultdict(float)
    for call, flops in zip(work.call.tolist(), work.flops.tolist(), strict=True):
        by_call[call] += flops
    for row in np.flatnonzero(analysis.counted_calls).tolist():
        assert by_call[row] == pytest.approx(analysis.call_work.flops[row])


def test_tables_sum_to_the_calls(analysis: Analysis) -> None:
    whole = analysis.call_work.flops[analysis.counted_calls].sum()
    assert whole > 0
    kernels, calls = table(analysis, "kernels_by_launch"), table(analysis, "operator_calls")
    assert sum(row.flops or 0 for row in kernels) == pytest.approx(whole)
    assert sum(row.count for row in kernels) == len(analysis.device_events)
    total = analysis.device_events.duration.sum() / 1000
    assert sum(row.total_us for row in kernels) == pytest.approx(total)
    for name in ("operators_by_shape", "operators_by_stack", "operators_by_module"):
        rows = table(analysis, name)
        assert sum(row.calls for row in rows) == len(calls)
        for column in ("self_host_us", "self_device_us", "host_us", "device_us"):
            of_calls = sum(getattr(call, column) for call in calls)
            assert sum(getattr(row, column) for row in rows) == pytest.approx(of_calls)


def test_calls_refer_to_their_groups(analysis: Analysis) -> None:
    calls = table(analysis, "operator_calls")
    for column, name in (
        ("by_shape_id", "operators_by_shape"),
        ("by_stack_id", "operators_by_stack"),
        ("by_module_id", "operators_by_module"),
    ):
        groups = {row.id: row for row in table(analysis, name)}
        seen: dict[int, int] = defaultdict(int)
        for call in calls:
            group = groups[getattr(call, column)]
            seen[group.id] += 1
            assert group.name == call.name
        assert seen == {number: row.calls for number, row in groups.items()}


def test_stacks_are_those_around_the_calls(analysis: Analysis) -> None:
    """Against frames found one call at a time."""
    tree = analysis.call_tree
    rows = np.arange(0, len(tree), max(len(tree) // 200, 1))
    numbered = number_stacks(analysis.trace, tree.thread[rows], tree.start[rows])
    wanted = stacks_at(analysis.trace, tree.thread[rows], tree.start[rows])
    assert [numbered.frames(number) for number in numbered.of.tolist()] == wanted
    distinct = {tuple(stack) for stack in wanted}
    assert len(set(numbered.of.tolist())) == len(distinct)


def test_utilization_of_steps_and_modules(analysis: Analysis) -> None:
    """Against a sum over the calls, one by one."""
    tree, work = analysis.call_tree, analysis.call_work
    by_step: dict[int, float] = defaultdict(float)
    by_module: dict[int, float] = defaultdict(float)
    for row in np.flatnonzero(analysis.counted_calls).tolist():
        (step,) = analysis.steps.at(tree.start[[row]]).tolist()
        by_step[step] += work.flops[row]
        module = int(analysis.attribution.row_module[row])
        while module >= 0:
            by_module[module] += work.flops[row]
            module = int(analysis.modules.parent[module])
    for row in table(analysis, "step_utilization"):
        assert (row.flops or 0) == pytest.approx(by_step[row.id])
        if row.mfu is not None:
            assert 0 < row.mfu <= (row.peak_share or 0) <= 1
    for row in table(analysis, "module_utilization"):
        assert (row.flops or 0) == pytest.approx(by_module[row.id])
