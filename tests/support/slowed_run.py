"""One of some processes that train together, with one module of one rank slowed.

    RANK=0 WORLD_SIZE=4 python slowed_run.py FOLDER [METHOD | METHOD-CASE ...]

Each of METHODS, or of those that are named, is recorded three times into FOLDER/METHOD-CASE:
`even`, `forward` (a module of rank SLOW sleeps in its forward) and `backward` (its backward
multiplies larger matrices); or in the case that is named alone. There is a method
`mesh` too, of collectives between some of the ranks each, and `gpipe`, torch's schedule of
MICROBATCHES. The variable SLOWED_S says for how many seconds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.nn.parallel import DistributedDataParallel

import tb_hookview as hookview

SLOW, STEPS, WIDTH = 2, 6, 64
MICROBATCHES = 4
SLEEP_S, MATRIX = float(os.environ.get("SLOWED_S", "0.15")), 1200


class Slowed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, case: str) -> torch.Tensor:
        ctx.case = case
        if case == "forward":
            time.sleep(SLEEP_S)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        if ctx.case == "backward":
            larger, until = torch.ones(MATRIX, MATRIX), time.monotonic() + SLEEP_S
            while time.monotonic() < until:
                larger.mm(larger)
        return gradient, None


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.case = "even"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(Slowed.apply(x, self.case)))


def net(case: str, blocks: int = 3) -> nn.Sequential:
    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(blocks)))
    if dist.get_rank() == SLOW:
        model[1].case = case
    return model


def ddp(case: str) -> Callable[[], None]:
    return trained(DistributedDataParallel(hookview.wrap(net(case)), bucket_cap_mb=0.02))


def fsdp(case: str) -> Callable[[], None]:
    model, mesh = hookview.wrap(net(case)), init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return trained(model)


def trained(model: nn.Module) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    batch = torch.ones(8, WIDTH)

    def step() -> None:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()

    return step


def pipeline(case: str) -> Callable[[], None]:
    """A stage for each rank; every batch goes through all of them and back."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    model = hookview.wrap(net(case))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step() -> None:
        optimizer.zero_grad()
        batch = torch.ones(8, WIDTH, requires_grad=rank > 0)
        if rank > 0:
            dist.recv(batch.data, rank - 1)
        out = model(batch)
        gradient = torch.ones_like(out)
        if rank < last:
            dist.send(out.detach(), rank + 1)
            dist.recv(gradient, rank + 1)
        out.backward(gradient)
        if rank > 0:
            dist.send(batch.grad, rank - 1)
        optimizer.step()

    return step


def gpipe(case: str) -> Callable[[], None]:
    """The same with torch's schedule, for several microbatches."""
    rank, size = dist.get_rank(), dist.get_world_size()
    model = hookview.wrap(net(case))
    stage = PipelineStage(model, rank, size, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, MICROBATCHES, loss_fn=nn.MSELoss())
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    batch = torch.ones(2 * MICROBATCHES, WIDTH)

    def step() -> None:
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(batch)
        elif rank == size - 1:
            schedule.step(target=batch)
        else:
            schedule.step()
        optimizer.step()

    return step


def mesh(_case: str) -> Callable[[], None]:
    """Collectives in two groups of two ranks each; nothing is trained."""
    made = init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))

    def step() -> None:
        for name in ("tp", "dp"):
            dist.all_reduce(torch.ones(64), group=made.get_group(name))

    return step


METHODS = {"ddp": ddp, "fsdp": fsdp, "pipeline": pipeline}
CASES = ("even", "forward", "backward")


def record(folder: Path, step: Callable[[], None]) -> None:
    step()
    plan = torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with hookview.profile(folder, activities=cpu, schedule=plan) as prof:
        for _ in range(1 + STEPS):
            step()
            prof.step()
    dist.barrier()


def main(folder: Path, *names: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder.resolve()}/meeting", **_mine())
    for each in names or METHODS:
        name, _, only = each.partition("-")
        for case in [only] if only else CASES:
            record(folder / f"{name}-{case}", {**METHODS, "mesh": mesh, "gpipe": gpipe}[name](case))
    dist.destroy_process_group()


def _mine() -> dict[str, int]:
    return {"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])}


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
