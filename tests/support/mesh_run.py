"""One of four processes of a mesh of two by two (gloo, CPU), each in two groups of two ranks.

RANK=0 WORLD_SIZE=4 python mesh_run.py FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import tb_hookview as hookview

STEPS = 3


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    place = {"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])}
    dist.init_process_group("gloo", init_method=f"file://{folder.resolve()}/meeting", **place)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with hookview.profile(folder / "run", activities=cpu) as prof:
        for _ in range(STEPS):
            for name in ("tp", "dp"):
                dist.all_reduce(torch.ones(64), group=mesh.get_group(name))
            prof.step()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
