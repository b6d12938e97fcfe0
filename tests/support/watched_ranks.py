"""Four ranks (gloo, CPU) that are watched, each slow in a way of its own, or none of them.

    python forked_ranks.py 4 watched_ranks.py FOLDER STEPS slow|even

With `slow`, rank 0 has a slow backward in the block `layers.2`, rank 1 a slow loader, rank 2 a slow
garbage collection in every tenth step. Each rank asks once for a recording of two steps. Time is
that of a clock of the program's own, so that no machine makes a rank slow.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path
from threading import get_ident

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

import tb_hookview as hookview

SLOW_NS, COLLECTION_NS = 30_000_000, 200_000_000


MOST = 1_000_000
"""Steps of a training that waits for its recordings."""


class Clock:
    """Goes on by a microsecond where the training thread asks it, and where something is slow."""

    def __init__(self) -> None:
        self.now, self._thread = 0, get_ident()

    def __call__(self) -> int:
        if get_ident() == self._thread:
            self.now += 1000
        return self.now

    def collect(self, phase: str, _about: object) -> None:
        if phase == "stop":
            self.now += COLLECTION_NS


CLOCK = Clock()


class Slowed(torch.autograd.Function):
    """Changes nothing; its backward takes long."""

    @staticmethod
    def forward(_context: object, value: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(_context: object, gradient: torch.Tensor) -> torch.Tensor:
        CLOCK.now += SLOW_NS
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
            CLOCK.now += SLOW_NS
        return torch.ones(4)


def are_recorded(folder: Path, size: int) -> bool:
    """Whether every rank sees a recording of each: all of them stop after the same step."""
    found = torch.tensor(len([*folder.glob("run/**/*.pt.trace.json.gz")]))
    dist.all_reduce(found, dist.ReduceOp.MIN)
    return bool(found >= size)


def main(folder: Path, steps: int, how: str) -> None:
    assert "tb_hookview.watching.watch" not in sys.modules, "it has the machine's clock by now"
    time.perf_counter_ns = CLOCK
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size
    )
    torch.manual_seed(0)
    is_slow = how == "slow"
    model = DistributedDataParallel(Net(slow=is_slow and rank == 0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gc.disable()
    if is_slow and rank == 2:
        gc.callbacks.append(CLOCK.collect)
    loader = DataLoader(Batches(MOST, slow=is_slow and rank == 1))
    with hookview.watch(
        folder / "run", model=model, steps=2, first=None, slow_factor=None, scalars=False
    ) as watch:
        for number, batch in enumerate(loader):
            if rank == 2 and number % 10 == 0:
                gc.collect()
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
            watch.step()
            if number == 20:
                watch.record()
            if number + 1 >= steps and (not is_slow or are_recorded(folder, size)):
                break
    dist.destroy_process_group()
    # Deleting the model may hang: its group of gloo joins, with the GIL held, a thread that
    # waits for it.
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
