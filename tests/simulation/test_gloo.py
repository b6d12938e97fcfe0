"""Recorded ranks (gloo, CPU), one of which keeps the others waiting."""

from __future__ import annotations

import gallery
import pytest

from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.simulation.whatif import path_time

LATE = 2
"""Rank whose module is slow."""


def simulator_of(rank: int) -> Simulator:
    path = gallery.FOLDER / "late_rank.late" / f"rank{rank}.pt.trace.json.gz"
    return Simulator(Selection(load(path), None))


@pytest.mark.parametrize("rank", range(4))
def test_waiting_for_a_collective_is_no_work_of_the_host(rank: int) -> None:
    simulator = simulator_of(rank)
    unchanged = simulator.unchanged
    found = path_time(unchanged)
    assert unchanged.step == simulator.recorded.step
    assert (found.communication > found.host) == (rank != LATE)
    assert found.communication + found.host == pytest.approx(unchanged.step / 1000)


def test_without_its_host_a_rank_waits_as_long() -> None:
    simulator = simulator_of(0)
    without_host = simulator.step(scaled(simulator.analysis, {"host": 0.0})) / 1000
    assert without_host == pytest.approx(path_time(simulator.unchanged).communication)
