"""Leaves ranges around gradient scaling and clipping, and around Python's garbage collections.

A script has usually imported what it calls (`from torch.nn.utils import clip_grad_norm_`), so
replacing the name in torch's module would not reach the script. Methods are replaced on their
class. Each clipping function is `torch.no_grad` around an inner function. That inner one is
replaced, and the outer one stays the same object, so every reference to it reaches ours.
"""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable, Iterator
from types import CellType
from typing import Any

import torch
from torch.compiler import is_compiling
from torch.nn.utils import clip_grad

from tb_hookview.markers import COLLECTION, FUNCTION, encode
from tb_hookview.recorder import faults
from tb_hookview.recorder.costs import Costs
from tb_hookview.recorder.hooks import CallMarks, OpenCalls, TimedCallMarks
from tb_hookview.recorder.ranges import Range, new_range

_SCALER = {
    "unscale_": "unscale_",
    # The part of `step` that may wait for the device. `step` itself attributes its warnings to its
    # caller, which would be our function.
    "_maybe_opt_step": "step",
    "update": "update",
}
_CLIPPING = {
    "_get_total_norm": "get_total_norm",
    "_clip_grads_with_norm_": "clip_grads_with_norm_",
    "clip_grad_value_": "clip_grad_value_",
}
_OLD_CLIPPING = {"clip_grad_norm_": "clip_grad_norm_", "clip_grad_value_": "clip_grad_value_"}
"""Before torch 2.6 clipping by norm was all in one function."""

FunctionPlace = tuple[type | CellType, str]
"""An object and the attribute of it that holds a function."""


def attach(open_calls: OpenCalls, costs: Costs) -> list[Handle]:
    """Replace these functions by ones that leave a range, until the handles are removed.

    Functions that this version of torch lacks, or that compiled code calls, are skipped.

    Args:
        open_calls: the calls of each thread.
        costs: samples of what the ranges cost.
    """
    places = [*_scaler_methods(), *_clipping_functions(clip_grad)]
    handles = (_attach(place, name, open_calls, costs) for place, name in places)
    return [handle for handle in handles if handle is not None]


def _attach(place: FunctionPlace, name: str, open_calls: OpenCalls, costs: Costs) -> Handle | None:
    try:
        if _known_to_compiler(getattr(*place)):
            return None
        name = encode("call", name, FUNCTION)
        return Handle(*place, TimedCallMarks("function", name, None, open_calls, costs))
    except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
        faults.report(f"marking {name}", fault)
        return None


class Handle:
    """One marked function; `remove` restores the original."""

    def __init__(self, owner: type | CellType, attribute: str, marks: CallMarks) -> None:
        """Replace the function that the attribute holds by a marked one."""
        self.recording = True
        self._owner = owner
        self._attribute = attribute
        self._original: Callable[..., Any] = getattr(owner, attribute)
        self._marked = _marked(self._original, marks, self)
        setattr(owner, attribute, self._marked)

    def remove(self) -> None:
        """Restore the attribute, or only stop marking where that could do harm.

        It could where someone has wrapped another function around ours meanwhile, and where code
        was compiled meanwhile that calls ours.
        """
        self.recording = False
        unchanged = getattr(self._owner, self._attribute) is self._marked
        if unchanged and not _known_to_compiler(self._marked):
            setattr(self._owner, self._attribute, self._original)


def _marked(original: Callable[..., Any], marks: CallMarks, handle: Handle) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_compiling() or not handle.recording:
            return original(*args, **kwargs)
        marks.begin()
        try:
            return original(*args, **kwargs)
        finally:
            marks.end()

    return call


def _known_to_compiler(function: Callable[..., Any]) -> bool:
    """Return whether code was compiled that calls this function.

    The compiler guards such code and compiles it again once the function is replaced. It holds a
    weak reference to what it guards, and hardly anything else has one to a function.
    """
    return weakref.getweakrefcount(function) > 0


def _scaler_methods() -> Iterator[tuple[FunctionPlace, str]]:
    for method, name in _SCALER.items():
        if method in vars(torch.amp.GradScaler):
            yield (torch.amp.GradScaler, method), f"torch.amp.GradScaler.{name}"


def _clipping_functions(module: object) -> Iterator[tuple[FunctionPlace, str]]:
    """Yield the cell that holds the inner function, with the outer one's public name."""
    table = _CLIPPING if hasattr(module, "_get_total_norm") else _OLD_CLIPPING
    for attribute, name in table.items():
        function = getattr(module, attribute, None)
        if function is not None and function.__code__.co_freevars == ("func",):
            yield (function.__closure__[0], "cell_contents"), f"torch.nn.utils.{name}"


_FIRST_GENERATION = 1
"""From which on a collection is marked; younger ones take microseconds, and are many."""


class Collections:
    """Marks garbage collections of older objects until it is removed."""

    def __init__(self) -> None:
        """Begin to mark."""
        self._open: list[Range] = []
        gc.callbacks.append(self._on_collection)

    def remove(self) -> None:
        """Mark no more."""
        if self._on_collection in gc.callbacks:
            gc.callbacks.remove(self._on_collection)

    def _on_collection(self, phase: str, about: dict[str, Any]) -> None:
        """One of `gc.callbacks`: both phases come on one thread, with no other one in between."""
        if phase == "start" and about["generation"] >= _FIRST_GENERATION:
            self._open.append(new_range(f"{COLLECTION}{about['generation']}"))
            self._open[-1].__enter__()
        elif phase == "stop" and self._open:
            self._open.pop().__exit__(None, None, None)
