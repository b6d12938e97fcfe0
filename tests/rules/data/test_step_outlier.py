"""`step-outlier`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import findings


def steps(*lengths: int, busy: int = 0) -> str:
    """Steps of some lengths, in each of which one kernel is launched at the end.

    Args:
        lengths: microseconds, from 60.
        busy: how much longer than 9 us the kernel of the longest step takes.
    """
    notes, ops, calls, kernels = "", "", "", ""
    for number, length in enumerate(lengths):
        notes += f"[ProfilerStep#{number}".ljust(length - 1) + "]"
        wide = busy if length == max(lengths) else 0
        ops += ("[aten::mm        ]" + " " * (22 + wide)).rjust(length)
        calls += (f" [launch corr={number}]" + " " * (24 + wide)).rjust(length)
        kernels += (f"[k corr={number}" + " " * wide + "]    ").rjust(length)
    return "\n".join(
        [
            f"main notes  {notes}",
            f"main ops    {ops}",
            f"main calls  {calls}",
            f"gpu  kernel {kernels}",
        ]
    )


def test_one_step_takes_twice_as_long(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, steps(60, 60, 60, 130, 60, 60, 60))["step-outlier"]
    assert finding.where == "ProfilerStep#3"
    assert finding.cost_us_per_step
    assert finding.cost_us_per_step > 70 / 5


def test_a_step_in_which_the_device_has_more_to_do(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, steps(60, 60, 60, 130, 60, 60, 60, busy=70))["step-outlier"]
    assert finding.severity == "info"
    assert finding.cost_us_per_step == 0
    assert "waits no longer for the host in it" in finding.evidence


def test_a_step_that_is_slow_all_over(tmp_path: Path) -> None:
    """Four of its five gaps are 60 us longer, and none is longer than the longest of the others."""
    usual, slow = (120, 60, 60, 60, 60), (120, 120, 120, 120, 120)
    lengths = [usual, usual, usual, slow, usual, usual, usual]
    _, *others = steps(*(length for step in lengths for length in step)).splitlines()
    bars = [f"[ProfilerStep#{n}".ljust(sum(step) - 1) + "]" for n, step in enumerate(lengths)]
    (finding,) = findings(tmp_path, "\n".join([f"main notes  {''.join(bars)}", *others]))[
        "step-outlier"
    ]
    assert "the mean step is 40.0 us longer for it" in finding.evidence
    assert finding.cost_us_per_step == pytest.approx(222 / 6)
    assert finding.gain_us_per_step == pytest.approx(222 / 6)


def test_a_step_that_does_more_is_no_matter_of_other_programs(tmp_path: Path) -> None:
    evaluated = "[aten::mm ][aten::argmax]"
    drawn = f"{steps(60, 60, 60, 130, 60, 60, 60)}\nmain ops {' ' * 183}{evaluated}"
    (finding,) = findings(tmp_path, drawn)["step-outlier"]
    assert "; 3 operators run in it, in others at most 1; " in finding.evidence
    assert finding.fix.startswith("It does more than the others: evaluate, save or log less often")


@pytest.mark.parametrize(("other", "explains"), [(90, True), (66, False)])
def test_another_step_that_does_as_much(tmp_path: Path, other: int, explains: bool) -> None:
    """What it takes longer than the median is a part of the difference."""
    evaluated = "[aten::mm ][aten::argmax]"
    row = f"main ops {' ' * 64}{evaluated}".ljust(9 + 184 + other) + evaluated
    lines = f"{steps(60, other, 60, 60, 130, 60, 60, 60, 60)}\n{row}"
    (finding,) = findings(tmp_path, lines)["step-outlier"]
    said = "; 3 operators run in it, in most others at most 1; those with as many take 90.0 us"
    assert (said in finding.evidence) is explains
    assert finding.fix.startswith("It does more than the others: evaluate") is explains
    assert "Garbage collection" in finding.fix


def test_a_step_that_waits_for_a_loader_is_in_the_cost_of_that(tmp_path: Path) -> None:
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    drawn = f"{steps(60, 60, 60, 130, 60, 60, 60)}\nmain notes {' ' * 183}[{loader}          ]"
    found = findings(tmp_path, drawn)
    (finding,), (charged,) = found["step-outlier"], found["loader-single-process"]
    assert (finding.cost_us_per_step, bool(charged.cost_us_per_step)) == (0, True)
    assert finding.evidence.endswith(
        "what the device waits longer for the host in it is in the cost of other findings"
    )
    assert "persistent_workers" in finding.fix


def test_steps_alike(tmp_path: Path) -> None:
    assert "step-outlier" not in findings(tmp_path, steps(60, 60, 62, 80, 60, 60, 60))


def test_the_first_warms_up_and_in_the_last_the_profiler_stops(tmp_path: Path) -> None:
    assert "step-outlier" not in findings(tmp_path, steps(200, 60, 60, 60, 60, 60, 200))


def test_too_few_steps_to_say_what_is_usual(tmp_path: Path) -> None:
    assert "step-outlier" not in findings(tmp_path, steps(60, 60, 130, 60, 60))


def test_where_many_are_long_all_of_them_vary(tmp_path: Path) -> None:
    lengths = (60, 60, 110, 60, 130, 60, 120, 60, 60, 60)
    assert "step-outlier" not in findings(tmp_path, steps(*lengths))


def test_one_is_far_longer_than_those_that_vary(tmp_path: Path) -> None:
    lengths = (60, 60, 110, 60, 60, 60, 600, 110, 60, 60, 60, 110, 60, 110, 60, 60)
    (finding,) = findings(tmp_path, steps(*lengths))["step-outlier"]
    assert finding.where == "ProfilerStep#6"


def test_several_outliers_are_one_finding(tmp_path: Path) -> None:
    lengths = (60, 60, 60, 60, 130, 60, 120, 60, 60, 60)
    (finding,) = findings(tmp_path, steps(*lengths))["step-outlier"]
    assert (finding.where, finding.count) == ("ProfilerStep#4, ProfilerStep#6", 2)
    assert finding.evidence.startswith(
        "130 us, 120 us, where the median of 8 steps is 60.0 us: the mean step is 14.4 us longer "
        "for it; the largest part of the difference, 130 us of 130 us, is spent"
    )
    assert finding.cost_us_per_step
    assert finding.cost_us_per_step > (70 + 60) / 9


def test_a_trace_without_a_device_is_not_said_to_have_no_gaps_of_one(tmp_path: Path) -> None:
    drawn = steps(60, 60, 60, 130, 60, 60, 60).splitlines()[:2]
    (finding,) = findings(tmp_path, "\n".join(drawn))["step-outlier"]
    assert "the mean step is 11.7 us longer for it" in finding.evidence
    assert "the device" not in finding.evidence
    assert "on the same cores" in finding.fix
    assert finding.cost_us_per_step is None
