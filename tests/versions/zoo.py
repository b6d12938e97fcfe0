"""Records and analyzes small trainings with the torch that is installed.

    python tests/versions/zoo.py zoo.json

Each case's share is the part of the backward's host time that the report gives to the module that
made the node, as torch's own counter says. A case that fails has its error in the place of a share.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import module_cases
from support.attribution import judge
from support.harmless import sum_backward
from support.module_cases import Case

ROWS = sum_backward(6, 16)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Recomputed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self.block, x, use_reentrant=False)


class Autocast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = blocks()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return self.body(x).float()


def blocks() -> nn.Module:
    return nn.Sequential(Block(), Block(), nn.Linear(16, 4))


def in_ddp() -> nn.Module:
    if not distributed.is_initialized():
        store = distributed.HashStore()
        distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    return DistributedDataParallel(blocks())


def inductor() -> nn.Module:
    if shutil.which("g++") is None:
        raise RuntimeError("no g++")
    return torch.compile(blocks())


OWN = {
    "eager": Case(blocks, ROWS),
    "checkpoint": Case(lambda: nn.Sequential(Recomputed(), Block()), ROWS),
    "autocast on the CPU": Case(Autocast, ROWS),
    "DistributedDataParallel (gloo)": Case(in_ddp, ROWS),
    "torch.compile (aot_eager)": Case(lambda: torch.compile(blocks(), backend="aot_eager"), ROWS),
    "torch.compile (inductor)": Case(inductor, ROWS),
}
FEATURES = (
    "reentrant checkpoint",
    "LSTM",
    "transformer encoder of torch's own",
    "tied weights",
    "a shared module, called 40 times",
    "in-place operations inside modules and on their outputs",
)
CASES = {**OWN, **{label: module_cases.CASES[label] for label in FEATURES}}


def attributed(case: Case) -> float:
    torch.manual_seed(0)
    model = case.make()
    if hasattr(model, "_orig_mod"):
        case.run(model)  # compiles
    return judge(model, case.run, case.profile).agreeing


def share(measure: Callable[[], float]) -> float | str:
    try:
        return measure()
    except Exception as error:  # noqa: BLE001 - one case that this torch cannot run is an answer
        traceback.print_exc()
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        answer = {label: share(partial(attributed, case)) for label, case in CASES.items()}
        tempfile.tempdir = None
    if distributed.is_initialized():
        distributed.destroy_process_group()
    answer = {"torch": torch.__version__, "python": platform.python_version(), "cases": answer}
    Path(sys.argv[1]).write_text(json.dumps(answer, indent=1))  # torch prints too


if __name__ == "__main__":
    main()
