"""Agreement with torch_tb_profiler, whose parser runs here: on its own samples, on drawn steps, and
of its memory view."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest
import shared_traces
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.loaded import loaded, reported
from torch_tb_profiler.profiler.data import RunProfileData

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.breakdown import CATEGORIES, find_breakdown
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.tables.devices import breakdown_rows, device_rows
from tb_hookview.report.tables.memory import memory_operator_rows
from tb_hookview.schema import Breakdown, ReportData

pytestmark = pytest.mark.filterwarnings("ignore:The copy keyword is deprecated")

GOLDEN = {
    "kineto_resnet50_num_workers_0/worker0.1623143089861": (
        (98589, 1915, 89, 0, 2908, 59262, 13674, 1156, 177592),
        (55.51, 54.68, 49.13),
        0.676,
    ),
    "kineto_resnet50_num_workers_0/worker0.1623143566756": (
        (98535, 1734, 89, 0, 4053, 35504, 13786, 1210, 154911),
        (63.61, 62.65, 49.14),
        None,
    ),
    "kineto_resnet50_num_workers_4/worker0.1623212756351": (
        (99145, 3160, 98, 0, 10564, 1186, 22665, 4251, 141068),
        (70.27, 69.22, 48.91),
        0.678,
    ),
    "kineto_resnet50_num_workers_4/worker0.1623213129365": (
        (99044, 2885, 98, 0, 10581, 292, 14313, 15596, 142808),
        (69.35, 68.32, 48.91),
        None,
    ),
}
"""Mean step by category and as a whole (us); utilization, SM efficiency, occupancy (%); share of
eligible kernels. Of the first span of each run from `tb_plugin/test/result_check_file.txt` of
pytorch/kineto, of the second from a run of torch_tb_profiler 0.4.3."""

FIRST, LAST = tuple(GOLDEN)[::3]
PARSED = (FIRST, pytest.param(LAST, marks=pytest.mark.slow))
"""One span of each run is parsed here; `benchmarks/agreement.py` parses all."""

WITH_ADDRESSES = (
    "tracelens_h100_bert_small",
    "tracelens_h100_qwen",
    "tracelens_mi300_ddp_resnet18",
)
"""Traces whose memory events have addresses; those of the samples have none."""


def ours(sample: str) -> ReportData:
    return reported(sample).data


@cache
def tables(sample: str) -> dict[str, Any]:
    return reported(sample).tables()


@cache
def theirs(sample: str) -> Any:
    return RunProfileData.parse("worker", None, str(shared_traces.shared_trace(sample)), None)


def breakdown(rows: list[Breakdown]) -> list[list[float]]:
    """Categories and the whole of each step, as torch_tb_profiler has them."""
    return [[*(getattr(row, f"{name}_us") for name in CATEGORIES), row.duration_us] for row in rows]


@pytest.mark.parametrize("sample", GOLDEN)
def test_the_golden_numbers_of_the_samples(sample: str) -> None:
    steps, percents, eligible = GOLDEN[sample]
    selection = select(loaded(sample), None)
    found = find_breakdown(selection.analysis)
    rows = breakdown(breakdown_rows(selection, found))
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    assert mean == pytest.approx(steps, abs=0.5 + 1e-9)
    (device,) = device_rows(selection, found)
    assert device.utilization
    assert device.sm_efficiency
    assert round(100 * device.utilization, 2) == percents[0]
    assert round(100 * device.sm_efficiency, 2) == percents[1]
    assert round(device.occupancy_pct or 0.0, 2) == percents[2]
    assert device.tensor_core_us == 0
    if eligible:
        assert round(device.tensor_core_eligible_us / device.kernel_us, 3) == eligible


@pytest.mark.parametrize("sample", PARSED)
def test_every_step_by_category(sample: str) -> None:
    assert breakdown(ours(sample).breakdown) == [
        costs.costs for costs in theirs(sample).steps_costs
    ]
    names = [row.step.removeprefix("ProfilerStep#") for row in ours(sample).breakdown]
    assert names == theirs(sample).steps_names


@pytest.mark.parametrize("sample", PARSED)
def test_metrics_of_the_device(sample: str) -> None:
    (device,), metrics = ours(sample).devices, theirs(sample).gpu_metrics_parser
    assert metrics.gpu_ids == {0}
    assert device.utilization == metrics.gpu_utilization[0]
    assert device.sm_efficiency == pytest.approx(
        metrics.avg_approximated_sm_efficiency_per_device[0], rel=1e-12
    )
    assert device.occupancy_pct == pytest.approx(metrics.avg_occupancy_per_device[0], rel=1e-12)
    share = device.tensor_core_eligible_us / device.kernel_us
    assert share == pytest.approx(theirs(sample).tc_eligible_ops_kernel_ratio, rel=1e-12)


@pytest.mark.parametrize("sample", PARSED)
def test_every_operator(sample: str) -> None:
    """All of theirs to the microsecond; ours also lists annotations, which theirs leaves out."""
    found = {
        row.name: (
            row.calls,
            row.host_us,
            row.self_host_us,
            row.device_us,
            row.self_device_us,
        )
        for row in ours(sample).operators
    }
    wanted = {
        op.name: (
            op.calls,
            op.host_duration,
            op.self_host_duration,
            op.device_duration,
            op.self_device_duration,
        )
        for op in theirs(sample).op_list_groupby_name
    }
    assert len(wanted) in (69, 76)
    assert {name: found[name] for name in wanted} == wanted
    assert all(name.startswith(("Optimizer.", "enumerate(")) for name in found.keys() - wanted)


@pytest.mark.parametrize("sample", PARSED)
def test_every_kernel(sample: str) -> None:
    """By name; a kernel with its kind from its operator is several rows."""
    table = theirs(sample).kernel_stat
    rows = [row for row in ours(sample).kernels if row.event == "kernel"]
    assert {row.name for row in rows} == set(table.index)
    for name, wanted in table.iterrows():
        mine = [row for row in rows if row.name == name]
        total = sum(row.total_us for row in mine)
        assert (sum(row.count for row in mine), total) == (wanted["count"], wanted["sum"])
        assert max(row.max_us for row in mine) == wanted["max"]
        assert any(row.tensor_core for row in mine) == wanted["tc_used"]
        for column, field in (("blocks_per_sm", "blocks_per_sm"), ("occupancy", "occupancy_pct")):
            mean = sum((getattr(row, field) or 0.0) * row.total_us for row in mine) / total
            assert mean == pytest.approx(wanted[column], rel=1e-9)


@pytest.mark.parametrize("sample", PARSED)
def test_tensor_cores_of_every_operator(sample: str) -> None:
    found = {
        row.name: (row.tensor_core_eligible, row.self_tensor_core_us, row.tensor_core_us)
        for row in ours(sample).operators
    }
    assert any(row.tensor_core_eligible for row in ours(sample).operators)
    for op in theirs(sample).op_list_groupby_name:
        assert found[op.name] == (op.tc_eligible, op.tc_self_duration, op.tc_total_duration)


def spaceless(text: object) -> str:
    return str(text).replace(" ", "")


@pytest.mark.parametrize("sample", PARSED)
def test_every_operator_by_input_shape(sample: str) -> None:
    """All of theirs to the microsecond; ours also lists annotations."""
    found = {
        (row.name, spaceless(row.shapes)): (
            row.calls,
            row.host_us,
            row.self_host_us,
            row.device_us,
            row.self_device_us,
        )
        for row in tables(sample)["operators_by_shape"]
    }
    wanted = {
        (op.name, spaceless(op.input_shape)): (
            op.calls,
            op.host_duration,
            op.self_host_duration,
            op.device_duration,
            op.self_device_duration,
        )
        for op in theirs(sample).op_list_groupby_name_input
    }
    assert len(wanted) > 500
    assert {key: found[key] for key in wanted} == wanted
    assert {shapes for _, shapes in found.keys() - wanted.keys()} == {"None"}


@pytest.mark.parametrize("sample", PARSED)
def test_every_kernel_by_launching_operator_and_configuration(sample: str) -> None:
    """All of theirs; a mean of kernels that took no time is 0 there."""
    found = {}
    for row in tables(sample)["kernels_by_launch"]:
        if row.event == "kernel":
            launch = (row.grid, row.block, row.registers, row.shared_memory)
            key = (row.name, row.operator, *map(spaceless, launch))
            assert key not in found
            found[key] = row
    wanted = theirs(sample).kernel_list_groupby_name_op
    assert len(found) == len(wanted) > 200
    for kernel in wanted:
        launch = (kernel.grid, kernel.block, kernel.regs_per_thread, kernel.shared_memory)
        row = found[(kernel.name, kernel.op_name, *map(spaceless, launch))]
        times = (row.count, row.total_us, row.min_us, row.max_us)
        assert times == (
            kernel.calls,
            kernel.total_duration,
            kernel.min_duration,
            kernel.max_duration,
        )
        assert row.mean_us == pytest.approx(kernel.avg_duration)
        assert (row.tensor_core, row.operator_eligible) == (kernel.tc_used, kernel.op_tc_eligible)
        if kernel.total_duration:
            assert row.blocks_per_sm == pytest.approx(kernel.avg_blocks_per_sm)
            assert row.occupancy_pct == pytest.approx(kernel.avg_occupancy)


def device_of(name: str) -> str:
    """Our name of a device of theirs: `CPU`, `GPU0`."""
    return "cpu" if name == "CPU" else f"cuda:{name.removeprefix('GPU')}"


@pytest.mark.parametrize("sample", [*PARSED, *WITH_ADDRESSES])
def test_statistics_of_operators(sample: str) -> None:
    parsed = theirs(sample)
    wanted = {
        (device_of(device), operator): values
        for device, rows in parsed.memory_snapshot.get_memory_statistics(parsed.tid2tree).items()
        for operator, values in rows.items()
    }
    found = {
        (row.device, row.operator): [
            row.self_increase_bytes,
            row.self_allocated_bytes,
            row.self_allocations,
            row.increase_bytes,
            row.allocated_bytes,
            row.allocations,
            row.calls,
        ]
        for row in memory_operator_rows(select(loaded(sample), None))
    }
    # Theirs counts what a call in another one of its name allocates twice.
    nested = _nested(loaded(sample))
    for table in (found, wanted):
        for (_, operator), values in table.items():
            values[3:6] = [] if operator in nested else values[3:6]
    assert found == wanted


def _nested(analysis: Analysis) -> set[str]:
    """Names of operators of which one runs in another."""
    tree, string, found = analysis.call_tree, analysis.host.string, set()
    for row, above in enumerate(tree.parent.tolist()):
        while above >= 0 and string[above] != string[row]:
            above = int(tree.parent[above])
        if above >= 0:
            found.add(analysis.trace.strings[int(string[row])])
    return found


@pytest.mark.parametrize("sample", WITH_ADDRESSES)
def test_pairs_of_allocation_and_release(sample: str) -> None:
    """Size, times and operator of each pair, and the times of those without a partner."""
    records = theirs(sample).memory_snapshot.memory_records
    open_blocks: dict[int, Any] = {}
    wanted: Counter[Any] = Counter()
    for record in records:  # as `RunProfile.get_memory_events` pairs them
        if record.is_allocation:
            open_blocks[record.addr] = record
        elif record.addr in open_blocks:
            begin = open_blocks.pop(record.addr)
            wanted[begin.op_name, -record.bytes, _ns(begin.ts), _ns(record.ts)] += 1
        else:
            wanted[None, -record.bytes, None, _ns(record.ts)] += 1
    wanted.update((r.op_name, r.bytes, _ns(r.ts), None) for r in open_blocks.values())
    memory = loaded(sample).memory
    assert memory
    found: Counter[Any] = Counter()
    blocks, events = memory.blocks, memory.events
    names = _operators(loaded(sample), memory.lives.birth_row.tolist())
    for name, birth, death, size in zip(
        names, blocks.birth.tolist(), blocks.death.tolist(), blocks.size.tolist(), strict=True
    ):
        begin, end = (int(events.time[at]) if at >= 0 else None for at in (birth, death))
        found[name, size, begin, end] += 1
    assert {_rounded(key): n for key, n in found.items()} == {
        _rounded(key): n for key, n in wanted.items()
    }


def _operators(analysis: Analysis, rows: list[int]) -> list[str | None]:
    """Operator whose row is the innermost of all, as theirs count it; none for another row."""
    named = analysis.operators.named
    return [analysis.host.name(row) if row >= 0 and named[row] else None for row in rows]


def _ns(time: float) -> int:
    return round(time * 1000)


def _rounded(key: Any) -> Any:
    """Times to the microsecond: theirs are floats of microseconds since 1970."""
    name, size, begin, end = key
    return name, size, *(None if t is None else round(t / 1000) for t in (begin, end))


MOMENT = st.integers(0, 400)
LENGTH = st.integers(1, 120)
EVENT = st.tuples(
    st.sampled_from(("Operator", "DataLoader", "launch", "Memcpy", "Memset")),
    MOMENT,
    LENGTH,
    LENGTH,
)


def trace_of(steps: list[int], drawn: list[tuple[str, int, int, int]]) -> list[dict[str, Any]]:
    """Steps one after the other from 0, and events; launches with device events."""
    events, start = [], 0
    for number, length in enumerate(steps):
        events.append(row("Operator", f"ProfilerStep#{number}", start, length, 0))
        start += length
    for number, (kind, at, length, later) in enumerate(drawn, 1):
        if kind == "Operator":
            events.append(row(kind, "aten::mm", at, length, number))
        elif kind == "DataLoader":
            name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
            events.append(row("Operator", name, at, length, number))
        else:
            work = "Kernel" if kind == "launch" else kind
            link = {"correlation": number, "device": 0, "external id": 0}
            link |= {"blocks per SM": length / 60, "est. achieved occupancy %": later % 101}
            events.append(row("Runtime", "cudaLaunchKernel", at, length, number, link))
            events.append(row(work, "k", at + length + later, later, 7, link))
    return events


def row(
    kind: str, name: str, start: int, length: int, thread: int, link: dict[str, Any] | None = None
) -> dict[str, Any]:
    on_device = kind in ("Kernel", "Memcpy", "Memset")
    return {
        "ph": "X",
        "cat": kind,
        "name": name,
        "pid": 0 if on_device else 77,
        "tid": thread,
        "ts": 1000 + start,
        "dur": length,
        "args": {"external id": 0, **(link or {})},
    }


@settings(max_examples=40)
@given(st.lists(st.integers(20, 150), min_size=1, max_size=4), st.lists(EVENT, max_size=12))
def test_drawn_steps(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[int],
    drawn: list[tuple[str, int, int, int]],
) -> None:
    content = {"schemaVersion": 1, "traceEvents": trace_of(steps, drawn)}
    path = tmp_path_factory.getbasetemp() / "drawn.json"
    path.write_text(json.dumps(content))
    selection, peer = select(load(path), None), RunProfileData.from_json("worker", None, content)
    found = find_breakdown(selection.analysis)
    wanted = [costs.costs for costs in peer.steps_costs]
    # Once no time of any step is left it starts over, and gives the later categories time twice.
    assume(all(sum(costs[:-1]) == costs[-1] for costs in wanted))
    assert breakdown(breakdown_rows(selection, found)) == wanted
    metrics = peer.gpu_metrics_parser
    for device in device_rows(selection, found) if metrics.gpu_ids else []:
        assert device.utilization == pytest.approx(metrics.gpu_utilization[0])
        assert device.sm_efficiency == nearly(metrics.avg_approximated_sm_efficiency_per_device[0])
        assert device.occupancy_pct == nearly(metrics.avg_occupancy_per_device[0])


def nearly(value: float | None) -> Any:
    return None if value is None else pytest.approx(value)
