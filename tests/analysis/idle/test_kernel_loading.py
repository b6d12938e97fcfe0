"""Calls that load the code of kernels: by name, and by a first launch that takes far too long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
import shared_traces

from tb_hookview import markers
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData

Launch = tuple[str, int]
"""Kernel, and microseconds that its launch takes."""
USUAL: list[Launch] = [("add", 5), ("mul", 7), ("add", 5), ("mul", 4), ("add", 5)]


def call(name: str, start: int, length: int, **args: int) -> dict[str, Any]:
    row = {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 77, "tid": 1}
    return {**row, "ts": start, "dur": length, "args": args}


def launches(
    *wanted: Launch, api: str = "cudaLaunchKernel", waits: bool = False
) -> list[dict[str, Any]]:
    """Launches in a row, each of a kernel of 3 us that begins as the call returns.

    If the calls wait for their kernels, these begin 2 us after the call and last until it returns.
    """
    events, at = [], 1000
    for number, (kernel, length) in enumerate(wanted, start=1):
        start, end = (at + 2, at + length) if waits else (at + length, at + length + 3)
        row = {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7}
        events += [
            call(api, at, length, correlation=number),
            {**row, "ts": start, "dur": end - start, "args": {"correlation": number, "device": 0}},
        ]
        at += length + 10
    return events


def analyze(folder: Path, events: list[dict[str, Any]]) -> Analysis:
    return load(grid.write(folder / "t.json", events))


def loads_of(folder: Path, events: list[dict[str, Any]]) -> list[float]:
    """Microseconds of each call that loaded."""
    return [time / 1000 for time in analyze(folder, events).kernel_loads.duration.tolist()]


def test_of_few_launches_most_may_load(tmp_path: Path) -> None:
    """Their median would be that of loading."""
    few = [("add", 900), ("mul", 700), ("conv", 800), ("mul", 5)]
    assert loads_of(tmp_path, launches(*few)) == [900, 700, 800]


@pytest.mark.parametrize(("us", "loaded"), [(401, [3000, 401]), (400, [3000])])
def test_of_first_launches_alone_those_load_in_which_the_driver_says_so(
    tmp_path: Path, us: int, loaded: list[float]
) -> None:
    events = launches(("add", 3000), ("mul", us), ("conv", 2000))
    row = {"ph": "X", "cat": "overhead", "pid": -1, "tid": 0, "name": "Lazy Function Loading"}
    rows = [{**row, "ts": at, "dur": 30} for at in (1040, 4100)]
    assert loads_of(tmp_path, [*events, *rows]) == loaded


@pytest.mark.parametrize(
    "api", ["cudaLaunchKernel", "cuLaunchKernelEx", "hipExtModuleLaunchKernel"]
)
def test_a_first_launch_that_takes_far_longer_than_others(tmp_path: Path, api: str) -> None:
    assert loads_of(tmp_path, launches(*USUAL, ("conv", 400), api=api)) == [400]


@pytest.mark.parametrize(
    "launched",
    [
        [*USUAL, ("conv", 90)],
        [*USUAL, ("add", 400)],
        [("conv", 400)],
    ],
    ids=["not that long", "not the first launch of the kernel", "nothing to compare it with"],
)
def test_launches_that_load_nothing(tmp_path: Path, launched: list[Launch]) -> None:
    assert loads_of(tmp_path, launches(*launched)) == []


def test_a_call_that_waits_for_its_kernel(tmp_path: Path) -> None:
    """With CUDA_LAUNCH_BLOCKING the long call is the kernel's own time."""
    assert loads_of(tmp_path, launches(*USUAL, ("conv", 400), waits=True)) == []


def test_the_first_launch_of_a_graph(tmp_path: Path) -> None:
    graph = launches(*USUAL, ("conv", 400), api="cudaGraphLaunch")
    assert loads_of(tmp_path, graph) == []


@pytest.mark.parametrize("name", ["cudaMalloc", "cudaStreamSynchronize"])
def test_a_launch_that_allocates_or_waits_inside(tmp_path: Path, name: str) -> None:
    events = launches(*USUAL, ("conv", 400))
    assert loads_of(tmp_path, [*events, call(name, events[-2]["ts"] + 50, 300)]) == []


def test_calls_that_load_modules(tmp_path: Path) -> None:
    """One inside the launch that is counted already, and one by itself."""
    events = launches(*USUAL, ("conv", 400))
    inside = call("cuModuleLoadData", events[-2]["ts"] + 50, 300)
    before = call("hipModuleLoadData", 500, 120)
    assert loads_of(tmp_path, [*events, inside, before]) == [120, 400]


def test_another_device_loads_the_same_kernel_again(tmp_path: Path) -> None:
    events = launches(*USUAL, ("conv", 400), ("conv", 500), ("conv", 600))
    events[-3]["args"]["device"] = events[-3]["pid"] = 1
    assert loads_of(tmp_path, events) == [400, 500]


MALLOC, ASK, FREE = ("cudaMalloc", 5), ("cudaDeviceGetAttribute", 1), ("cudaFree", 300)


def calls_in_operator(*wanted: Launch, outside: Launch | None = None) -> list[dict[str, Any]]:
    """Launches, and calls one after the other in an operator, with one after it."""
    events, at = launches(*USUAL), 2000
    for name, length in (*wanted, *([outside] if outside else [])):
        events.append(call(name, at, length))
        at += length
    inside = sum(length for _, length in wanted)
    return [*events, {**call("aten::mm", 2000, inside), "cat": "cpu_op"}]


def test_a_library_that_starts(tmp_path: Path) -> None:
    """cuBLAS calls `cudaFree(0)`, which loads its kernels, and asks for the device's properties."""
    events = calls_in_operator(FREE, ("cudaFree", 200), ASK, MALLOC, MALLOC)
    assert loads_of(tmp_path, events) == [300, 200]
    events = calls_in_operator(MALLOC, ("cudaGetSymbolAddress", 1), FREE, MALLOC)
    assert loads_of(tmp_path, events) == [300]
    events = calls_in_operator(FREE, ("cudaGetDeviceCount", 1), MALLOC)
    assert loads_of(tmp_path, events) == [300]


@pytest.mark.parametrize(
    "events",
    [
        calls_in_operator(MALLOC, FREE, FREE, MALLOC),
        calls_in_operator(ASK, MALLOC, FREE, MALLOC),
        calls_in_operator(MALLOC, FREE, outside=ASK),
        calls_in_operator(MALLOC, ("cudaFree", 90), ASK),
    ],
    ids=["retried", "not right after", "outside of the operator", "not that long"],
)
def test_memory_that_is_freed(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    assert loads_of(tmp_path, events) == []


@pytest.mark.parametrize(
    ("at", "length", "loaded"),
    [(100, 601, [601]), (100, 500, []), (450, 601, []), (1005, 601, [])],
    ids=["far longer", "not that long", "the device works before", "not the first"],
)
def test_a_trace_that_begins_as_a_library_starts(
    tmp_path: Path, at: int, length: int, loaded: list[float]
) -> None:
    """What is next to the call may be missing."""
    events = [*launches(*USUAL), call("cudaFree", at, length), call("cudaMalloc", 1900, 5)]
    assert loads_of(tmp_path, events) == loaded


def test_a_library_that_starts_is_no_allocation(tmp_path: Path) -> None:
    launch, kernel = launches(("add", 5))
    launch["args"], kernel["args"]["correlation"] = {"correlation": 9}, 9
    launch["ts"], kernel["ts"] = 2320, 2325
    events = [*calls_in_operator(FREE, ASK, MALLOC), launch, kernel]
    data = report_of(tmp_path, events)
    assert data.steps[0].idle is not None
    assert (data.steps[0].idle.kernel_loading, data.steps[0].idle.allocator) == (300, 5)
    (finding,) = (each for each in data.findings if each.rule == "kernel-first-use")
    assert finding.once_us == 300


def operators(*wanted: tuple[list[Launch], int], name: str = "aten::mm") -> list[dict[str, Any]]:
    """Operators one after the other: calls, and how long after them each launches a kernel."""
    events, at = [], 10_000
    for number, (calls, later) in enumerate(wanted, start=1):
        begun = at
        for api, length in calls:
            events.append(call(api, at, length))
            at += length
        at += later
        row = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 6}
        events += [
            call("cudaLaunchKernel", at, 5, correlation=number),
            {**row, "dur": 3, "args": {"correlation": number, "device": 0}},
            {**call(name, begun, at + 5 - begun), "cat": "cpu_op"},
        ]
        at += 20
    return events


START: list[Launch] = [("cudaFree", 9), ASK, MALLOC]
LATER: tuple[list[Launch], int] = ([], 30)


def test_the_operator_in_which_a_library_starts(tmp_path: Path) -> None:
    """Until it launches, and no matter how long the call lasts by which the library starts."""
    events = operators((START, 4_000), LATER, LATER)
    assert loads_of(tmp_path, events) == [4_015]
    events = operators(([FREE, *START], 4_000), LATER, LATER)
    assert loads_of(tmp_path, events) == [4_315]
    assert loads_of(tmp_path, operators(([("hipInit", 1)], 4_000), LATER)) == [4_001]


def test_a_library_that_asks_for_nothing(tmp_path: Path) -> None:
    """Another one asked before; an allocator frees after it failed to allocate."""
    events = operators(([("cudaFree", 9), MALLOC], 4_000), LATER, LATER)
    assert loads_of(tmp_path, events) == [4_014]


@pytest.mark.parametrize(
    "events",
    [
        operators(([("cudaFree", 9)], 4_000), LATER, LATER),
        operators(([MALLOC, ("cudaFree", 9), MALLOC], 4_000), LATER, LATER),
        operators(([("cudaFree", 9), ("cudaMalloc", 4_000)], 3_900), LATER, LATER),
        operators(LATER, (START, 4_000), LATER),
        operators((START, 400), LATER, LATER),
        operators((START, 4_000)),
    ],
    ids=["frees only", "retried", "mostly allocates", "not the first", "not that late", "no other"],
)
def test_operators_in_which_no_library_starts(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    assert loads_of(tmp_path, events) == []


def test_a_library_that_starts_is_once(tmp_path: Path) -> None:
    events = operators(([], 30), (START, 4_000), LATER, LATER)
    events[2]["name"] = "aten::relu"
    data = report_of(tmp_path, events)
    assert data.steps[0].idle is not None
    assert data.steps[0].idle.kernel_loading == 4_001
    assert data.verdict.once_us == 4_015
    assert [each.rule for each in data.findings] == ["kernel-first-use"]
    assert "1 call in the trace" in data.findings[0].evidence
    assert "1 started a library" in data.findings[0].evidence


def report_of(folder: Path, events: list[dict[str, Any]]) -> ReportData:
    return build_report(analyze(folder, events)).data


def test_the_device_idles_because_of_it(tmp_path: Path) -> None:
    """Of the gap before the last kernel, 400 us are its loading and 7 us before that the host's."""
    (step,) = report_of(tmp_path, launches(*USUAL, ("conv", 400))).steps
    assert step.idle is not None
    assert step.idle.kernel_loading == 400
    assert step.idle.launch == 5 + 14 + 12 + 11 + 12 + 7


def test_overhead_of_the_driver_is_loading(tmp_path: Path) -> None:
    events = launches(("add", 5), ("mul", 90))
    row = {"ph": "X", "cat": "overhead", "pid": -1, "tid": 0, "name": "Lazy Function Loading"}
    (step,) = report_of(tmp_path, [*events, {**row, "ts": 1040, "dur": 30}]).steps
    assert step.idle is not None
    assert step.idle.kernel_loading == 30


def unnamed(at: int, us: int, name: str = "Unrecognized") -> dict[str, Any]:
    return {"ph": "X", "cat": "overhead", "pid": -1, "tid": 0, "name": name, "ts": at, "dur": us}


@pytest.mark.parametrize(
    ("others", "loading", "profiler"),
    [
        ([], 80 + 22, 12 + 6),
        ([unnamed(1500, 20, "Buffer Flush")], 80 + 22, 12 + 6),
        ([unnamed(1500, 20, "Command Buffer Full")], 0, 80 + 20 + 12 + 6),
    ],
    ids=["no other", "of the profiler", "a kind that older Kineto does not know"],
)
def test_unrecognized_overhead_is_loading_in_calls_that_need_code(
    tmp_path: Path, others: list[dict[str, Any]], loading: float, profiler: float
) -> None:
    """A first launch and a look-up, not a later launch and no call."""
    events = launches(("add", 5), ("mul", 90), ("add", 20), ("add", 5))
    for event in events[-2:]:
        event["ts"] += 200
    rows = [unnamed(1018, 80), unnamed(1118, 12), unnamed(1162, 20), unnamed(1200, 6)]
    events += [call("cudaGetSymbolAddress", 1160, 22), *rows, *others]
    (step,) = report_of(tmp_path, events).steps
    assert step.idle is not None
    assert step.idle.kernel_loading == loading
    assert step.idle.profiler == profiler


@pytest.mark.parametrize(
    ("call", "driver", "loaded"),
    [
        ("cudaEventCreate", [(1110, 200), (1320, 70)], [300]),
        ("cudaEventCreate", [(1110, 200), (1120, 190)], [300]),
        ("cudaEventCreate", [(1110, 150)], []),
        ("cudaEventCreate", [(1090, 400)], []),
        ("cudaEventCreate", [], []),
        ("cudaMalloc", [(1110, 200)], []),
    ],
)
def test_a_call_that_launches_nothing_loads_where_the_driver_does_for_most_of_it(
    tmp_path: Path, call: str, driver: list[tuple[int, int]], loaded: list[float]
) -> None:
    events = launches(("add", 5), ("mul", 5))
    runtime = {"ph": "X", "cat": "cuda_runtime", "pid": 77, "tid": 1, "args": {}}
    events.append({**runtime, "name": call, "ts": 1100, "dur": 300})
    row = {"ph": "X", "cat": "overhead", "pid": -1, "tid": 0, "name": "Lazy Function Loading"}
    events += [{**row, "ts": start, "dur": us} for start, us in driver]
    assert loads_of(tmp_path, events) == loaded
    assert report_of(tmp_path, events).verdict.once_us == sum(loaded)


@pytest.mark.parametrize(
    ("name", "us", "loaded"),
    [
        ("cudaFuncSetAttribute", 900, [900]),
        ("cudaFuncGetAttributes", 60, [60]),
        ("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 2000, [2000]),
        ("hipFuncGetAttributes", 60, [60]),
        ("cudaFuncSetAttribute", 40, []),
        ("cudaEventCreate", 900, []),
    ],
)
def test_a_long_call_about_a_kernel_loads_it(
    tmp_path: Path, name: str, us: int, loaded: list[float]
) -> None:
    assert loads_of(tmp_path, [*launches(("add", 5), ("mul", 5)), call(name, 1100, us)]) == loaded


def test_the_module_that_came_first_is_marked(tmp_path: Path) -> None:
    events = launches(*USUAL, ("conv", 400))
    start = events[-2]["ts"]
    rows = [
        ("nn.Module: Net_0", 1000, start + 450),
        ("nn.Module: Conv2d_0", start - 5, start + 420),
    ]
    python = {"ph": "X", "cat": "python_function", "pid": 77, "tid": 1}
    events += [{**python, "name": n, "ts": s, "dur": e - s} for n, s, e in rows]
    modules = {module.path: module for module in report_of(tmp_path, events).modules}
    assert modules["Conv2d_0"].kernel_loading_us == 400
    assert modules["Net_0"].kernel_loading_us == 400


def test_without_launches_it_is_unknown(tmp_path: Path) -> None:
    events = grid.events("main python [net   ]", {"net": "nn.Module: Net_0"})
    (module,) = report_of(tmp_path, events).modules
    assert module.kernel_loading_us is None


@pytest.mark.skipif(
    not shared_traces.FOLDER.is_dir(), reason="no ../shared/traces next to the checkout"
)
def test_a_trace_of_first_uses() -> None:
    """Ten launches of 4.7 to 332 ms, two loads of modules, and MIOpen's start in two operators."""
    analysis = load(shared_traces.FOLDER / "tracelens_mi300_normalization.json.gz")
    loads = sorted(time / 1000 for time in analysis.kernel_loads.duration.tolist())
    assert len(loads) == 14
    assert [round(time) for time in loads[:6]] == [409, 688, 1860, 4675, 8577, 10762]
    assert round(loads[-1]) == 331_627
    modules = {module.path: module for module in build_report(analysis).data.modules}
    loss = modules["MSELoss_0"]
    assert loss.kernel_loading_us == pytest.approx(282_771.3, abs=0.1)
    assert loss.forward.host_us is not None
    assert loss.kernel_loading_us < loss.forward.host_us + (loss.backward.host_us or 0)


@pytest.mark.parametrize(
    ("around", "operator", "kernel", "compiled"),
    [
        ("scripted", "fused_mul_add", "fused_mul_add", [4900]),
        ("scripted", "fused_mul_add", "vectorized_add", []),
        ("scripted", "aten::add", "aten::add", []),
        (markers.encode("forward", "block", "Block"), "fused_mul_add", "fused_mul_add", []),
    ],
    ids=["fused", "a function of that name", "an operator", "Python may run before"],
)
def test_a_function_in_which_the_fuser_of_torchscript_compiles(
    tmp_path: Path, around: str, operator: str, kernel: str, compiled: list[float]
) -> None:
    """Before its first kernel; the second call comes as late, and compiles nothing."""
    calls = [(around, 1000, 20_000), ("aten::cat", 1050, 50)]
    events = []
    for number, at in enumerate((6000, 12_000), start=1):
        calls += [("fallback_function", at, 300), (operator, at + 10, 200)]
        row = {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": at + 90}
        events += [
            call("cuLaunchKernel", at + 50, 30, correlation=number),
            {**row, "dur": 20, "args": {"correlation": number, "device": 0}},
        ]
    events += [{**call(*each), "cat": "cpu_op"} for each in calls]
    analysis = analyze(tmp_path, events)
    assert [time / 1000 for time in analysis.kernel_loads.duration.tolist()] == compiled
    gaps = analysis.gaps
    idle = gaps.duration[gaps.cause == Cause.KERNEL_LOADING].sum() / 1000
    assert idle == sum(compiled)


@pytest.mark.parametrize(("kernels", "profiler"), [(10, 400), (9, None)])
def test_a_slow_first_launch_with_other_kernels_quick_is_the_profilers(
    tmp_path: Path, kernels: int, profiler: int | None
) -> None:
    quick = [(f"k{number}", 5) for number in range(kernels)]
    analysis = analyze(tmp_path, launches(("conv", 400), *quick))
    assert analysis.kernel_loads.by_profiler.tolist() == [profiler is not None]


@pytest.mark.parametrize("later", [("k10", 400), ("conv", 5)])
def test_a_later_load_shows_that_the_first_one_loads(tmp_path: Path, later: Launch) -> None:
    quick = [(f"k{number}", 5) for number in range(10)]
    analysis = analyze(tmp_path, launches(("conv", 400), *quick, later))
    assert analysis.kernel_loads.by_profiler.all() == (later[1] == 5)
    analysis = analyze(tmp_path, launches(*quick, ("conv", 400)))
    assert not analysis.kernel_loads.by_profiler.any()


def test_the_profilers_first_launch_is_idle_time_of_the_profiler(tmp_path: Path) -> None:
    quick = [(f"k{number}", 5) for number in range(10)]
    before = {**call("aten::conv", 990, 420), "cat": "cpu_op"}
    report = build_report(
        load(grid.write(tmp_path / "t.json", [before, *launches(("conv", 400), *quick)]))
    )
    assert report.data.steps[0].idle.profiler == 400
    assert report.data.steps[0].idle.kernel_loading == 0
    assert "kernel-first-use" not in {finding.rule for finding in report.data.findings}
