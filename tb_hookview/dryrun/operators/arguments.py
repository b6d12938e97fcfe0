"""Arguments of an operator's call, by the names of its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch


class Arguments(Mapping[str, Any]):
    """Arguments by name; those that were not given have the schema's defaults."""

    __slots__ = ("_args", "_kwargs", "_names")

    def __init__(
        self, names: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """Bind a call.

        Args:
            names: default of each argument, in the order of the schema.
            args: positional arguments.
            kwargs: arguments by keyword.
        """
        self._names, self._args, self._kwargs = names, args, kwargs

    def __getitem__(self, name: str) -> Any:
        if name in self._kwargs:
            return self._kwargs[name]
        for place, known in enumerate(self._names):
            if known == name:
                return self._args[place] if place < len(self._args) else self._names[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def is_empty(self) -> bool:
        """Whether the first tensor has no elements."""
        tensors = (value for value in self._args if isinstance(value, torch.Tensor))
        first = next(tensors, None)
        return first is not None and first.numel() == 0


def on_device(value: object) -> bool:
    """Whether a value is a tensor of the device."""
    return isinstance(value, torch.Tensor) and value.is_cuda


def filled(value: object) -> bool:
    """Whether a value is a tensor of the device that has elements."""
    return isinstance(value, torch.Tensor) and value.is_cuda and value.numel() > 0


def on_host(value: object) -> bool:
    """Whether a value is a tensor of the host."""
    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


def nbytes(tensor: torch.Tensor) -> int:
    """Bytes of a tensor's elements."""
    return tensor.numel() * tensor.element_size()
