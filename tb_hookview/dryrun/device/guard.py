"""Private parts of torch that make CUDA a device: its guard, hooks, timer; and plans for kernels.

Both are reached by ctypes: `c10::impl::device_guard_impl_registry`, and the virtual functions of
`at::CUDAHooksInterface`, whose places are read from torch's own headers.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from tb_hookview.dryrun.device import missing
from tb_hookview.dryrun.device.allocators import (
    IS_CALLABLE,
    DeviceAllocator,
    PinnedAllocator,
    is_pinned,
)
from tb_hookview.dryrun.operators.row import Row
from tb_hookview.dryrun.operators.table import by_operator

_C: Any = torch._C
_FOLDER = Path(torch.__file__).parent
_HEADERS = ("AcceleratorHooksInterface.h", "CUDAHooksInterface.h")
_CUDA = 1
"""c10::DeviceType::CUDA."""
_TYPES = 21
"""Entries of the registry that are read; it has more."""
_METHODS = 64
"""More virtual functions than a guard has."""
_WORD = ctypes.sizeof(ctypes.c_void_p)
_DESTRUCTORS = 2
_BEFORE_TABLE = 2
"""Words before the functions of a virtual table: offset to top, type information."""


class DoesNotFitError(Exception):
    """A private part of torch is not as it has to be."""


_ZERO = ctypes.CFUNCTYPE(ctypes.c_longlong)(lambda: 0)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _library(name: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(_FOLDER / "lib" / name))
    except OSError as error:
        raise DoesNotFitError(f"{name} cannot be loaded") from error


def install_guard() -> None:
    """Make torch's own no-op device guard that of CUDA; it stays, and does nothing by itself.

    Raises:
        DoesNotFitError: this torch has none.
    """
    try:
        registry = (ctypes.c_void_p * _TYPES).in_dll(
            _library("libc10.so"), "_ZN3c104impl26device_guard_impl_registryE"
        )
        ensure = _C._ensureCUDADeviceGuardSet
    except (ValueError, AttributeError) as error:
        raise DoesNotFitError("it has no registry of device guards") from error
    if registry[_CUDA]:
        ensure()
        return
    # `ensure` replaces a guard that counts no devices. One that answers 0 to everything stands
    # there for that one call.
    methods = (ctypes.c_void_p * _METHODS)(*([_address(_ZERO)] * _METHODS))
    stand_in = (ctypes.c_void_p * 4)(ctypes.addressof(methods), 0, 0, 0)
    registry[_CUDA] = ctypes.addressof(stand_in)
    ensure()
    if registry[_CUDA] == ctypes.addressof(stand_in):
        registry[_CUDA] = None
        raise DoesNotFitError("its no-op device guard is missing")


def hook_slots() -> dict[str, int]:
    """Return the place of each virtual function of CUDAHooksInterface.

    Raises:
        DoesNotFitError: the headers are not there.
    """
    names: list[str] = []
    for header in _HEADERS:
        path = _FOLDER / "include" / "ATen" / "detail" / header
        try:
            text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        except OSError as error:
            raise DoesNotFitError(f"{header} is not installed with it") from error
        for name in re.findall(r"\bvirtual\s+(?!~)[^;{(]*?(\w+)\s*\(", text):
            if name not in names:
                names.append(name)
    return {name: place + _DESTRUCTORS for place, name in enumerate(names)}


def install_hooks() -> Callable[[], None]:
    """Make CUDA the accelerator, for the autograd engine; return what undoes it.

    Raises:
        DoesNotFitError: torch does not take it.
    """
    slots = hook_slots()
    yes, no = _address(ctypes.pythonapi.Py_IsInitialized), _address(_ZERO)
    try:
        get = _library("libtorch_cpu.so")._ZN2at6detail12getCUDAHooksEv
        allocator = _library("libc10.so")._ZN3c1015GetCPUAllocatorEv
        allocator.restype = ctypes.c_void_p
        of_device, pinned = DeviceAllocator(allocator()), PinnedAllocator(allocator())
        answers = {"hasPrimaryContext": no, "init": no, "isPinnedPtr": _address(is_pinned)}
        getter = pinned.getter if IS_CALLABLE else _address(allocator)
        answers |= {"getPinnedMemoryAllocator": getter}
        answers |= {"getCUDADeviceAllocator": of_device.getter}
        answers |= {} if _C._has_cuda else {"isBuilt": yes, "hasCUDA": yes}
        replaced = {slots[name]: answer for name, answer in answers.items()}
    except (AttributeError, KeyError) as error:
        raise DoesNotFitError("its CUDA hooks are not where they are expected") from error
    get.restype = ctypes.c_void_p
    hooks = ctypes.c_void_p.from_address(get())
    before = hooks.value or 0
    size = _BEFORE_TABLE + max(slots.values()) + 1
    table = (ctypes.c_void_p * size)(
        *(ctypes.c_void_p * size).from_address(before - _BEFORE_TABLE * _WORD)
    )
    for place, answer in replaced.items():
        table[_BEFORE_TABLE + place] = answer

    def undo(_kept: object = (table, of_device, pinned)) -> None:
        hooks.value = before

    hooks.value = ctypes.addressof(table) + _BEFORE_TABLE * _WORD
    try:
        accelerator = _C._accelerator_getAccelerator()
        if accelerator is None or torch.device(accelerator).type != "cuda":
            raise DoesNotFitError("CUDA does not become its accelerator")
    except BaseException:
        undo()
        raise
    return undo


# DistributedDataParallel's timer: in builds with CUDA that of the CPU takes its place.
#
# `c10d::TimerRegistry()` is a `c10::Registry`, whose first member is a hash table of libstdc++:
# from device types to what makes a timer.


_CPU = 0
"""c10::DeviceType::CPU."""
_FIRST_NODE, _COUNT = 2 * _WORD, 3 * _WORD
"""Offsets in the hash table, after buckets and their number."""
_KEY, _FUNCTION = _WORD, 2 * _WORD
"""Offsets in a node, after the pointer to the next one."""
_FUNCTION_BYTES = 4 * _WORD
_MOST = 16
"""More kinds of devices than have a timer."""
_word = ctypes.c_size_t.from_address


def install_timer() -> Callable[[], None]:
    """Let timers of CUDA be of the CPU; return what undoes it.

    Where the registry is not as expected nothing is changed, and DistributedDataParallel raises.
    """
    places = dict(_functions()) if torch._C._has_cuda else {}
    if _CPU not in places or _CUDA not in places:
        return lambda: None
    before = ctypes.string_at(places[_CUDA], _FUNCTION_BYTES)
    ctypes.memmove(places[_CUDA], places[_CPU], _FUNCTION_BYTES)

    def undo() -> None:
        ctypes.memmove(places[_CUDA], before, _FUNCTION_BYTES)

    return undo


def _functions() -> Iterator[tuple[int, int]]:
    """Device types that have a timer, and where the function lies that makes it."""
    library = _library("libtorch_cpu.so")
    try:
        registry = library._ZN4c10d13TimerRegistryEv
    except AttributeError:
        return
    registry.restype = ctypes.c_void_p
    table = registry()
    if not table or not 0 < _word(table + _COUNT).value <= _MOST:
        return
    node = _word(table + _FIRST_NODE).value
    for _ in range(_word(table + _COUNT).value):
        if not node:
            return
        yield ctypes.c_int8.from_address(node + _KEY).value, node + _FUNCTION
        node = _word(node).value


# How a kernel of CUDA is replaced by one of the CPU: what its schema says, once per operator.


Op = Any
"""A torch._ops.OpOverload."""

METADATA = frozenset(
    f"aten::{name}"
    for name in (
        *("as_strided", "as_strided_", "view", "_reshape_alias", "unfold", "view_as_real"),
        *("view_as_complex", "set_.source_Storage_storage_offset", "set_.source_Tensor"),
        *("set_.source_Storage", "is_set_to", "_nested_view_from_buffer"),
    )
)
"""Kernels that read and write sizes, strides and the storage alone: the CPU's own code runs on the
CUDA tensor itself, so that views share their storage."""
SHARED = frozenset(
    f"aten::{name}"
    for name in (
        *("index_fill_.int_Tensor", "_to_sparse", "_to_sparse.sparse_dim"),
        *("_nested_tensor_from_mask", "_nested_tensor_from_mask_left_aligned"),
        *("_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr", "_to_sparse_bsc"),
    )
)
"""Kernels whose code is the same for CPU and CUDA and calls operators only: it runs on the CUDA
tensor itself, and shows the syncs of these operators."""
_UNARY = (
    *("abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1"),
    *("floor", "frac", "isinf", "isnan", "log1p", "nan_to_num", "neg", "pow", "rad2deg", "relu"),
    *("round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
SPARSE_SHARED = frozenset(
    f"aten::{name}"
    for name in (
        *(form for name in _UNARY for form in (name, f"{name}_")),
        *("any", "narrow_copy", "native_norm", "norm", "sum"),
    )
)
"""The same for sparse tensors: what sorts the indices of its argument first, or reads them."""
COMPRESSED_SHARED = frozenset(
    ("aten::select.int", "aten::select_copy.int", "aten::_to_sparse_bsr", "aten::_to_sparse_bsc")
)
CPU_ONLY = frozenset(
    f"aten::{name}"
    for name in (
        *("histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "_spdiags"),
        *("_histogramdd_from_bin_tensors", "_sparse_mm_reduce_impl", "to_mkldnn"),
    )
)
"""Operators that torch has for the CPU alone: with a GPU they raise."""
SPARSE_METADATA = frozenset(
    f"aten::{name}"
    for name in (
        *("_indices", "_values", "_nnz", "sparse_dim", "dense_dim", "is_coalesced"),
        *("_coalesced_", "_dimI", "_dimV", "resize_as_sparse_", "indices", "values"),
        *("sparse_resize_", "sparse_resize_and_clear_", "crow_indices", "col_indices"),
        *("ccol_indices", "row_indices"),
    )
)
NESTED_METADATA = frozenset(
    f"aten::{name}"
    for name in (
        *("_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets"),
        *("_nested_get_values", "values", "detach", "_nested_view_from_buffer"),
    )
)
NO_OPS = frozenset(("aten::record_stream", "fsdp::record_grad_output_stream"))
MIXED = frozenset(
    f"aten::{name}"
    for name in (
        *("_use_cudnn_ctc_loss", "_use_miopen_ctc_loss", "_ctc_loss", "_ctc_loss_backward"),
        *("copy_", "_to_copy", "_foreach_copy_", "fill_", "index", "normal"),
        *("_local_scalar_dense", "set_", "resize_", "resize_as_", "empty_like", "record_stream"),
        *("_pack_padded_sequence", "_fused_adam_", "_fused_adamw_", "_fused_sgd_"),
        *("_fused_adagrad_", "_cudnn_rnn", "unique_dim", "split_with_sizes_copy"),
        *("_nested_from_padded", "_foreach_addcdiv", "_foreach_addcdiv_", "_foreach_addcmul"),
        "_foreach_addcmul_",
    )
)
"""Operators that take tensors of both devices, or check them by their own code. All others raise
for them as they do on CUDA."""

_ELSEWHERE = {"aten::_index_put_impl_": frozenset(("indices",))}
"""Arguments of others that may be on another device."""


class Plan:
    """What is known of an operator before it is called."""

    __slots__ = (
        *("base", "defaults", "elsewhere", "is_cpu_only", "is_metadata", "is_mixed", "is_no_op"),
        *("is_shared", "name", "names", "packet", "returned", "rows", "run", "writes"),
    )

    def __init__(self, op: Op, rows: dict[str, list[Row]], run: Any = None) -> None:
        schema = op._schema
        self.base: str = schema.name
        overload = schema.overload_name
        self.name = f"{self.base}.{overload}" if overload else self.base
        self.names: list[str] = [a.name for a in schema.arguments]
        self.defaults: dict[str, Any] = {
            a.name: a.default_value if a.has_default_value() else None for a in schema.arguments
        }
        self.writes = frozenset(a.name for a in schema.arguments if _is_written(a))
        self.returned = _returned(schema)
        found = [*rows.get(self.name, ()), *rows.get(self.base, ())]
        self.rows = tuple(dict.fromkeys(found))
        self.packet = op._overloadpacket
        self.is_metadata, self.is_shared = self.name in METADATA, self.name in SHARED
        self.is_no_op, self.is_mixed = self.base in NO_OPS, self.base in MIXED
        self.is_cpu_only = self.base in CPU_ONLY
        self.elsewhere = _ELSEWHERE.get(self.base, frozenset())
        self.run = run or missing.KERNELS.get(self.base) or op


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and bool(argument.alias_info.is_write)


def _returned(schema: Any) -> list[str | None]:
    """For each result the argument that it is; None for a new tensor."""
    owners = {
        name: argument.name
        for argument in schema.arguments
        if _is_written(argument)
        for name in argument.alias_info.before_set
    }
    return [
        next((owners[name] for name in result.alias_info.before_set if name in owners), None)
        if _is_written(result)
        else None
        for result in schema.returns
    ]


class Plans:
    """Plans of operators, each made when it is first called."""

    def __init__(self) -> None:
        major, minor = torch.__version__.split(".")[:2]
        self._rows = by_operator((int(major), int(minor)))
        self._plans: dict[Op, Plan] = {}

    def of(self, op: Op) -> Plan:
        """Return the plan of an operator."""
        plan = self._plans.get(op)
        if plan is None:
            plan = self._plans[op] = Plan(op, self._rows)
        return plan

    def register(self, op: Op, run: Any, row: Row | None) -> None:
        """Run a function in place of an operator's kernel, and expect the syncs of a row."""
        rows = {**self._rows, **({} if row is None else {op._schema.name: [row]})}
        self._plans[op] = Plan(op, rows, run)

    def forget(self) -> None:
        """Forget what was registered."""
        self._plans.clear()


PLANS = Plans()
