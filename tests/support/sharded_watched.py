"""Two ranks (gloo, CPU) that train a model under `fully_shard`, once watched and once not.

Run by `run_ranks` with a folder. Each rank says whether all gradients were equal bit for bit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import tb_hookview as hookview

STEPS = 12


def made(*, reshard: bool) -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)) for _ in range(2)]
    model = nn.Sequential(nn.Linear(4, 8), *layers, nn.Linear(8, 2))
    for layer in layers:
        fully_shard(layer, mesh=init_device_mesh("cpu", (2,)), reshard_after_forward=reshard)
    return fully_shard(model, mesh=init_device_mesh("cpu", (2,)))


def train(folder: Path | None, *, reshard: bool) -> list[torch.Tensor]:
    """All gradients of all steps."""
    model = made(reshard=reshard)
    torch.manual_seed(dist.get_rank())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gradients: list[torch.Tensor] = []
    quiet = {"first": None, "slow_factor": None, "scalars": False, "blocks_every": 1}
    watching = nullcontext() if folder is None else hookview.watch(folder, model=model, **quiet)
    with watching as watch:
        each: Callable[[], None] = (lambda: None) if watch is None else watch.step
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.randn(4, 4)).square().mean().backward()
            gradients += [p.grad.to_local().clone() for p in model.parameters()]
            optimizer.step()
            each()
    return gradients


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    for reshard in (True, False):
        plain = train(None, reshard=reshard)
        watched = train(folder / str(reshard), reshard=reshard)
        equal = [torch.equal(one, other) for one, other in zip(plain, watched, strict=True)]
        sys.stdout.write(f"{len(equal)} {all(equal)}\n")
    sys.stdout.flush()
    dist.barrier()
    os._exit(0)  # deleting a model may hang: its group joins a thread that waits for the GIL


if __name__ == "__main__":
    main(Path(sys.argv[1]))
