"""One of two processes that train a compiled model in DistributedDataParallel.

    RANK=0 WORLD_SIZE=2 python compiled_ddp.py FOLDER

Every layer fills a bucket of gradients, so that each has a graph of its own. Prints the modules of
the calls of all graphs as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tb_hookview as hookview

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.recording import record


class Net(nn.Module):
    """Products alone, which need no C++ compiler; Dynamo skips frames of torch's own modules."""

    def __init__(self) -> None:
        super().__init__()
        layers = [nn.Linear(a, b, bias=False) for a, b in [(4, 6), (6, 5), (5, 3)]]
        self.first, self.rest = layers[0], nn.Sequential(*layers[1:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rest(self.first(x))


def modules(compiled: dict[str, Any], backward: bool) -> list[str]:
    """Return the modules of all calls, graph by graph, sorted; "?" where that is not certain."""
    return sorted(
        "?" if index < 0 else graph["paths"][index][2] or "?"
        for graph in compiled["graphs"]
        if graph["backward"] == backward
        for _, _, parts in graph["calls"]
        for index, *_ in parts
    )


def main() -> None:
    gc.unfreeze()  # what is frozen cannot be counted
    store = f"file://{Path(sys.argv[1]).absolute()}/store"
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    dist._DEFAULT_FIRST_BUCKET_BYTES = 1  # type: ignore[attr-defined]  # none may be smaller
    model = hookview.wrap(torch.compile(DistributedDataParallel(Net(), bucket_cap_mb=1e-6)))

    def step() -> None:
        model(torch.ones(2, 4)).sum().backward()

    step()
    compiled = record(step).compiled
    said = {
        "graphs": len(compiled["graphs"]),
        "missing": compiled["missing"],
        "forward": modules(compiled, backward=False),
        "backward": modules(compiled, backward=True),
    }
    hookview.unwrap(model)
    sys.stdout.write(f"\n{json.dumps(said)}\n")
    sys.stdout.flush()
    dist.destroy_process_group()
    gc.freeze()  # or the end takes a second


if __name__ == "__main__":
    main()
