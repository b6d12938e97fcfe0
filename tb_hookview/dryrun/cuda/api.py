"""`torch.cuda`, `torch.accelerator` and `torch.cuda.nvtx` for a device that is host memory."""

from __future__ import annotations

from collections import defaultdict
from functools import wraps
from typing import Any

import torch
import torch.distributed as dist

from tb_hookview.dryrun.cuda.streams import (
    DefaultStream,
    DeviceContext,
    Event,
    Graph,
    Nothing,
    Patches,
    Stream,
    explicit,
    set_device,
    values,
)
from tb_hookview.dryrun.device.kernels import CURRENT
from tb_hookview.dryrun.recording.recorder import WATCH

DTYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "ShortTensor": torch.int16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
}


class _TensorType(type):
    """A class whose instances are tensors of the device and of a type."""

    dtype: torch.dtype

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype is cls.dtype

    def __call__(cls, *args: Any, **_kwargs: Any) -> Any:
        """A tensor of a size, or of values, as the old constructors make it."""
        if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
            return torch.tensor(args[0], dtype=cls.dtype, device="cuda")
        sizes = args[0] if len(args) == 1 and isinstance(args[0], torch.Size) else args
        return torch.empty(tuple(sizes) or (0,), dtype=cls.dtype, device="cuda")


def tensor_types() -> dict[str, Any]:
    """The types by name."""
    return {
        name: _TensorType(name, (), {"dtype": dtype, "__module__": "torch.cuda"})
        for name, dtype in DTYPES.items()
    }


_MEMORY = 80 << 30
_ZERO = (
    *("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"),
    *("memory_cached", "max_memory_cached", "utilization", "temperature", "power_draw"),
    *("clock_rate", "memory_usage", "device_memory_used", "get_sync_debug_mode"),
    *("current_blas_handle",),
)
_NOTHING = (
    *("init", "_lazy_init", "ipc_collect", "reset_peak_memory_stats", "reset_max_memory_allocated"),
    *("reset_max_memory_cached", "reset_accumulated_memory_stats", "set_sync_debug_mode"),
    *("set_per_process_memory_fraction", "seed", "seed_all"),
)


class Properties:
    """`torch.cuda.get_device_properties()`: those of a Hopper, since code asks for them."""

    name = "NVIDIA dry run"
    major, minor = 9, 0
    total_memory = _MEMORY
    multi_processor_count, max_threads_per_multi_processor, warp_size = 132, 2048, 32
    regs_per_multiprocessor, max_threads_per_block = 65536, 1024
    shared_memory_per_block, shared_memory_per_multiprocessor = 49152, 233472
    shared_memory_per_block_optin, L2_cache_size = 232448, 50 << 20
    clock_rate, memory_clock_rate, memory_bus_width = 1_980_000, 2_619_000, 5120
    is_integrated = is_multi_gpu_board = pci_bus_id = pci_device_id = pci_domain_id = 0
    gcnArchName, uuid = "", "0"  # noqa: N815  # torch's names


def _random(generator: torch.Generator) -> dict[str, Any]:
    """Random numbers are those of the CPU's generator, as in a run without the device."""
    return {
        # Functions of Python throughout: the code of some is asked for.
        "manual_seed": lambda seed: generator.manual_seed(int(seed)),
        "manual_seed_all": lambda seed: generator.manual_seed(int(seed)),
        "get_rng_state": lambda *_a, **_k: generator.get_state(),
        "set_rng_state": lambda state, *_a, **_k: generator.set_state(state),
        "get_rng_state_all": lambda: [generator.get_state()] * CURRENT.count,
        "set_rng_state_all": lambda states: generator.set_state(next(iter(states))),
        "initial_seed": lambda: generator.initial_seed(),
    }


def _constant(value: Any) -> Any:
    return lambda *_args, **_kwargs: value


def _cuda() -> dict[str, Any]:
    constants = {
        **dict.fromkeys(_ZERO, 0),
        **dict.fromkeys(_NOTHING),
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "is_tf32_supported": True,
        "_is_in_bad_fork": False,
        "can_device_access_peer": True,
        "memory_summary": "",
        "mem_get_info": (_MEMORY, _MEMORY),
        "get_device_name": Properties.name,
        "get_device_capability": (Properties.major, Properties.minor),
        "get_device_properties": Properties(),
        "get_arch_list": ["sm_90"],
        "_exchange_device": 0,
        "_maybe_exchange_device": 0,
    }
    return {
        **{name: _constant(value) for name, value in constants.items()},
        **values(),
        **_random(torch.default_generator),
        "device_count": lambda: CURRENT.count,
        "_device_count_nvml": lambda: CURRENT.count,
        "current_device": lambda: CURRENT.index,
        "set_device": set_device,
        "memory_stats": lambda *_a, **_k: defaultdict(int),
        "memory_snapshot": lambda *_a, **_k: [],
        "empty_cache": lambda: explicit("cudaFree", "memory that is given back waits for all work"),
        "default_generators": (torch.default_generator,) * CURRENT.count,
    }


def install(patches: Patches) -> None:
    """Replace what a program may call of `torch.cuda` and its modules."""
    cuda, values_of_cuda = torch.cuda, _cuda()
    patches.set_all(cuda, values_of_cuda)
    for module in (cuda.random, cuda.memory, cuda.streams, cuda.graphs):
        names = {name: value for name, value in values_of_cuda.items() if name in vars(module)}
        patches.set_all(module, names)
    patches.set_all(cuda, tensor_types())
    patches.set_all(torch, {"Stream": Stream, "Event": Event})
    patches.set(torch._C, "_get_accelerator", lambda *_: torch.device("cuda"))
    # Asked, it would warn that this build has no cuDNN.
    patches.set(torch.backends.cudnn, "is_acceptable", _constant(False))
    nvtx = ("range_push", "range_pop", "mark", "range_start", "range_end")
    patches.set_all(cuda.nvtx, {**{name: _constant(None) for name in nvtx}, "range": Nothing})
    patches.set_known(
        torch.accelerator,
        {
            "is_available": _constant(True),
            "device_count": lambda: CURRENT.count,
            "current_accelerator": _constant(torch.device("cuda")),
            "current_device_index": lambda: CURRENT.index,
            "current_device_idx": lambda: CURRENT.index,
            "set_device_index": set_device,
            "set_device_idx": set_device,
            "current_stream": lambda device=None: DefaultStream(device),
            "set_stream": _constant(None),
            "device_index": DeviceContext,
            "synchronize": lambda *_a, **_k: explicit("cudaDeviceSynchronize"),
            "empty_cache": values_of_cuda["empty_cache"],
            "empty_host_cache": _constant(None),
            "get_memory_info": values_of_cuda["mem_get_info"],
            "get_device_capability": _constant({"supported_dtypes": {*DTYPES.values()}}),
            "memory_stats": values_of_cuda["memory_stats"],
            "Graph": Graph,
            **{name: values_of_cuda[name] for name in (*_ZERO, *_NOTHING) if "memory" in name},
        },
    )


# torch's profiler, which would look for events of a device that is not there.


_NOTE = "a profiler that the program starts records the CPU alone, without its own wait at the end"


def install_profiling(patches: Patches) -> None:
    """Let profilers record the CPU only, and NVTX nothing."""
    profile = torch.autograd.profiler.profile
    original = profile.__init__

    @wraps(original)
    def init(self: Any, *args: Any, **options: Any) -> None:
        if options.get("use_device") == "cuda" or options.get("use_cuda"):
            WATCH.note(_NOTE)
            options.pop("use_cuda", None)
            options.update(use_device=None, use_cpu=True)
        original(self, *args, **options)

    def enter(self: Any) -> Any:
        leave(self)
        return self

    def leave(self: Any, *_error: object) -> None:
        if self.enabled:
            explicit("cudaDeviceSynchronize", "emit_nvtx waits at both of its ends")

    patches.set(profile, "__init__", init)
    patches.set_all(torch.autograd.profiler.emit_nvtx, {"__enter__": enter, "__exit__": leave})


# `torch.distributed` over gloo in place of NCCL.


GLOO = (
    "torch.distributed: gloo runs in place of NCCL, whose own waits (its watchdog, the clock of "
    "DistributedDataParallel) are not listed"
)


def install_distributed(patches: Patches) -> None:
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
