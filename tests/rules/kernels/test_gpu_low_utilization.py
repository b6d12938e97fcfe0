"""`gpu-low-utilization`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import ADD, findings, operators, row

RULE = "gpu-low-utilization"
ADDS = [("aten::add", ADD)] * 12


def test_a_device_that_is_busy_for_a_fifth_of_the_time(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators(ADDS))[RULE]
    assert finding.where == "the whole trace"
    assert "launch 184 us" in finding.evidence
    assert finding.gain_bound_us_per_step is None


def test_idle_time_is_charged_once(tmp_path: Path) -> None:
    found = findings(tmp_path, operators(ADDS))
    assert found["launch-queue-shallow"][0].cost_us_per_step == pytest.approx(1 + 11 * 16 + 7)
    assert found[RULE][0].cost_us_per_step == pytest.approx(0)


@pytest.mark.parametrize("call", ["cudaLaunchKernel", "cudaGraphLaunch"])
def test_work_in_replayed_graphs_needs_no_others(tmp_path: Path, call: str) -> None:
    some = operators(ADDS)
    for launch in (each for each in some if each["cat"] == "cuda_runtime"):
        launch["name"] = call
    (finding,) = findings(tmp_path, some)[RULE]
    assert ("are replayed already" in finding.fix) == (call == "cudaGraphLaunch")


def test_a_busy_device(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(ADDS, kernel=11))


def test_a_snippet(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(ADDS[:10]))


def test_set_up_around_a_trace_without_steps(tmp_path: Path) -> None:
    """The same gap counts where steps are marked."""
    some = [
        *operators(ADDS, kernel=18),
        *operators(ADDS, start=9000, kernel=18),
    ]
    assert RULE not in findings(tmp_path, some)
    steps = [row("user_annotation", "ProfilerStep#1", 1000, 9000)]
    assert RULE in findings(tmp_path, some, steps)


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    some = [*operators(ADDS), *operators(ADDS, start=9000)]
    (finding,) = findings(tmp_path, some)[RULE]
    left_out = "the ends of the trace, gaps of more than 1 ms and idle time with work queued"
    assert left_out in finding.evidence
    steps = [row("user_annotation", "ProfilerStep#1", 1000, 9000)]
    (finding,) = findings(tmp_path, some, steps)[RULE]
    left_out = "without what happens once, the profiler's time, the ends of the trace and idle time"
    assert left_out in finding.evidence


def test_code_that_a_launch_loads_is_set_up(tmp_path: Path) -> None:
    """The call takes all 7 ms of it."""
    later = operators([("aten::mul", "mul"), *ADDS], start=8000, kernel=18)
    first = [next(r for r in later if r["cat"] == cat) for cat in ("cpu_op", "cuda_runtime")]
    for each in first:
        each["ts"], each["dur"] = each["ts"] - 7000, each["dur"] + 7000
    some = [*operators(ADDS, kernel=18), *later]
    assert RULE not in findings(tmp_path, some)
    steps = [row("user_annotation", "ProfilerStep#1", 1000, 9000)]
    assert RULE not in findings(tmp_path, some, steps)


@pytest.mark.parametrize(
    ("last", "length", "fires"),
    [
        pytest.param("cudaMalloc", 640, False, id="it only grows"),
        pytest.param("cudaFree", 640, True, id="memory is freed in the trace, too: it may recur"),
        pytest.param("cudaFree", 4, False, id="a library that starts frees nothing"),
    ],
)
def test_a_caching_allocator_that_grows_is_set_up(
    tmp_path: Path, last: str, length: float, fires: bool
) -> None:
    rows = [each for n in range(4) for each in operators(ADDS, start=1000 + 900 * n, kernel=18)]
    calls = [("cudaMalloc", 640), ("cudaMalloc", 640), (last, length)]
    rows += [row("cuda_runtime", name, 1250 + 900 * n, us) for n, (name, us) in enumerate(calls)]
    assert (RULE in findings(tmp_path, rows)) == fires


def test_idle_time_although_work_is_queued(tmp_path: Path) -> None:
    """Kernels of a CUDA graph that a trace does not list leave such a hole."""
    some = [
        *operators(ADDS, kernel=18),
        *operators(ADDS, start=1240, kernel=18, delay=900),
        row("user_annotation", "ProfilerStep#1", 1000, 1500),
    ]
    assert RULE not in findings(tmp_path, some)


@pytest.mark.parametrize(("every", "fires"), [(3, False), (2, True)])
def test_device_events_that_the_profiler_lost(tmp_path: Path, every: int, fires: bool) -> None:
    """Where most of them are, the device may have worked meanwhile."""
    rows = operators([("aten::add", ADD)] * 41)
    kernels = [each for each in rows if each["cat"] == "kernel"]
    kept = [each for each in rows if each not in kernels] + kernels[::every]
    found = findings(tmp_path, kept)
    assert (RULE in found, "launch-queue-shallow" in found) == (fires, fires)
    if fires:
        (finding,) = found["launch-queue-shallow"]
        assert any("lost the device events of 49%" in caveat for caveat in finding.caveats)
