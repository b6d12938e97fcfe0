"""By how much the clock of the devices is ahead; one character is 1 us."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview.loading import load

WAITS = """
    main notes [ProfilerStep#1                                                                   ]
    main calls [cudaLaunchKernel corr=1][cudaDeviceSynchronize         ][cudaLaunchKernel corr=2]
    gpu kernel           [k corr=1                                ]               [k corr=2     ]
"""
"""The kernels begin 10 us after their launches, and the host waits until 5 us after the first."""


@pytest.mark.parametrize(
    ("later", "ahead"), [(0, 0), (5, 0), (8, 3), (20, 15), (-10, 0), (-12, -2), (-40, -30)]
)
def test_least_correction_by_waits_and_launches(later: int, ahead: int, tmp_path: Path) -> None:
    """Nothing is corrected that need not be."""
    events = grid.events(WAITS)
    for event in events:
        event["ts"] += later * (event["cat"] == "kernel")
    assert load(grid.write(tmp_path / "t.json", events)).clock_ahead == 1000 * ahead


def test_one_event_before_its_launch_is_no_clock(tmp_path: Path) -> None:
    """It counts where most of those onto an idle device are early."""
    events = grid.events(WAITS)
    next(e for e in events if e["cat"] == "kernel")["ts"] -= 40
    assert load(grid.write(tmp_path / "t.json", events)).clock_ahead == 0


@pytest.mark.parametrize(("later", "ahead"), [(0, 0), (10, 10), (16, 12)])
def test_waits_decide_where_launches_contradict(later: int, ahead: int, tmp_path: Path) -> None:
    """The device's clock drifts: no correction puts the kernel and its copy in place.

    As far as events usually begin after their launches: 12 us here.
    """
    events = grid.events(WAITS)
    first, second = (e for e in events if e["cat"] == "kernel")
    first["ts"] += later + 5
    second["ts"] += 2
    assert load(grid.write(tmp_path / "t.json", events)).clock_ahead == 1000 * ahead
