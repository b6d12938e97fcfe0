"""The old types: `torch.cuda.FloatTensor` and its like."""

from __future__ import annotations

from typing import Any

import torch

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
