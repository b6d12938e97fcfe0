"""Pinned memory, storages, generators and factories of the host."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch
from torch.storage import UntypedStorage

from tb_hookview.dryrun.cuda.streams import Patches, device_index
from tb_hookview.dryrun.device.labels import aten, host, label
from tb_hookview.dryrun.operators.row import Reason
from tb_hookview.dryrun.operators.uploads import TO_HOST, is_pinned, pin, transfer
from tb_hookview.dryrun.recording.recorder import WATCH

_storage: Any = torch.storage
_FACTORIES = (
    *("empty", "zeros", "ones", "full", "randn", "rand", "randint", "arange", "tensor", "eye"),
    *("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"),
    *("empty_strided", "linspace", "logspace", "randperm"),
)


def _pin_memory(tensor: torch.Tensor, *_args: Any, **_kwargs: Any) -> torch.Tensor:
    if tensor.is_cuda:
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    if is_pinned(tensor):
        return tensor
    copied = tensor.detach().clone()
    pin(copied)
    return copied


def _is_pinned(tensor: torch.Tensor, *_args: Any, **_kwargs: Any) -> bool:
    return not tensor.is_cuda and is_pinned(tensor)


def _pinning(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a factory whose tensors count as pinned where they are asked to be."""

    @functools.wraps(function)
    def create(*args: Any, pin_memory: bool = False, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if pin_memory:
            pin(made)
        return made

    return create


def _known_to_jit(patches: Patches, function: Any, original: Any) -> None:
    """Let torch.jit.script take a function for the builtin that it replaces."""
    builtins: Any = importlib.import_module("torch.jit._builtins")
    operator = builtins._find_builtin(original)
    if operator is not None:
        table = builtins._get_builtin_table()
        table[id(function)] = operator
        patches.on_undo(lambda: table.pop(id(function), None))


def _bytes(storage: Any) -> UntypedStorage:
    return storage if isinstance(storage, UntypedStorage) else storage._untyped_storage


def _to_device(storage: Any, device: Any = None, non_blocking: bool = False) -> Any:
    """A copy of a storage on the device."""
    untyped = _bytes(storage)
    if untyped.device.type == "cuda":
        return storage
    whole = aten.empty([0], dtype=torch.uint8, device="cpu").set_(_copied(untyped))
    source = aten.empty([0], dtype=torch.uint8, device="cpu").set_(untyped)
    for reason in transfer(
        len(untyped), to_device=True, non_blocking=non_blocking, pinned=is_pinned(source)
    ):
        WATCH.sync("aten::copy_", reason)
    return _like(storage, label(whole, device_index(device)).untyped_storage())


def _to_host(storage: Any) -> Any:
    """A copy of a storage on the host."""
    untyped = _bytes(storage)
    if untyped.device.type != "cuda":
        return storage
    if len(untyped):
        WATCH.sync("aten::copy_", Reason("to_host", TO_HOST, len(untyped)))
    return _like(storage, _on_host(untyped).clone().untyped_storage())


def _on_host(storage: UntypedStorage) -> torch.Tensor:
    """The bytes of a storage of the device, in the same memory."""
    whole = aten.empty([0], dtype=torch.uint8, device=storage.device).set_(storage)
    return host(whole)


def _copied(storage: Any) -> Any:
    return storage.clone()


def _like(storage: Any, untyped: UntypedStorage) -> Any:
    if isinstance(storage, UntypedStorage):
        return untyped
    return storage._new_wrapped_storage(untyped)


class _Generators(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, torch._C.Generator)


class Generator(metaclass=_Generators):
    """`torch.Generator`: those of the device are of the CPU, and so are the numbers."""

    def __new__(cls, device: Any = "cpu") -> Any:
        """Return a generator of the CPU."""
        del device
        return torch._C.Generator("cpu")


def install(patches: Patches) -> None:
    """Replace what makes, pins and moves memory."""
    for name in _FACTORIES:
        original = getattr(torch, name)
        pinning = _pinning(original)
        patches.set(torch, name, pinning)
        _known_to_jit(patches, pinning, original)
    for name in ("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor"):
        patches.set(torch.Tensor, name, _pinning(getattr(torch.Tensor, name)))
    patches.set(torch.Tensor, "pin_memory", _pin_memory)
    patches.set(torch.Tensor, "is_pinned", _is_pinned)
    patches.set(torch.Tensor, "record_stream", lambda _self, _stream: None)
    patches.set(torch, "Generator", Generator)
    _install_storages(patches)


def _install_storages(patches: Patches) -> None:
    move = _storage._to

    def to(storage: Any, device: Any, non_blocking: bool = False) -> Any:
        if torch.device(device).type == "cuda":
            return _to_device(storage, device, non_blocking)
        if _bytes(storage).device.type == "cuda" and torch.device(device).type == "cpu":
            return _to_host(storage)
        return move(storage, device, non_blocking)

    patches.set(_storage, "_to", to)
    clone: Any = UntypedStorage.clone
    resize: Any = UntypedStorage.resize_

    def cloned(storage: Any) -> Any:
        if storage.device.type != "cuda":
            return clone(storage)
        return label(_on_host(storage).clone(), storage.device.index).untyped_storage()

    def resized(storage: Any, size: int) -> Any:
        if storage.device.type != "cuda":
            return resize(storage, size)
        if size > len(storage):
            raise RuntimeError("dry run: a storage of the device cannot grow")
        return storage  # what is given back is kept

    patches.set(UntypedStorage, "clone", cloned)
    patches.set(UntypedStorage, "resize_", resized)
    patches.set(_storage._StorageBase, "cuda", _to_device)
    patches.set(_storage._StorageBase, "cpu", _to_host)
    patches.set(_storage.TypedStorage, "cuda", _to_device)
    patches.set(_storage.TypedStorage, "cpu", _to_host)
