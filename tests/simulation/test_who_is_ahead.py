"""Loops in which the host is ahead of the device, and in which it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from simulation import drawn

from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.simulation.whatif import path_time

STEPS, LAUNCHES = 4, 25


def loop(folder: Path, host: int, kernel: int) -> Simulator:
    """Steps of launches, each after some work of the host; microseconds."""
    events: list[dict[str, Any]] = []
    now, free = 0, 0

    def happened(kind: str, name: str, start: int, end: int, correlation: int = 0) -> None:
        on_device = kind == "kernel"
        events.append(
            {
                "ph": "X",
                "cat": kind,
                "name": name,
                "pid": 0 if on_device else 77,
                "tid": 7 if on_device else 1,
                "ts": start,
                "dur": end - start,
                "args": {"correlation": correlation} if correlation else {},
            }
        )

    for step in range(STEPS):
        began = now
        for _ in range(LAUNCHES):
            happened("cpu_op", "aten::op", now, now + host)
            happened("cuda_runtime", "cudaLaunchKernel", now + host, now + host + 4, len(events))
            start = max(now + host + 6, free + 1)
            free = start + kernel
            happened("kernel", "k", start, free, len(events) - 1)
            now += host + 5
        happened("user_annotation", f"ProfilerStep#{step}", began, now)
    return Simulator(Selection(load(grid.write(folder / "t.json", events)), None))


def changed(simulator: Simulator, **question: float) -> float:
    """Part by which a step gets longer."""
    change = scaled(simulator.analysis, question)
    return simulator.predict(change).step / simulator.unchanged.step - 1


@pytest.mark.parametrize(("host", "kernel"), [(20, 200), (60, 1000)])
def test_a_step_in_which_the_device_is_behind_halves_with_its_kernels(
    host: int, kernel: int, tmp_path: Path
) -> None:
    simulator = loop(tmp_path, host, kernel)
    assert -0.5 <= changed(simulator, kernels=0.5) <= -0.48
    assert -0.02 <= changed(simulator, host=0.5) <= 0


@pytest.mark.parametrize(("host", "kernel"), [(200, 20), (1000, 60)])
def test_a_step_in_which_the_host_is_behind_does_not(
    host: int, kernel: int, tmp_path: Path
) -> None:
    simulator = loop(tmp_path, host, kernel)
    assert -0.02 <= changed(simulator, kernels=0.5) <= 0
    assert -0.5 <= changed(simulator, host=0.5) <= -0.48


@pytest.mark.parametrize(("host", "kernel"), [(20, 200), (200, 20)])
def test_no_change_is_the_replay(host: int, kernel: int, tmp_path: Path) -> None:
    simulator = loop(tmp_path, host, kernel)
    same = simulator.predict(Change())
    assert same.step == simulator.unchanged.step
    assert same.replay.time.tolist() == simulator.unchanged.replay.time.tolist()
    assert simulator.unchanged.step == pytest.approx(simulator.recorded.step, rel=0.001)


def test_what_was_queued_before_the_recording_is_no_part_of_a_step(tmp_path: Path) -> None:
    """It runs on for longer than the host is in the step."""
    simulator = drawn.simulator(
        tmp_path,
        """
        main notes [s1                          ]
        main calls [launch corr=8][launch corr=9]
        gpu kernel [k corr=1 ][k corr=2      ] [k corr=3   ][k corr=8          ][k corr=9          ]
        """,
    )
    assert simulator.unchanged.step == simulator.recorded.step == 4_000_000
    assert path_time(simulator.unchanged).unexplained == 0
