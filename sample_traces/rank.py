"""Trains and records as one of the ranks of `scenarios/late_rank.py`."""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tb_hookview as hookview
from sample_traces import models
from sample_traces.scenario import Recording, Setting

_LATE = 2
_SLOWED_S = 0.1


class Augment(nn.Module):
    """Adds noise to images, after a wait where it is slow: for a file, or for a lock."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Keep the shape."""
        if self.seconds:
            time.sleep(self.seconds)
        return images + 0.01 * torch.randn_like(images)


def main(folder: str, meeting: str, steps: str, late: str, device: str) -> None:
    """Train and record; the ranks meet in a file, and share the device."""
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    torch.manual_seed(0)
    slow = bool(int(late)) and rank == _LATE
    setting = Setting(torch.device(device), small=True)
    model = nn.Sequential(Augment(_SLOWED_S if slow else 0.0), models.ConvNet(8))
    model.to(setting.device)
    hookview.wrap(model)
    parallel = DistributedDataParallel(model, bucket_cap_mb=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = models.images(setting, 4, 32, 16)
    step = models.training_step(parallel, optimizer, lambda: batch)
    recording = Recording(int(steps), stacks=False)
    with hookview.profile(folder, schedule=recording.schedule(), **recording.options()) as profiler:
        for _ in range(recording.total):
            step()
            profiler.step()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
