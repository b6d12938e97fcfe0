"""One of two processes that train together, plainly and recorded.

    RANK=0 WORLD_SIZE=2 python distributed_worker.py FOLDER

Writes JSON to standard output, for each of METHODS: whether the trained parameters were equal bit
for bit, the forward and gradient marks by path, the trace file's name and the rank in its manifest,
and how the report of another recording compares with the truth.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

try:
    from torch.distributed.fsdp import fully_shard
except ImportError:  # before torch 2.6
    from torch.distributed._composable.fsdp import fully_shard

import tb_hookview as hookview
from tb_hookview.recorder import roots

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.attribution import Truth, Verdict, compare
from support.recording import Trace


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)))


def ddp() -> nn.Module:
    return DistributedDataParallel(net())


def wrapped_in_ddp() -> nn.Module:
    return DistributedDataParallel(hookview.wrap(net()))


def wrapped_around_ddp() -> nn.Module:
    return hookview.wrap(ddp())


def fsdp(*, wrap_first: bool = False) -> nn.Module:
    mesh = init_device_mesh("cpu", (2,))
    model = hookview.wrap(net()) if wrap_first else net()
    fully_shard(model[1], mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def wrapped_before_fsdp() -> nn.Module:
    return fsdp(wrap_first=True)


def wrapped_after_fsdp() -> nn.Module:
    return hookview.wrap(fsdp())


def fsdp1(*, wrap_first: bool = False, whole: bool = True) -> nn.Module:
    """Each parameter on its own, or (`whole`) all of a unit as one."""
    model = hookview.wrap(net()) if wrap_first else net()
    options = {"device_id": torch.device("cpu"), "use_orig_params": not whole}
    model[1] = FullyShardedDataParallel(model[1], **options)
    return FullyShardedDataParallel(model, **options)


def wrapped_before_fsdp1() -> nn.Module:
    return fsdp1(wrap_first=True, whole=False)


def wrapped_after_fsdp1() -> nn.Module:
    return hookview.wrap(fsdp1(whole=False))


def wrapped_after_whole_fsdp1() -> nn.Module:
    return hookview.wrap(fsdp1())


METHODS: dict[str, tuple[Callable[[], nn.Module], Callable[[], nn.Module]]] = {
    "DDP, wrapped inside": (ddp, wrapped_in_ddp),
    "DDP, wrapped outside": (ddp, wrapped_around_ddp),
    "FSDP2, wrapped before": (fsdp, wrapped_before_fsdp),
    "FSDP2, wrapped after": (fsdp, wrapped_after_fsdp),
    "FSDP1, wrapped before": (partial(fsdp1, whole=False), wrapped_before_fsdp1),
    "FSDP1, wrapped after": (partial(fsdp1, whole=False), wrapped_after_fsdp1),
    "FSDP1 with flat parameters, wrapped after": (fsdp1, wrapped_after_whole_fsdp1),
}


def train(model: nn.Module) -> list[torch.Tensor]:
    """Train for three steps and return what became of the parameters."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).sum().backward()
        optimizer.step()
    return [getattr(p, "_local_tensor", p).detach().clone() for p in model.parameters()]


def judge(model: nn.Module) -> Verdict:
    """Train a wrapped model once more and hold the report against the truth."""
    truth = Truth(next(module for module in model.modules() if roots.find(module)))
    try:
        return compare(lambda: train(model), truth, {})
    finally:
        truth.stop()


def compare_training(
    plainly: Callable[[], nn.Module], wrapped: Callable[[], nn.Module]
) -> dict[str, Any]:
    """Train both and say what came of it."""
    expected = train(plainly())
    model = wrapped()
    with tempfile.TemporaryDirectory() as folder:
        with hookview.profile(folder):
            found = train(model)
        (path,) = Path(folder).iterdir()
        trace = Trace(path)
    verdict = judge(model)
    for module in model.modules():
        hookview.unwrap(module)
    return {
        "equal": all(torch.equal(a, b) for a, b in zip(expected, found, strict=True)),
        "file": path.name,
        "rank": trace.manifest["rank"],
        "forward": trace.paths("forward"),
        "gradient": trace.paths("gradient"),
        "agreeing": verdict.agreeing,
        "inside": verdict.inside,
    }


def main() -> None:
    """Join the other process and go through all methods."""
    meeting = f"file://{Path(sys.argv[1]) / 'meeting'}"
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size)
    torch.set_num_threads(1)
    json.dump({name: compare_training(*models) for name, models in METHODS.items()}, sys.stdout)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
