"""Times the calls of modules, all the time or in some steps."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from functools import partial
from threading import get_ident
from types import FrameType
from typing import Any

from torch import nn
from torch.compiler import is_dynamo_compiling

from tb_hookview.recorder.compiled.inlined import hide
from tb_hookview.recorder.hooks import SLOT, Hook, ReplacedCall
from tb_hookview.watching.clock import StepClock

_frame = sys._getframe
_CALL = nn.Module.__call__.__code__


class _TimedCall(ReplacedCall, partial[Any]):
    """Times a module's calls; replaces the call in its SLOT.

    A `partial` of one function: a call of it costs less than one of an object with a `__call__`.
    """

    own: Any
    """What torch calls without a SLOT."""

    def __new__(cls, module: nn.Module, number: int, clock: StepClock) -> _TimedCall:
        """Hold what is called: what is in the SLOT, if anything is."""
        own, call = module._call_impl, module.__dict__.get(SLOT)
        made = super().__new__(
            cls, _timed, clock.note, clock.stamp, clock.thread, number, call or own
        )
        made.own, made.call = own, call
        return made

    def replace(self, call: Callable[..., Any] | None) -> None:
        """Call something else from now on."""
        self.call = call
        state: Any = (self.func, (*self.args[:-1], call or self.own), {}, vars(self))
        partial.__setstate__(self, state)  # type: ignore[attr-defined]


def _timed(
    note: Any, stamp: Any, thread: int, number: int, call: Any, /, *args: Any, **kwargs: Any
) -> Any:
    """Call a module as it would have been called, and note from when until when."""
    since = stamp()
    try:
        return (call if get_ident() == thread else _of_replica(call))(*args, **kwargs)
    finally:
        note((number, since, stamp()))


def _of_replica(call: Any) -> Any:
    """Return the call of the module that is called, in a thread that may be DataParallel's.

    A replica has all attributes of the module it replicates, what is in the SLOT among them. Which
    module is called stands in torch's calling frame and nowhere else.
    """
    frame: FrameType | None = _frame(2)
    while frame is not None and frame.f_code is not _CALL:
        frame = frame.f_back
    module = None if frame is None else frame.f_locals.get("self")
    if isinstance(module, nn.Module) and isinstance(getattr(call, "__self__", None), nn.Module):
        return module._call_impl
    return call


class _Enter(Hook):
    """Forward pre-hook, for a module whose class calls it in a way of its own."""

    __slots__ = ("note", "number", "since", "stamp")

    def __init__(self, number: int, clock: StepClock) -> None:
        self.note, self.number, self.stamp = clock.note, number, clock.stamp
        self.since = 0

    def __call__(self, _module: nn.Module, _args: object) -> None:
        if not is_dynamo_compiling():
            self.since = self.stamp()


class _Leave(Hook):
    """Forward hook, on return and on exception."""

    __slots__ = ("_enter",)

    def __init__(self, enter: _Enter) -> None:
        self._enter = enter

    def __call__(self, *_: object) -> None:
        if not is_dynamo_compiling():
            enter = self._enter
            if enter.since:
                enter.note((enter.number, enter.since, enter.stamp()))
                enter.since = 0


class Calls:
    """Times the calls of some modules while it is switched on."""

    def __init__(self, clock: StepClock) -> None:
        """Attach nothing yet."""
        self._clock = clock
        self._timed: list[weakref.ref[_TimedCall]] = []  # no strong reference to a user's model
        self._held: list[_TimedCall] = []
        """What is switched off, and in no module meanwhile."""
        self._remove: list[Callable[[], None]] = []

    def add(self, module: nn.Module, number: int) -> None:
        """Time the calls of a module, as a mark of that number."""
        if type(module).__call__ is nn.Module.__call__:
            timed = module.__dict__[SLOT] = _TimedCall(module, number, self._clock)
            self._timed.append(weakref.ref(timed))
            return
        entering = _Enter(number, self._clock)
        enter = module.register_forward_pre_hook(entering)
        leave = module.register_forward_hook(_Leave(entering), always_call=True)
        self._remove += [enter.remove, leave.remove]

    def switch(self, *, on: bool) -> None:
        """Put all replaced calls in their place, or take them out."""
        if on:
            for timed in self._held:
                attributes = timed.own.__self__.__dict__
                call = attributes.get(SLOT)
                if call is not timed.call:
                    timed.replace(call)
                attributes[SLOT] = timed
            self._held = []
        elif not self._held:
            self._held = [held for each in self._timed if (held := each()) is not None]
            for timed in self._held:
                _remove_call(timed)

    def forget(self) -> None:
        """Hold no module."""
        self._held.clear()

    def remove(self) -> None:
        """Take off everything."""
        self.switch(on=False)
        self._held.clear()
        self._timed.clear()
        while self._remove:
            self._remove.pop()()


def _remove_call(timed: _TimedCall) -> None:
    """Take our call out of a module's SLOT, also from below a mark or another watch's call."""
    call, attributes = timed.call, timed.own.__self__.__dict__
    slot: Any = attributes.get(SLOT)
    if slot is timed:
        if call is None:
            del attributes[SLOT]
        else:
            attributes[SLOT] = call
    while isinstance(slot, ReplacedCall):
        if slot.call is timed:
            slot.replace(call)
        slot = slot.call


hide(_timed, _of_replica, _Enter.__call__, _Leave.__call__)
