"""Quantized tensors of the device, which DLPack has no name for.

Torch makes them by the allocator that the hooks of CUDA give it: here that of the CPU, whose memory
then says that it lies on the device.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

_C: Any = torch._C
QUANTIZED_CPU_KEYS = _C.DispatchKeySet(_C.DispatchKey.QuantizedCPU)
_aten = torch.ops.aten
_WORD = ctypes.sizeof(ctypes.c_void_p)
_FUNCTIONS = 16
"""At least as many virtual functions as an allocator has."""
_ALLOCATE = 2
"""Its place among them, after two destructors."""
_DEVICE = 3 * _WORD
"""Offset of the device in c10::DataPtr: after data, context and deleter."""
_PER_TENSOR = (0, 2, torch.per_tensor_affine, torch.per_tensor_symmetric)
"""Of c10::QScheme, as the dispatcher and as Python has them."""
_CUDA = 1
"""c10::DeviceType::CUDA."""
_allocating = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
"""A c10::DataPtr is returned through a pointer that comes before `this`."""


class Allocator:
    """An allocator of memory of the host that is the device's to torch."""

    def __init__(self, of_host: int) -> None:
        """Make it out of the CPU's allocator, by its address."""
        table = ctypes.c_void_p.from_address(of_host).value or 0
        functions = (ctypes.c_void_p * _FUNCTIONS).from_address(table)
        allocate = _allocating(functions[_ALLOCATE] or 0)

        def on_device(result: int, _this: int, size: int) -> int:
            allocate(result, of_host, size)
            ctypes.c_int8.from_address(result + _DEVICE).value = _CUDA
            ctypes.c_int8.from_address(result + _DEVICE + 1).value = 0
            return result

        self._function = _allocating(on_device)
        self._table = (ctypes.c_void_p * _FUNCTIONS)(*functions)
        self._table[_ALLOCATE] = ctypes.cast(self._function, ctypes.c_void_p).value
        self._object = ctypes.c_void_p(ctypes.addressof(self._table))
        self._get = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(self._object))

    @property
    def getter(self) -> int:
        """Address of a function that returns its address."""
        return ctypes.cast(self._get, ctypes.c_void_p).value or 0


def empty(
    like: torch.Tensor, device: torch.device, move: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Return a quantized tensor of the same size and quantizer.

    Args:
        like: the tensor, of this device or another.
        device: where it will be.
        move: returns a tensor where `like` is as one of the device.
    """
    options = {"dtype": like.dtype, "device": device}
    if _read(like, "qscheme") in _PER_TENSOR:
        made: torch.Tensor = _aten._empty_affine_quantized.default.redispatch(
            QUANTIZED_CPU_KEYS,
            like.size(),
            scale=_read(like, "q_scale"),
            zero_point=_read(like, "q_zero_point"),
            **options,
        )
        return made
    by_channel: torch.Tensor = _aten._empty_per_channel_affine_quantized.default.redispatch(
        QUANTIZED_CPU_KEYS,
        like.size(),
        scales=move(_read(like, "q_per_channel_scales")),
        zero_points=move(_read(like, "q_per_channel_zero_points")),
        axis=_read(like, "q_per_channel_axis"),
        **options,
    )
    return by_channel


def _read(tensor: torch.Tensor, name: str) -> Any:
    return getattr(_aten, name).default.redispatch(QUANTIZED_CPU_KEYS, tensor)


def integers(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a quantized tensor, in the same memory."""
    storage = tensor.untyped_storage()
    return _aten.empty([0], dtype=torch.uint8, device=storage.device).set_(storage)  # type: ignore[no-any-return]
