"""How much longer a recorded step was, from the recorder's own times."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import grid
import pytest
from rich.console import Console

from tb_hookview import markers
from tb_hookview.document.terminal import rendered
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.schema import Recording


def report(folder: Path, steps: Any) -> Report:
    root = {markers.MANIFEST_KEY: {"version": 1, "steps": steps}}
    return build_report(load(grid.write(folder / "t.json", grid.events("main ops [a]"), **root)))


def test_the_medians_are_compared(tmp_path: Path) -> None:
    steps = {"recorded_us": [130.0, 120.0, 900.0], "unrecorded_us": [90.0, 100.0, 110.0, 100.0]}
    assert report(tmp_path, steps).data.trace.recording == Recording(
        unrecorded_step_us=100.0,
        recorded_step_us=130.0,
        slowdown=1.3,
        unrecorded_steps=4,
        recorded_steps=3,
    )


def test_of_two_steps_the_one_that_nothing_held_up_counts(tmp_path: Path) -> None:
    steps = {"recorded_us": [110.0, 130.0], "unrecorded_us": [900.0, 100.0]}
    found = report(tmp_path, steps).data.trace.recording
    assert found is not None
    assert (found.unrecorded_step_us, found.slowdown) == (100.0, 1.1)


def test_without_unrecorded_steps_the_factor_is_unknown(tmp_path: Path) -> None:
    built = report(tmp_path, {"recorded_us": [5.0], "unrecorded_us": []})
    assert built.data.trace.recording == Recording(None, 5.0, None, 0, 1)
    assert "not recorded" not in shown(built)


def test_one_step_alone_is_no_baseline(tmp_path: Path) -> None:
    built = report(tmp_path, {"recorded_us": [5.0, 5.0, 5.0], "unrecorded_us": [900.0]})
    assert built.data.trace.recording == Recording(900.0, 5.0, None, 1, 3)
    assert "is unknown: one step alone was timed without it" in shown(built)
    assert "give the schedule wait=3 or more" in shown(built)


def test_it_is_one_line_of_the_summary(tmp_path: Path) -> None:
    built = report(tmp_path, {"recorded_us": [1300.0], "unrecorded_us": [1000.0, 1000.0]})
    line = "a step took 1.30 ms recorded and 1.00 ms not recorded (1.30x, medians of 1 and 2)"
    assert line in shown(built)
    assert line in built._repr_html_()


def shown(built: Report) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(rendered(built.summary(5)))
    return console.export_text()


@pytest.mark.parametrize(
    "steps",
    [
        None,
        [],
        {},
        {"recorded_us": 3},
        {"recorded_us": ["1"], "unrecorded_us": [None, True, -1, 0]},
        {"recorded_us": [10**400, 1e13]},
        {"recorded_us": {"1": 2}},
    ],
)
def test_what_is_no_list_of_times_is_no_time(tmp_path: Path, steps: Any) -> None:
    assert report(tmp_path, steps).data.trace.recording is None
