"""What tensors of the host stand for: pinned memory, or memory of the device seen from the host."""

from __future__ import annotations

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

_MANY = 4096
_weak: Any = StorageWeakRef


class Storages:
    """A set of storages that keeps none of them alive."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}

    def add(self, tensor: torch.Tensor) -> None:
        """Add the storage of a dense tensor."""
        storage = tensor.untyped_storage()
        self._known[storage._cdata] = _weak(storage)
        if len(self._known) > _MANY:
            for key in [key for key, known in self._known.items() if known.expired()]:
                del self._known[key]

    def holds(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor's storage is one of them."""
        if not self._known or tensor.layout is not torch.strided or tensor.is_nested:
            return False
        reference = self._known.get(tensor.untyped_storage()._cdata)
        return reference is not None and not reference.expired()

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()


PINNED = Storages()
"""Memory of the host that counts as pinned."""
ALIASES = Storages()
"""Memory of the device that collectives have as tensors of the host."""


def pin(tensor: torch.Tensor) -> None:
    """Take the tensor's memory for pinned from now on."""
    PINNED.add(tensor)


def is_pinned(tensor: torch.Tensor) -> bool:
    """Whether the tensor's memory is taken for pinned."""
    return PINNED.holds(tensor)


def forget() -> None:
    """Forget everything."""
    PINNED.clear()
    ALIASES.clear()
