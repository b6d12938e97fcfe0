"""Makes the device `cuda` exist for the time of a dry run: build, engine, and all parts."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch

from tb_hookview.dryrun.cuda import api, memory
from tb_hookview.dryrun.cuda.streams import Nothing, Patches
from tb_hookview.dryrun.device import guard, libraries
from tb_hookview.dryrun.device.guard import PLANS
from tb_hookview.dryrun.device.kernels import CURRENT, MissingKernelError
from tb_hookview.dryrun.device.labels import host
from tb_hookview.dryrun.operators import uploads
from tb_hookview.dryrun.recording.recorder import WATCH

# What programs ask of CUDA's runtime, its allocator, its profilers, and of the build of torch.


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


def install_build(patches: Patches) -> None:
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


# Autograd's engine, torch.compile, DataParallel and Triton without a GPU.


_C: Any = torch._C
COMPILED = (
    "torch.compile: the code runs eagerly, so what is listed inside of it are places where the "
    "graph breaks or compiled code syncs; what the compiler would remove is listed too"
)
PARALLEL = "DataParallel: the model runs on one device, without scattering its input"
_FEATURES_AT_ONCE = {torch.float32: 4, torch.float16: 8, torch.bfloat16: 8}
"""Features of a head that fused kernels of attention load at once, 16 bytes of them."""
TRITON: dict[Any, Any] = {}
"""Functions of the CPU for Triton's kernels, as they were registered."""


def prepare() -> None:
    """Import what reads `torch.cuda` when it is first used, so that it reads the real one."""
    rules: Any = importlib.import_module("torch._dynamo.trace_rules")
    rules.get_torch_obj_rule_map()
    constructors: Any = importlib.import_module("torch.utils._device")._device_constructors
    constructors()


def _eager(model: Any = None, **_options: Any) -> Any:
    WATCH.note(COMPILED)
    return (lambda function: function) if model is None else model


def _compile_in_place(_module: Any, *_args: Any, **_kwargs: Any) -> None:
    WATCH.note(COMPILED)


def _one_device(module: Any, *args: Any, **kwargs: Any) -> Any:
    WATCH.note(PARALLEL)
    return module.module(*args, **kwargs)


def install_engine(patches: Patches) -> None:
    """Replace what would need threads, compilers or several devices."""
    graph: Any = importlib.import_module("torch.autograd.graph")
    run = graph._engine_run_backward

    def run_here(*args: Any, **kwargs: Any) -> Any:
        # The engine has no thread for a device that the build does not know.
        with torch.autograd.set_multithreading_enabled(False):
            return run(*args, **kwargs)

    patches.set(graph, "_engine_run_backward", run_here)
    patches.set(torch.autograd, "_engine_run_backward", run_here)
    if torch._C._has_cuda:
        # Kernels of cuDNN take other paths than torch's own, which the CPU has.
        patches.on_undo(partial(_C._set_cudnn_enabled, _C._get_cudnn_enabled()))
        _C._set_cudnn_enabled(False)
    patches.set(torch, "compile", _eager)
    patches.set(torch.nn.Module, "compile", _compile_in_place)
    patches.set(torch.nn.DataParallel, "forward", _one_device)
    _install_attention(patches)
    _install_triton(patches)


def _install_attention(patches: Patches) -> None:
    """Jagged tensors take a fused kernel of attention where they do with a GPU."""
    jagged: Any = importlib.import_module("torch.nested._internal.sdpa")
    choose, fused = jagged._select_sdp_backend, torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION

    def chosen(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        allowed = _C._get_mem_efficient_sdp_enabled() or _C._get_flash_sdp_enabled()
        if query.is_cuda and allowed and _is_aligned(query) and _is_aligned(value):
            return fused
        return choose(query, key, value, *args, **kwargs)

    patches.set(jagged, "_select_sdp_backend", chosen)


def _is_aligned(heads: Any) -> bool:
    """Whether fused kernels can load a head's features."""
    width = _FEATURES_AT_ONCE.get(heads.dtype)
    return width is not None and heads.size(-1) % width == 0


def _install_triton(patches: Patches) -> None:
    """Triton's kernels raise by name, or run the function that was registered."""
    if "triton" not in sys.modules and importlib.util.find_spec("triton") is None:
        return
    try:
        jit: Any = importlib.import_module("triton.runtime.jit")
    except ImportError:
        return
    patches.set(jit.JITFunction, "run", _run_triton)


def _run_triton(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    name = f"{kernel.__module__}.{kernel.__name__}"
    WATCH.operator()
    known = TRITON.get(kernel)
    if known is None:
        raise MissingKernelError(
            f"dry run: the Triton kernel {name} needs a GPU; give it a function for the CPU by "
            f"run.register({kernel.__name__}, function, syncs=...)"
        )
    function, reasons = known
    for reason in reasons(args, kwargs):
        WATCH.sync(name, reason)
    options = {"grid", "warmup", "num_warps", "num_stages", "num_ctas", "stream", "device"}
    named = {key: _on_host(value) for key, value in kwargs.items() if key not in options}
    function(*map(_on_host, args), **named)
    return None


def _on_host(value: Any) -> Any:
    return host(value) if isinstance(value, torch.Tensor) and value.is_cuda else value


@contextmanager
def device(count: int) -> Iterator[None]:
    """Make devices exist while the block runs.

    Args:
        count: number of devices.

    Raises:
        DoesNotFitError: a private part of torch is not as it has to be.
    """
    prepare()
    with ExitStack() as undo:
        guard.install_guard()
        undo.callback(guard.install_hooks())
        undo.callback(libraries.install())
        undo.callback(guard.install_timer())
        patches = Patches()
        undo.callback(patches.undo)
        undo.callback(_forget, CURRENT.index, CURRENT.count)
        CURRENT.index, CURRENT.count = 0, count
        for install in (
            *(api.install, install_build, memory.install, install_engine),
            *(api.install_distributed, api.install_profiling),
        ):
            install(patches)
        yield


def _forget(index: int, count: int) -> None:
    CURRENT.index, CURRENT.count = index, count
    uploads.forget()
    PLANS.forget()
    TRITON.clear()
