"""A recorded run of two processes (gloo, CPU), one of which keeps the other waiting."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ranks import run_ranks

from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.simulation.whatif import path_time

pytestmark = pytest.mark.slow

STEPS = 4
PROGRAM = f"""
import os, time
import torch
import torch.distributed as dist
import tb_hookview as hookview

rank = int(os.environ["RANK"])
torch.set_num_threads(1)
meeting = "file://" + os.path.abspath("meeting")
dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
values = torch.ones(1000)
with hookview.profile(f"rank{{rank}}", activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
    for _ in range({STEPS}):
        values.mul(2)
        if rank == 1:
            time.sleep(0.2)
        dist.all_reduce(values)
        values.mul(2)
        prof.step()
dist.destroy_process_group()
"""


def test_waiting_for_a_collective_is_no_work_of_the_host(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run_ranks([program], tmp_path)
    (path,) = (tmp_path / "rank0").glob("*.gz")
    simulator = Simulator(Selection(load(path), None))
    unchanged = simulator.unchanged
    found = path_time(unchanged)
    assert unchanged.step == simulator.recorded.step
    assert found.communication > found.host
    assert found.communication + found.host == pytest.approx(unchanged.step / 1000)
    without_host = simulator.step(scaled(simulator.analysis, {"host": 0.0})) / 1000
    assert without_host == pytest.approx(found.communication)
