"""`torch.distributed` over gloo in place of NCCL."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from tb_hookview.dryrun.cuda.patches import Patches
from tb_hookview.dryrun.recording.recorder import WATCH

GLOO = (
    "torch.distributed: gloo runs in place of NCCL, whose own waits (its watchdog, the clock of "
    "DistributedDataParallel) are not listed"
)


def install(patches: Patches) -> None:
    """Let process groups of NCCL be of gloo, with tensors of the device."""
    if not dist.is_available():
        return
    start: Any = dist.init_process_group
    make: Any = dist.new_group
    asked: dict[str, bool] = {}

    def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        return start(_gloo(backend, asked), *args, **kwargs)

    def new_group(*args: Any, backend: str | None = None, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        chosen = None if backend is None else _gloo(backend, asked)
        return make(*args, backend=chosen, **kwargs)

    find: Any = dist.distributed_c10d._get_object_coll_device
    name = dist.get_backend
    changed: dict[str, Any] = {
        "init_process_group": init_process_group,
        "new_group": new_group,
        "is_nccl_available": lambda: True,
        "_get_object_coll_device": lambda g=None: "cuda" if asked else find(g),
        "get_backend": lambda g=None: "nccl" if asked else name(g),
    }
    # Meshes of devices have names of their own for some.
    for module in (dist, dist.distributed_c10d, dist.device_mesh):
        for attribute in changed.keys() & vars(module).keys():
            patches.set(module, attribute, changed[attribute])
    bindings: Any = torch._C._distributed_c10d
    # It asserts a timer of the device, which a build without CUDA lacks.
    patches.set(bindings.Logger, "set_runtime_stats_and_log", lambda _self: None)


def _gloo(backend: str | None, asked: dict[str, bool]) -> str:
    if backend is None or "nccl" in str(backend):
        WATCH.note(GLOO)
        if backend is not None:
            asked["nccl"] = True
        return "gloo"
    return str(backend)
