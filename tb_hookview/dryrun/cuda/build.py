"""What programs ask of CUDA's runtime, its allocator, its profilers, and of the build of torch."""

from __future__ import annotations

from typing import Any

import torch

from tb_hookview.dryrun.cuda.patches import Patches
from tb_hookview.dryrun.cuda.streams import Nothing

_VERSION = "12.8"
_CUDNN, _NCCL = 91002, (2, 27, 5)
_NOTHING = (
    *("_record_memory_history", "caching_allocator_delete", "caching_allocator_enable"),
    *("change_current_allocator", "reset_peak_host_memory_stats"),
    *("reset_accumulated_host_memory_stats", "_set_allocator_settings", "_sleep"),
)


class Runtime:
    """`torch.cuda.cudart()`: its calls do nothing and succeed."""

    class cudaError:  # noqa: N801  # torch's name
        """Codes of results."""

        success = 0

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cuda"):
            raise AttributeError(name)
        return lambda *_args, **_kwargs: Runtime.cudaError.success


class Pool(Nothing):
    """`torch.cuda.MemPool`."""

    id = (0, 0)
    allocator = None

    def use_count(self) -> int:
        """References to the pool."""
        return 1

    def snapshot(self, **_options: Any) -> list[Any]:
        """Segments of the pool."""
        return []


def _memory() -> dict[str, Any]:
    def snapshot(*_args: Any, **_kwargs: Any) -> dict[str, Any]:
        return {"segments": [], "device_traces": [], "allocator_settings": {}}

    return {
        **dict.fromkeys(_NOTHING, lambda *_a, **_k: None),
        "_snapshot": snapshot,
        "caching_allocator_alloc": lambda *_a, **_k: 0,
        "get_allocator_backend": lambda: "native",
        "get_per_process_memory_fraction": lambda *_a, **_k: 1.0,
        "host_memory_stats": dict,
        "MemPool": Pool,
        "use_mem_pool": Nothing,
    }


def _default_type(patches: Patches) -> None:
    """`torch.set_default_tensor_type("torch.cuda.FloatTensor")`; a default ends with the block."""
    original, device = torch.set_default_tensor_type, torch.get_default_device()
    context: Any = torch._GLOBAL_DEVICE_CONTEXT

    def restore() -> None:
        if getattr(context, "device_context", None) is not None:
            torch.set_default_device(None if device.type == "cpu" else device)

    def choose(kind: Any) -> None:
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
        if name.startswith("torch.cuda."):
            torch.set_default_dtype(getattr(torch.cuda, name.rpartition(".")[2]).dtype)
            torch.set_default_device("cuda")
        else:
            torch.set_default_device(None)
            original(kind)

    patches.set(torch, "set_default_tensor_type", choose)
    patches.on_undo(restore)


def install(patches: Patches) -> None:
    """Replace what a program may ask, and what a build without CUDA does not have."""
    cuda, memory = torch.cuda, _memory()
    known = {name: value for name, value in memory.items() if hasattr(cuda, name)}
    runtime: dict[str, Any] = {"cudart": Runtime, "check_error": lambda _result: None}
    patches.set_all(cuda, {**known, **runtime})
    patches.set_known(cuda.memory, memory)
    patches.set_known(cuda.profiler, runtime)
    patches.set(cuda.nccl, "version", lambda: _NCCL)
    patches.set(torch.backends.cuda, "is_built", lambda: True)
    if torch.version.cuda is None:
        patches.set(torch.version, "cuda", _VERSION)
        patches.set(torch.backends.cudnn, "version", lambda: _CUDNN)
    _default_type(patches)
