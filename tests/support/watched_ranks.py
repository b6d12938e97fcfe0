"""Four ranks (gloo, CPU) that are watched, each slow in a way of its own, or none of them.

    python forked_ranks.py 4 watched_ranks.py FOLDER STEPS slow|even SEED ...

They train once for each seed, and write into a folder of its name. With `slow`, rank 0 has a slow
backward in the block `layers.2`, rank 1 a slow loader, rank 2 a garbage collection in every tenth
step. Each rank asks once for a recording of two steps, and waits until it knows of it. Everything
is real but the time, which is drawn from the seed and the rank.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path

import drawn_time  # isort: skip  # before what reads the time; found next to forked_ranks.py

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

import tb_hookview as hookview

SLOW_S = 0.005
COLLECTION_S = 0.1
PATIENCE_S = 60
KEPT: list[nn.Module] = []
"""Deleting one may hang: its group of gloo joins, with the GIL held, a thread that waits for it."""


class Slowed(torch.autograd.Function):
    """Changes nothing; its backward takes long."""

    @staticmethod
    def forward(_context: object, value: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(_context: object, gradient: torch.Tensor) -> torch.Tensor:
        drawn_time.clock.move_on(SLOW_S)
        return gradient


class Layer(nn.Module):
    def __init__(self, *, slow: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.slow = slow

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x)
        if self.slow:
            hidden = Slowed.apply(hidden)
        return self.second(hidden)


class Net(nn.Module):
    def __init__(self, *, slow: bool) -> None:
        super().__init__()
        self.embed = nn.Linear(4, 8)
        self.layers = nn.ModuleList(Layer(slow=slow and number == 2) for number in range(4))
        self.head = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Batches(Dataset):
    def __init__(self, length: int, *, slow: bool) -> None:
        self.length, self.slow = length, slow

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, _number: int) -> torch.Tensor:
        if self.slow:
            drawn_time.clock.move_on(SLOW_S)
        return torch.ones(4)


def collecting(phase: str, _info: object) -> None:
    """Have a collection last, as one of `gc.callbacks`."""
    if phase == "stop":
        drawn_time.clock.move_on(COLLECTION_S)


def ask(watch: hookview.Watch) -> None:
    """Ask for a recording, and train on when all ranks can know of it."""
    watch.record()
    end = time.monotonic() + PATIENCE_S
    while watch._keeper.plan is None:
        assert time.monotonic() < end, "no plan"
        time.sleep(0.01)


def main(folder: Path, steps: int, how: str, *seeds: str) -> None:
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size
    )
    gc.disable()
    gc.callbacks.append(collecting)
    for seed in seeds:
        train(folder / seed, steps, rank, seed, is_slow=how == "slow")
    dist.destroy_process_group()
    os._exit(0)


def train(folder: Path, steps: int, rank: int, seed: str, *, is_slow: bool) -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(Net(slow=is_slow and rank == 0))
    KEPT.append(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    drawn_time.begin(f"{seed} {rank}")
    loader = DataLoader(Batches(steps, slow=is_slow and rank == 1))
    # Each reading of the drawn clock takes long, so that ranks read it at the same steps.
    options = {"steps": 2, "first": None, "slow_factor": None, "scalars": False, "blocks_every": 1}
    with hookview.watch(folder, model=model, **options) as watch:
        for number, batch in enumerate(loader, 1):
            if is_slow and rank == 2 and number % 10 == 0:
                gc.collect()
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
            watch.step()
            if is_slow and number == 20:
                ask(watch)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
