"""The table `step_utilization`."""

from __future__ import annotations

from pathlib import Path

import grid

from tb_hookview.loading import analyze

PICTURE = """
    main notes  [one               ][two               ]
    main calls   [go corr=1]         [go corr=2]
    gpu  kernel            [k corr=1          ][k corr=2 device=0]
    """
NAMES = {"one": "ProfilerStep#1", "two": "ProfilerStep#2", "go": "cudaLaunchKernel"}


def test_an_event_of_an_unknown_device_is_of_its_step(tmp_path: Path) -> None:
    events = grid.events(PICTURE, NAMES)
    for event in events:
        if event["args"] == {"correlation": 1} and event["cat"] == "kernel":
            event["pid"] = "no number"
    rows = analyze(grid.write(tmp_path / "t.json", events)).table("step_utilization")
    assert [row.step for row in rows] == ["ProfilerStep#1", "ProfilerStep#2"]
