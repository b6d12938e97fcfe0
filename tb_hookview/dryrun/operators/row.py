"""Rows of the table of operators: which operators they are of, and the reasons to wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch

Kind = Literal["read", "size", "check", "to_device", "to_host", "staging", "explicit", "inside"]
"""What the wait is for: a value, a number of elements, an error check, a copy to the device or to
the host, a copy by way of the driver's buffer, the program itself, a library."""


class Reason(NamedTuple):
    """One wait of an operator."""

    kind: Kind
    text: str
    nbytes: int | None = None
    """Bytes that are copied; None where nothing is."""
    certain: bool = True
    """False where the driver decides whether the host waits."""


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


Reasons = Callable[[Arguments], Iterable[Reason]]
Version = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """Operators whose CUDA kernel makes the host wait on one condition.

    Kernels only: composite code of the installed torch runs as it is, and shows its own syncs.
    """

    operators: tuple[str, ...]
    """With an overload's name, or without for all of them."""
    condition: str
    """When it syncs, and how often, in words."""
    source: str
    """The file of torch that was read, below aten/src/ATen/native unless it says otherwise."""
    reasons: Reasons
    symbols: tuple[str, ...] = ()
    """Names of functions of torch's libraries of which at least one calls what waits."""
    first: Version = (2, 8)
    """First version of torch that it is true of, among those that were read."""
    evidence: str = "source"
    """What else says so: "binary" (calls in libtorch_cuda.so), "recording", "issue"."""


def always(*reasons: Reason, also_empty: bool = False) -> Reasons:
    """Return reasons that hold in each call, but for an empty first tensor."""

    def of_call(arguments: Arguments) -> tuple[Reason, ...]:
        return () if arguments.is_empty and not also_empty else reasons

    return of_call


def when(condition: Callable[[Arguments], bool], *reasons: Reason) -> Reasons:
    """Return reasons that hold in calls that meet a condition."""

    def of_call(arguments: Arguments) -> tuple[Reason, ...]:
        return reasons if condition(arguments) else ()

    return of_call
