"""Ranges around the calls of torch's that scale and clip gradients; torch names none of them.

A script has usually imported what it calls (`from torch.nn.utils import clip_grad_norm_`), so to
replace a name would not reach it. Methods are replaced on their class. The clipping functions all
are `torch.no_grad` around an inner function, and that inner one is what is replaced: every
reference to the outer one, which stays the object it was, leads there.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from types import CellType
from typing import Any

import torch
from torch.compiler import is_compiling
from torch.nn.utils import clip_grad

from tb_hookview.markers import FUNCTION, encode
from tb_hookview.recorder import faults
from tb_hookview.recorder.costs import Costs
from tb_hookview.recorder.hooks import CallMarks, OpenCalls, TimedCallMarks

_SCALER = {
    "unscale_": "unscale_",
    # The part of `step` that may wait for the device. `step` itself warns on behalf of its caller,
    # who would be us.
    "_maybe_opt_step": "step",
    "update": "update",
}
_CLIPPING = {
    "_get_total_norm": "get_total_norm",
    "_clip_grads_with_norm_": "clip_grads_with_norm_",
    "clip_grad_value_": "clip_grad_value_",
}
_CLIPPING_OF_OLD = {"clip_grad_norm_": "clip_grad_norm_", "clip_grad_value_": "clip_grad_value_"}
"""Before torch 2.6 clipping by norm was all in one function."""

Place = tuple[type | CellType, str]
"""An object and the attribute of it that holds a function."""


def attach(open_calls: OpenCalls, costs: Costs) -> list[Handle]:
    """Have each call of these functions leave a range, until the handles are removed.

    What this version of torch does not have, and what compiled code knows, is left alone.

    Args:
        open_calls: where to note calls that are under way.
        costs: where to note what the ranges cost.
    """
    places = [*_scaler_methods(), *_clipping_functions(clip_grad)]
    handles = (_attach(place, name, open_calls, costs) for place, name in places)
    return [handle for handle in handles if handle is not None]


def _attach(place: Place, name: str, open_calls: OpenCalls, costs: Costs) -> Handle | None:
    try:
        if _known_to_compiler(getattr(*place)):
            return None
        name = encode("call", name, FUNCTION)
        return Handle(*place, TimedCallMarks("function", name, None, open_calls, costs))
    except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
        faults.report(f"marking {name}", fault)
        return None


class Handle:
    """One marked function; taking it off puts back what was there."""

    def __init__(self, owner: type | CellType, attribute: str, marks: CallMarks) -> None:
        """Put a marked function in the place of what the attribute holds."""
        self.recording = True
        self._owner = owner
        self._attribute = attribute
        self._original: Callable[..., Any] = getattr(owner, attribute)
        self._marked = _marked(self._original, marks, self)
        setattr(owner, attribute, self._marked)

    def remove(self) -> None:
        """Restore the attribute; where that would do harm, have the call pass through.

        It would where someone has put another function around ours meanwhile, and where code was
        compiled meanwhile that relies on ours.
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
    """Say whether code was compiled that calls this function.

    The compiler guards such code: it compiles again once another function stands in the place. It
    keeps a weak reference to what it guards, and hardly anybody else has one to a function.
    """
    return weakref.getweakrefcount(function) > 0


def _scaler_methods() -> Iterator[tuple[Place, str]]:
    # torch 2.2 has it under torch.cuda.amp only; later that one is a subclass.
    scaler = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler
    for method, name in _SCALER.items():
        if method in vars(scaler):
            yield (scaler, method), f"torch.amp.GradScaler.{name}"


def _clipping_functions(module: object) -> Iterator[tuple[Place, str]]:
    """Yield the cell that holds the inner function, with the outer one's public name."""
    table = _CLIPPING if hasattr(module, "_get_total_norm") else _CLIPPING_OF_OLD
    for attribute, name in table.items():
        function = getattr(module, attribute, None)
        if function is not None and function.__code__.co_freevars == ("func",):
            yield (function.__closure__[0], "cell_contents"), f"torch.nn.utils.{name}"
