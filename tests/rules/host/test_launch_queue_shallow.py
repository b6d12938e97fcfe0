"""`launch-queue-shallow`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rules.diagnosed import Diagnosed
from rules.drawn import findings, report
from support.loaded import loaded


def step(launches: int, kernel: int, pause: int = 0, *, mark: bool = True) -> str:
    """Launches of 16 us in a row; a kernel of some length after each."""
    ops = "".join(("[aten::mm        ]" + " " * pause) for _ in range(launches))
    calls = "".join((f" [launch corr={n:03}]" + " " * pause) for n in range(launches))
    free, kernels = 0, ""
    for number in range(launches):
        begin = max(number * (18 + pause) + 8, free)
        free = begin + kernel
        kernels += " " * (begin - len(kernels)) + f"[k corr={number:03}".ljust(kernel - 1) + "]"
    length = max(len(ops), len(kernels))
    rows = [f"main ops    {ops}", f"main calls  {calls}", f"gpu  kernel {kernels}"]
    if mark:
        rows.insert(0, "main notes  [ProfilerStep#1".ljust(length + 14) + "]")
    return "\n".join(rows)


def test_each_kernel_is_done_before_the_next_is_launched(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, step(12, kernel=12))["launch-queue-shallow"]
    assert finding.where == "launches"
    assert finding.cost_us_per_step
    assert finding.cost_us_per_step >= 11 * 4
    assert {advice.id for advice in finding.advice} == {"host-cpu-tuning", "device-choice"}


def test_set_up_that_a_load_of_code_divides_is_one_gap(tmp_path: Path) -> None:
    """1.2 ms before the first kernel, of which 400 us load its code."""
    rows = step(12, kernel=12, pause=10, mark=False).splitlines()
    (usual,) = findings(tmp_path, "\n".join(rows))["launch-queue-shallow"]
    late = [row[:12] + " " * 1200 + row[12:] for row in rows]
    load = "main calls  " + " " * 500 + "[cuModuleLoadData".ljust(399) + "]"
    picture = "\n".join(["main ops    [aten::empty]", load, *late])
    (finding,) = findings(tmp_path, picture)["launch-queue-shallow"]
    assert usual.cost_us_per_step
    assert finding.cost_us_per_step
    assert finding.cost_us_per_step <= usual.cost_us_per_step


def test_the_host_runs_ahead(tmp_path: Path) -> None:
    assert "launch-queue-shallow" not in findings(tmp_path, step(12, kernel=40))


def test_where_it_waits_though_the_queue_is_mostly_deep(tmp_path: Path) -> None:
    """A region of short kernels after one in which the host is far ahead."""
    ahead = step(24, kernel=40).splitlines()
    behind = step(12, kernel=12, pause=10, mark=False).splitlines()
    width = max(len(row) for row in ahead)
    late = [
        row[12:].replace("corr=0", "corr=9").replace("aten::mm ", "aten::add") for row in behind
    ]
    rows = [row.ljust(width) + more for row, more in zip(ahead[1:], late, strict=True)]
    mark = ahead[0].rstrip("]").ljust(max(map(len, rows))) + "]"
    (finding,) = findings(tmp_path, "\n".join([mark, *rows]))["launch-queue-shallow"]
    assert "operators aten::add (" in finding.evidence
    assert "; 53% of all launches found at most 4 device events" in finding.evidence


@pytest.mark.parametrize("pause", [40, 400])
def test_what_the_host_does_in_a_gap_that_is_most_of_it_is_named(
    pause: int, tmp_path: Path
) -> None:
    """After eleven gaps of 6 us one that is shorter or longer than these together."""
    mark, *rows = step(12, kernel=12).splitlines()
    last = ("[aten::mm        ]", " [launch corr=900]", "        [k corr=900]")
    late = [row.ljust(len(mark) + pause) + more for row, more in zip(rows, last, strict=True)]
    late.append("main python".ljust(len(mark)) + "[attend".ljust(pause - 1) + "]")
    picture = "\n".join([mark[:-1].ljust(len(mark) + pause + 20) + "]", *late])
    names = {"attend": "my/attention.py(7): attend"}
    (finding,) = findings(tmp_path, picture, names)["launch-queue-shallow"]
    named = "with the host in attend in attention.py(7); longest for" in finding.evidence
    assert named == (pause == 400)


def test_what_the_host_launches_for_is_named(tmp_path: Path) -> None:
    """The module around the launches, and their operator."""
    picture = step(12, kernel=12)
    length = len(picture.splitlines()[1])
    module = "main python [net".ljust(length - 1) + "]"
    names = {"net": "nn.Module: Net_0"}
    (finding,) = findings(tmp_path, f"{picture}\n{module}", names)["launch-queue-shallow"]
    assert "longest for those of modules Net_0 (" in finding.evidence
    assert " and operators aten::mm (" in finding.evidence
    around = "main ops    [aten::linear".ljust(length - 1) + "]"
    (finding,) = findings(tmp_path, f"{around}\n{picture}")["launch-queue-shallow"]
    assert "all of it with the host in operators; longest for" in finding.evidence


def test_without_operators_nothing_is_said_of_them(tmp_path: Path) -> None:
    calls = "\n".join(row for row in step(12, kernel=12).splitlines() if " ops " not in row)
    (finding,) = findings(tmp_path, calls)["launch-queue-shallow"]
    assert "host in operators" not in finding.evidence
    assert "longest for those of calls cudaLaunchKernel (" in finding.evidence


def test_a_backward_that_the_host_is_late_for_in_a_trace_with_a_deep_queue() -> None:
    found = Diagnosed(loaded("hta_a100_dlrm_trace_diff_control"))
    (finding,) = found["launch-queue-shallow"]
    assert finding.cost_us_per_step == pytest.approx(8194.0, abs=0.1)
    assert (
        "longest for those of annotations ## forward:over_arch ## in the backward (6.44"
        in finding.evidence
    )
    assert "operators AddmmBackward0 (3.00 ms)" in finding.evidence
    assert "in the queue" not in finding.evidence, "22 device events are no shallow queue"


def test_single_delays(tmp_path: Path) -> None:
    assert "launch-queue-shallow" not in findings(tmp_path, step(5, kernel=12))


def test_gaps_of_the_step_that_warms_up_count(tmp_path: Path) -> None:
    """Each step has too few by itself."""
    first, second = step(7, kernel=12), step(7, kernel=12)
    later = second.replace("corr=0", "corr=9").replace("#1", "#2").splitlines()
    width = max(map(len, later))
    rows = zip(first.splitlines(), later, strict=True)
    both = "\n".join(row.ljust(width) + more[12:] for row, more in rows)
    (finding,) = findings(tmp_path, both)["launch-queue-shallow"]
    assert finding.cost_us_per_step == report(tmp_path, both).steps[-1].idle.launch
    assert "launch-queue-shallow" not in findings(tmp_path, first)


def test_gaps_of_1_ms_are_no_pace_of_launches(tmp_path: Path) -> None:
    """Eleven short ones and one long one, before a launch that is late for another reason."""
    mark, *rows = step(12, kernel=12).splitlines()
    last = ("[aten::mm        ]", " [launch corr=900]", "        [k corr=900]")
    late = [row.ljust(len(mark) + 1200) + more for row, more in zip(rows, last, strict=True)]
    picture = "\n".join([mark[:-1].ljust(len(mark) + 1220) + "]", *late])
    found = findings(tmp_path, picture)
    (queue,), (work,) = found["launch-queue-shallow"], found["host-work"]
    assert queue.evidence.startswith("for 74.0 us per step the device waited")
    assert (queue.cost_us_per_step, work.cost_us_per_step) == (74, 1211)


def test_without_steps_long_gaps_may_be_of_the_set_up(tmp_path: Path) -> None:
    assert "launch-queue-shallow" not in findings(
        tmp_path, step(12, kernel=12, pause=1500, mark=False)
    )


def test_without_steps_short_gaps_count(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, step(12, kernel=12, mark=False))["launch-queue-shallow"]
    assert any("no steps" in caveat for caveat in finding.caveats)


def test_set_up_of_a_trace_without_steps_is_no_part_of_it(tmp_path: Path) -> None:
    """Code is loaded for 3 ms after a first kernel, and then there are gaps of 6 us."""
    first = ["[aten::mm        ]", " [launch corr=900]", "        [k corr=900]"]
    load = " " * 30 + "[cuModuleLoadData".ljust(2999) + "]"
    rows = step(12, kernel=12, mark=False).splitlines()
    late = [r[:12] + b.ljust(3050) + r[12:] for r, b in zip(rows, first, strict=True)]
    picture = "\n".join([*late, "main calls  " + load])
    (finding,) = findings(tmp_path, picture)["launch-queue-shallow"]
    assert finding.cost_us_per_step == 112


def test_an_event_that_ends_as_a_launch_begins_is_in_the_queue(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, step(12, kernel=12, pause=1))["launch-queue-shallow"]
    assert "found at most 1 device event in the queue" in finding.evidence
    (finding,) = findings(tmp_path, step(12, kernel=12, pause=2))["launch-queue-shallow"]
    assert "; all launches found no device event in the queue" in finding.evidence


def test_compiled_code_is_not_to_be_compiled(tmp_path: Path) -> None:
    picture = step(12, kernel=12)
    length = len(picture.splitlines()[1])
    region = "main ops    [region".ljust(length - 1) + "]"
    names = {"region": "Torch-Compiled Region: 0/0"}
    (eager,) = findings(tmp_path, picture)["launch-queue-shallow"]
    (compiled,) = findings(tmp_path, f"{picture}\n{region}", names)["launch-queue-shallow"]
    assert "torch.compile or CUDA graphs" in eager.fix
    assert "it waits for launches of compiled code" in compiled.fix


def test_compiled_code_that_replays_graphs_is_not_to_replay_them(tmp_path: Path) -> None:
    """As where guards and copies of inputs come before each replay, in the same region."""
    picture = step(12, kernel=12).replace("[launch corr=005]", "[graph corr=005 ]")
    length = len(picture.splitlines()[1])
    region = "main ops    [region".ljust(length - 1) + "]"
    half = "main ops    [region]".ljust(length // 2) + "[region".ljust(length // 2 - 1) + "]"
    names = {"region": "Torch-Compiled Region: 0/0", "graph": "cudaGraphLaunch"}
    (replays,) = findings(tmp_path, f"{picture}\n{region}", names)["launch-queue-shallow"]
    assert "replays CUDA graphs already" in replays.fix
    assert "reduce-overhead" not in replays.fix
    (other,) = findings(tmp_path, f"{picture}\n{half}", names)["launch-queue-shallow"]
    assert "already" not in other.fix, "the graph is not in the region that launches"


def test_work_in_replayed_graphs_is_not_to_be_recorded(tmp_path: Path) -> None:
    """Unless most of it is launched outside of them."""
    picture = step(12, kernel=12)
    names = {"graph": "cudaGraphLaunch"}
    most, few = (
        findings(tmp_path, picture.replace("[launch corr=00", "[graph corr=00", count), names)
        for count in (10, 3)
    )
    (replays,), (eager,) = most["launch-queue-shallow"], few["launch-queue-shallow"]
    assert "are replayed already" in replays.fix
    assert "torch.compile" not in replays.fix
    assert "torch.compile or CUDA graphs" in eager.fix


def test_what_counts_is_the_time_before_compiled_launches(tmp_path: Path) -> None:
    """Half as many launches as the others, and three times the wait before each."""
    eager = step(20, kernel=12).splitlines()
    late = step(10, kernel=12, pause=12, mark=False).splitlines()
    late = [row[12:].replace("corr=0", "corr=9").replace("k corr", "c corr") for row in late]
    begins, length = max(len(row) for row in eager), max(len(row) for row in late)
    rows = [row.ljust(begins) + more for row, more in zip(eager[1:], late, strict=True)]
    mark = eager[0].rstrip("]").ljust(begins + length) + "]"
    region = "main ops    ".ljust(begins) + "[region".ljust(length) + "]"
    names = {"region": "Torch-Compiled Region: 0/0"}
    (finding,) = findings(tmp_path, "\n".join([mark, *rows, region]), names)["launch-queue-shallow"]
    assert finding.count >= 28
    assert "it waits for launches of compiled code" in finding.fix


def test_a_range_around_the_forward_is_no_module(tmp_path: Path) -> None:
    """An annotation that stands for a module is called one."""
    picture = step(12, kernel=12).replace("[aten::mm        ]", "[aten::mm seq=1  ]", 1)
    length = len(picture.splitlines()[1])
    range_ = "main notes  [range".ljust(length - 1) + "]"
    node = "engine ops  ".ljust(length) + "[MmBackward0 seq=1 F=1]"
    names = {"range": "## forward:net ##"}
    (finding,) = findings(tmp_path, f"{picture}\n{range_}\n{node}", names)["launch-queue-shallow"]
    assert "longest for those of annotations ## forward:net ## (" in finding.evidence
    assert "modules" not in finding.evidence


def test_the_backward_of_what_is_in_a_range_is_not_in_the_range(tmp_path: Path) -> None:
    """Nodes are of the annotation that stands for their module, which is over by then."""
    mark, ops, calls, kernels = step(12, kernel=12).splitlines()
    wide = len(mark)
    back = [row[12:].replace("corr=0", "corr=1") for row in (ops, calls, kernels)]
    node = "[MmBackward0 seq=1 F=1".ljust(len(back[0]) + 1) + "]"
    rows = [
        mark[:-1] + " " * wide + "]",
        "main notes  [range".ljust(wide) + "]",
        ops.replace("[aten::mm        ]", "[aten::mm seq=1  ]", 1),
        calls,
        "engine ops  ".ljust(wide) + node,
        "engine ops  ".ljust(wide + 1) + back[0],
        "engine calls".ljust(wide + 1) + back[1],
        kernels.ljust(wide + 1) + back[2],
    ]
    names = {"range": "## forward:net ##"}
    (finding,) = findings(tmp_path, "\n".join(rows), names)["launch-queue-shallow"]
    assert re.search(r"annotations.* ## forward:net ## \(\d+", finding.evidence)
    assert re.search(r"annotations.* ## forward:net ## in the backward \(\d+", finding.evidence)


def test_a_snippet_of_ten_device_events(tmp_path: Path) -> None:
    """Each has a gap of its own before it; the caller's mark is longer than they are."""
    assert "launch-queue-shallow" in findings(tmp_path, step(11, kernel=12, pause=10))
    assert "launch-queue-shallow" not in findings(tmp_path, step(10, kernel=12, pause=10))
