"""Limits of `hookview check` on the time of steps."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from support.command import call

from tb_hookview.cli import checks as checks_time
from tb_hookview.errors import UsageError
from tb_hookview.loading import analyze
from tb_hookview.report.result import Report

EVALUATE = "autograd::engine::evaluate_function: "
NAMES = {f"s{number}": f"ProfilerStep#{number}" for number in range(4)}


def recorded(folder: Path, name: str, *lengths: int) -> Report:
    """A first step that is not measured, then steps of these lengths in microseconds."""
    steps = "".join(
        f"[s{number}{' ' * (length - len(f's{number}') - 2)}]"
        for number, length in enumerate((10, *lengths))
    )
    work = "".join(f"[mm{' ' * (length - 4)}]" for length in (10, *lengths))
    picture = f"main notes {steps}\nmain ops   {work}\n"
    return analyze(grid.write(folder / f"{name}.json", grid.events(picture, NAMES)))


@pytest.mark.parametrize(("limit", "holds"), [(0.02, True), (0.019, False)])
def test_the_median_step(tmp_path: Path, limit: float, holds: bool) -> None:
    found = checks_time.step_ms(recorded(tmp_path, "a", 20, 30, 12), limit)
    assert (found.value, found.holds) == (pytest.approx(0.02), holds)
    assert found.note == "3 recorded steps of 12.0 us to 30.0 us"


@pytest.mark.parametrize(("limit", "holds"), [(50.1, True), (49, False), (-10, False)])
def test_a_step_that_became_longer(tmp_path: Path, limit: float, holds: bool) -> None:
    before, after = recorded(tmp_path, "a", 20, 20), recorded(tmp_path, "b", 30, 30)
    found = checks_time.regression_percent(after, before, limit)
    assert (found.value, found.holds) == (pytest.approx(50), holds)
    assert "noise" not in found.note


def test_medians_that_lie_in_the_range_of_the_other_may_be_noise(tmp_path: Path) -> None:
    before, after = recorded(tmp_path, "a", 20, 40), recorded(tmp_path, "b", 30, 50)
    assert "may be noise" in checks_time.regression_percent(after, before, 5).note


def test_iterations_of_the_baseline_are_not_taken_for_marked_steps(tmp_path: Path) -> None:
    picture = """
        main notes          [sgd  ]             [sgd  ]             [sgd  ]
        auto ops   [mm' F=1]          [mm' F=1]           [mm' F=1]
        """
    names = {"sgd": "Optimizer.step#SGD.step", "mm'": f"{EVALUATE}MmBackward0"}
    loop = analyze(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    marked = recorded(tmp_path, "a", 30, 30)
    unlike = "steps of the baseline are iterations found in it, while the trace marks"
    assert unlike in checks_time.regression_percent(marked, loop, 5).note
    assert unlike not in checks_time.regression_percent(marked, marked, 5).note


def test_without_steps_there_is_nothing_to_time(tmp_path: Path) -> None:
    bare = analyze(grid.write(tmp_path / "t.json", grid.events("main ops [mm]", {})))
    with pytest.raises(UsageError, match="no steps are marked"):
        checks_time.step_ms(bare, 1)


@pytest.mark.parametrize("alone", [("--baseline", "b.json"), ("--max-regression", "5%")])
def test_a_baseline_and_its_limit_belong_together(alone: tuple[str, str]) -> None:
    done = call("check", "a.json", *alone)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--baseline and --max-regression belong together" in done.stderr
