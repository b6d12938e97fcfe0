"""What speaks against a trace heads its summary where it matters, and is at its end elsewhere."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from support.command import call
from support.faults import NAMES

import tb_hookview
from tb_hookview import markers

LATE = "device events that begin up to 12.0 us before the call that launched them"
PICTURES = {
    LATE: """
        main ops    [aten::mm                 ]
        main calls              [launch corr=1]
        gpu  kernel [k corr=1  ]
        """,
    "device events whose launch is not in the trace": """
        main ops    [aten::mm           ]
        main calls  [launch corr=1]
        gpu  kernel           [k corr=9] [k corr=1                                            ]
        """,
}


@pytest.mark.parametrize("message", PICTURES)
def test_a_severe_one_is_before_all_tables(tmp_path: Path, message: str) -> None:
    path = grid.write(tmp_path / "t.json", grid.events(PICTURES[message], NAMES))
    shown = call("analyze", "--verbose", path).stdout.replace("\n", " ")
    assert shown.index(f"warning: {message}") < shown.index("Host time by phase")
    html = tb_hookview.analyze(path)._repr_html_()
    assert html.index(message) < html.index("<table")


def test_where_nothing_ran_the_first_screen_has_the_remedy(tmp_path: Path) -> None:
    root = {markers.MANIFEST_KEY: {"version": 1, "modules": [{"path": "", "class": "Net"}]}}
    events = grid.events("main notes [s]", {"s": "ProfilerStep#3"})
    shown = call("analyze", grid.write(tmp_path / "t.json", events, **root)).stdout
    assert "after the last step (lower the schedule's wait and warmup, or train for" in shown


def test_one_of_little_weight_is_at_the_end_and_a_sound_trace_begins_with_none(
    tmp_path: Path,
) -> None:
    sound = grid.events(PICTURES[LATE].replace("[k corr=1  ]", " " * 18 + "[k corr=1  ]"), NAMES)
    path = grid.write(tmp_path / "t.json", sound)
    shown = call("analyze", "--verbose", path).stdout
    assert "warning" not in shown[: shown.index("Host time by phase")]
    odd = {"ph": "X", "cat": "cat of mine", "name": "x", "pid": 1, "tid": 1, "ts": 1004, "dur": 1}
    shown = call("analyze", "--verbose", grid.write(path, [*sound, odd])).stdout
    assert shown.index("warning: events of an unknown category") > shown.index("Host time by phase")
