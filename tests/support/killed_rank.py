"""Three ranks (gloo, CPU) that are watched; rank 1 is killed, the others go on and record.

python forked_ranks.py 3 killed_rank.py FOLDER
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

import tb_hookview as hookview

BEFORE = 5
"""Steps of each rank before rank 1 is killed."""
PATIENCE_S = 60


def wait_for(happened: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def train(folder: Path, rank: int, killed: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=3)
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))

    def step() -> None:
        model(torch.ones(1, 2)).sum().backward()
        watch.step()

    with hookview.watch(
        folder / "run", model=model, steps=2, first=None, slow_factor=None, scalars=False
    ) as watch:
        for _ in range(BEFORE):
            step()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        wait_for(killed.exists)
        if rank == 0:
            watch.record()
        wait_for(lambda: watch._keeper.plan is not None)
        start = watch._keeper.plan.start
        for _ in range(BEFORE, start + 2):
            step()
    os._exit(0)  # the group is not whole any more


def main(folder: Path) -> None:
    rank, killed = int(os.environ["RANK"]), folder / "killed"
    if rank == 1 and (child := os.fork()):
        _, status = os.waitpid(child, 0)
        killed.touch()
        os._exit(os.WTERMSIG(status) != signal.SIGKILL)
    train(folder, rank, killed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
