"""Private parts of torch that make CUDA a device: its guard, and the accelerator's hooks.

Both are reached by ctypes: `c10::impl::device_guard_impl_registry`, and the virtual functions of
`at::CUDAHooksInterface`, whose places are read from torch's own headers.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tb_hookview.dryrun.device.quantized import Allocator

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
        raise DoesNotFitError("its no-op device guard is not there")


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
        # Pinned memory that torch's own code allocates is memory of the host.
        allocator = _library("libc10.so")._ZN3c1015GetCPUAllocatorEv
        allocator.restype = ctypes.c_void_p
        of_device = Allocator(allocator())
        answers = {"hasPrimaryContext": no, "init": no, "isPinnedPtr": no}
        answers |= {"getPinnedMemoryAllocator": _address(allocator)}
        answers |= {"getCUDADeviceAllocator": of_device.getter}
        answers |= {} if _C._has_cuda else {"isBuilt": yes, "hasCUDA": yes}
        replaced = {slots[name]: answer for name, answer in answers.items()}
    except (AttributeError, KeyError) as error:
        raise DoesNotFitError("its CUDA hooks are not where they are looked for") from error
    get.restype = ctypes.c_void_p
    hooks = ctypes.c_void_p.from_address(get())
    before = hooks.value or 0
    size = _BEFORE_TABLE + max(slots.values()) + 1
    table = (ctypes.c_void_p * size)(
        *(ctypes.c_void_p * size).from_address(before - _BEFORE_TABLE * _WORD)
    )
    for place, answer in replaced.items():
        table[_BEFORE_TABLE + place] = answer

    def undo(_kept: object = (table, of_device)) -> None:
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
