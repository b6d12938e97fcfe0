"""Which tensors of the host count as pinned: their storages, which stay ordinary memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

_MANY = 4096
_weak: Any = StorageWeakRef
_pinned: dict[int, Any] = {}


def pin(tensor: torch.Tensor) -> None:
    """Take the tensor's storage for pinned from now on."""
    storage = tensor.untyped_storage()
    _pinned[storage._cdata] = _weak(storage)
    if len(_pinned) > _MANY:
        for key in [key for key, storage in _pinned.items() if storage.expired()]:
            del _pinned[key]


def is_pinned(tensor: torch.Tensor) -> bool:
    """Whether the tensor's storage is taken for pinned."""
    if tensor.layout is not torch.strided:
        return False
    reference = _pinned.get(tensor.untyped_storage()._cdata)
    return reference is not None and not bool(reference.expired())


def forget() -> None:
    """Take no storage for pinned any more."""
    _pinned.clear()
