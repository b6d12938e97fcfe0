"""`tiny-kernels-launch-bound`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import ADD, findings, operators, row

RULE = "tiny-kernels-launch-bound"
ADDS = [("aten::add", ADD)] * 60


def test_kernels_that_end_before_the_next_launch(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators(ADDS))[RULE]
    assert finding.cost_us_per_step == pytest.approx(1 + 59 * 16 + 7)
    assert finding.count == 60
    assert finding.advice == []


@pytest.mark.parametrize("count", [4, 7])
def test_steps_of_few_kernels_as_where_none_is_marked(tmp_path: Path, count: int) -> None:
    """Of ten each; the first warms up."""
    rows = operators([("aten::mul", ADD)] * 10 * count)
    steps = [row("user_annotation", f"ProfilerStep#{n}", 999 + 200 * n, 199) for n in range(count)]
    assert (RULE in findings(tmp_path, rows, steps)) == (count == 7)
    assert (RULE in findings(tmp_path, rows)) == (count == 7)


def test_kernels_that_are_not_short(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(ADDS, kernel=12))


def test_kernels_that_wait_in_the_queue(tmp_path: Path) -> None:
    """The host is fast, and the device goes from one to the next."""
    some = operators(ADDS, period=4.5, kernel=4.5, delay=40)
    assert RULE not in findings(tmp_path, some)


def test_few_kernels(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(ADDS[:40]))


def test_long_gaps_between_launches(tmp_path: Path) -> None:
    """What takes the host longer than a launch has other reasons."""
    assert RULE not in findings(tmp_path, operators(ADDS, period=300))


def test_longer_gaps_are_the_same_problem(tmp_path: Path) -> None:
    """All gaps below 1 ms are in its cost, and no finding of the queue says the same again."""
    late = operators(ADDS[:12], start=1000 + 60 * 20 + 400, period=300)
    found = findings(tmp_path, operators(ADDS), late)
    assert "and 12 longer ones below 1 ms" in found[RULE][0].evidence
    assert "operators aten::add (" in found[RULE][0].evidence
    assert found[RULE][0].count == 60 + 12
    assert "launch-queue-shallow" not in found


def test_a_gap_that_other_causes_cut_is_one(tmp_path: Path) -> None:
    """A copy of the host lies in one of 91 us: before it and after it is that of one launch."""
    copy = row("cuda_runtime", "cudaMalloc", 2240, 20)
    (finding,) = findings(tmp_path, operators(ADDS), operators(ADDS[:1], start=2295), [copy])[RULE]
    assert finding.count == 61
    assert "61 gaps of up to 200 us" in finding.evidence
    assert finding.cost_us_per_step == pytest.approx(1 + 59 * 16 + 7 + 111 - 20)


def test_pieces_of_a_longer_gap_do_not_count(tmp_path: Path) -> None:
    """One of 1.2 ms, which allocations cut into pieces of up to 300 us."""
    cuts = [row("cuda_runtime", "cudaMalloc", 2400 + 300 * i, 100) for i in range(4)]
    (finding,) = findings(tmp_path, operators(ADDS), operators(ADDS[:1], start=3600), cuts)[RULE]
    assert finding.count == 60
    assert finding.cost_us_per_step == pytest.approx(1 + 59 * 16 + 7)


def test_what_is_compiled_launches_for_itself(tmp_path: Path) -> None:
    """Inductor times kernels as it compiles: these launches and gaps are no step's."""
    tuning = row("user_annotation", "CachingAutotuner.benchmark_all_configs (dynamo_timed)", 900, 5)
    tuning["dur"] = 60 * 20 + 200
    assert RULE not in findings(tmp_path, operators(ADDS), [tuning])


def test_set_up_of_a_trace_without_steps_is_no_part_of_it(tmp_path: Path) -> None:
    """Code is loaded for 20 ms before launches of 1.2 ms."""
    load = row("cuda_driver", "cuModuleLoadData", 500, 20_000)
    late = operators(ADDS, start=20_600)
    (finding,) = findings(tmp_path, [load], operators(ADDS[:1], start=400), late)[RULE]
    assert finding.cost_us_per_step == pytest.approx(59 * 16 + 8), "nor what is around it"


def test_kernels_of_a_graph(tmp_path: Path) -> None:
    """One call launches them all; the gap before it is as long as for kernels launched alone."""
    first = operators(ADDS[:1])
    graph = row("cuda_runtime", "cudaGraphLaunch", 1100, 10, correlation=1)
    place = {"ph": "X", "cat": "kernel", "name": ADD, "pid": 0, "tid": 7}
    args = {"correlation": 1, "device": 0, "stream": 7}
    kernels = [{**place, "ts": 1115 + 2 * i, "dur": 2, "args": args} for i in range(60)]
    assert RULE not in findings(tmp_path, first, [graph], kernels)


def test_compiled_code_is_not_to_be_compiled(tmp_path: Path) -> None:
    assert "torch.compile, or" in findings(tmp_path, operators(ADDS))[RULE][0].fix
    region = row("cpu_op", "Torch-Compiled Region: 0/0", 990, 60 * 20 + 60)
    fix = findings(tmp_path, operators(ADDS), [region])[RULE][0].fix
    assert fix.startswith("Most of the time the device waits for launches of compiled code.")
    assert "fuse" not in fix


@pytest.mark.parametrize("replays", [True, False])
def test_a_graph_is_no_remedy_where_graphs_are_only_recorded(tmp_path: Path, replays: bool) -> None:
    calls = [row("cuda_runtime", "cudaStreamBeginCapture", 1000 + 60 * 20, 2)]
    calls += [row("cuda_runtime", "cudaGraphLaunch", 1000 + 60 * 20 + 5, 2)] * replays
    (finding,) = findings(tmp_path, operators(ADDS), calls)[RULE]
    assert ("none is replayed" in finding.fix) == (not replays)
    assert ("replay them from a CUDA graph" in finding.fix) == replays


@pytest.mark.parametrize("kernel", [4, 9])
def test_operators_that_go_on_after_their_launch(tmp_path: Path, kernel: float) -> None:
    """What is launched late is not always what the host was in."""
    (finding,) = findings(tmp_path, operators(ADDS, kernel=kernel))[RULE]
    said = "for 413 us of these the host was still in operators before: aten::add (413 us)"
    assert (said in finding.evidence) == (kernel == 4)
