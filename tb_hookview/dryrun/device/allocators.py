"""Allocators that the hooks of CUDA give torch: of memory of the device, and of pinned memory.

Each is the CPU's with another function to allocate, which torch's C++ code calls.
"""

from __future__ import annotations

import ctypes
import platform
from typing import Any

import torch

from tb_hookview.dryrun.operators.uploads import PINNED, pin

_C: Any = torch._C
_WORD = ctypes.sizeof(ctypes.c_void_p)
_FUNCTIONS = 16
"""At least as many virtual functions as an allocator has."""
_ALLOCATE = 2
"""Its place among them, after two destructors."""
_DATA, _DELETER, _CONTEXT, _DEVICE = 0, _WORD, 2 * _WORD, 3 * _WORD
"""Offsets in c10::DataPtr."""
_FREE = 7 * _WORD
"""Offset in DLManagedTensor: the function that frees it, given its address."""
_CPU, _CUDA = 0, 1
"""c10::DeviceType."""
_allocating = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
"""A c10::DataPtr is returned through a pointer that comes before `this`."""
IS_CALLABLE = platform.machine() == "x86_64"
"""Whether it comes there; on ARM it has a register of its own."""
_word, _byte = ctypes.c_size_t.from_address, ctypes.c_int8.from_address
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class _Allocator:
    """The CPU's allocator, except for `allocate`."""

    def __init__(self, of_host: int) -> None:
        """Make it out of the CPU's allocator, by its address."""
        self._of_host = of_host
        table = ctypes.c_void_p.from_address(of_host).value or 0
        functions = (ctypes.c_void_p * _FUNCTIONS).from_address(table)
        self._allocate_on_host = _allocating(functions[_ALLOCATE] or 0)
        self._function = _allocating(self._allocate)
        self._table = (ctypes.c_void_p * _FUNCTIONS)(*functions)
        self._table[_ALLOCATE] = ctypes.cast(self._function, ctypes.c_void_p).value
        self._object = ctypes.c_void_p(ctypes.addressof(self._table))
        self._get = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(self._object))

    def _allocate(self, result: int, this: int, size: int) -> int:
        raise NotImplementedError

    @property
    def getter(self) -> int:
        """Address of a function that returns its address."""
        return ctypes.cast(self._get, ctypes.c_void_p).value or 0


class DeviceAllocator(_Allocator):
    """An allocator of memory of the host that is the device's to torch."""

    def _allocate(self, result: int, _this: int, size: int) -> int:
        self._allocate_on_host(result, self._of_host, size)
        _byte(result + _DEVICE).value = _CUDA
        _byte(result + _DEVICE + 1).value = 0
        return result


class PinnedAllocator(_Allocator):
    """An allocator of memory that counts as pinned until it is freed."""

    def _allocate(self, result: int, _this: int, size: int) -> int:
        # A tensor has the memory, so that the set of pinned storages sees when it is freed. Who
        # asked for it owns the tensor, by way of DLPack: C++ code frees it, on any thread.
        with _C.DisableTorchFunction():
            tensor = torch.ops.aten.empty([size], dtype=torch.uint8, device="cpu")
        pin(tensor)
        capsule = _C._to_dlpack(tensor)
        managed = capsule_pointer(capsule, b"dltensor")
        _rename(capsule, b"used_dltensor")
        _word(result + _DATA).value = tensor.data_ptr()
        _word(result + _DELETER).value = _word(managed + _FREE).value
        _word(result + _CONTEXT).value = managed
        _byte(result + _DEVICE).value = _CPU
        _byte(result + _DEVICE + 1).value = -1
        return result


def _is_pinned(_this: int, address: int | None) -> bool:
    return PINNED.holds_memory(address or 0)


is_pinned = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)(_is_pinned)
"""For the hooks of CUDA: whether memory of the host is pinned."""
