"""The hooks that leave marks: each opens or closes one range, and no fault of theirs escapes."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType
from typing import Any, Protocol

import torch
from torch import nn
from torch.compiler import is_compiling

from tb_hookview.errors import UsageError
from tb_hookview.recorder import faults


class Range(Protocol):
    """A named range of the profiler: entered and left on one thread."""

    def __enter__(self) -> object: ...

    def __exit__(self, kind: Any, value: Any, traceback: Any, /) -> object: ...


# An order of magnitude cheaper than record_function (0.7 us against 7 us while recording), which
# stands in where torch has no such thing. It aborts the process on a wrong argument: pass the name
# and nothing else.
_range: Callable[[str], Range] = getattr(
    torch._C._profiler, "_RecordFunctionFast", torch.profiler.record_function
)


Entry = tuple["Hook", Range]
"""An open range with the hook that opened it."""


class OpenRanges(threading.local):
    """The ranges open on this thread, innermost last."""

    def __init__(self, of_all_threads: list[list[Entry]]) -> None:
        """Begin a thread's stack; every thread that uses the object comes through here.

        Args:
            of_all_threads: where to enter the stack, so that the recording's end finds it.
        """
        self.stack: list[Entry] = []
        of_all_threads.append(self.stack)


def close_through(stack: list[Entry], hook: Hook) -> None:
    """Close the innermost range of a hook and those left open above it, if it has one.

    A BaseException such as KeyboardInterrupt passes modules without calling their hooks, and a
    call that began before the hooks were attached has no range at all.
    """
    if not any(opened_by is hook for opened_by, _ in stack):
        return
    while True:
        opened_by, mark = stack.pop()
        mark.__exit__(None, None, None)
        if opened_by is hook:
            return


class _NoNameError(UsageError, AttributeError):
    """A hook has no name, like any object that is no function; the one who asks is told why."""


class Hook:
    """Base of every hook of ours.

    A copied or pickled module must work without us, where this package may not even be installed:
    in the copy a callable of the standard library that does nothing takes the hook's place.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")

    @property
    def __name__(self) -> str:
        # torch.jit.script asks every hook for its name, then for its source. An AttributeError
        # leaves getattr with a default, and hasattr, as they would be.
        raise _NoNameError(
            "torch.jit.script cannot compile a wrapped module: call unwrap() on it first"
        )


def is_inert(hook: object) -> bool:
    """Say whether a hook is what copying left in the place of one of ours."""
    return (
        isinstance(getattr(hook, "__self__", None), nullcontext)
        and getattr(hook, "__name__", "") == "__exit__"
    )


class EnterForward(Hook):
    """Forward pre-hook: opens the range of one call."""

    __slots__ = ("_name", "_open")

    def __init__(self, name: str, open_ranges: OpenRanges) -> None:
        self._name = name
        self._open = open_ranges

    def __call__(self, _module: object, _args: object) -> None:
        """Open the range on the calling thread."""
        if is_compiling():
            return
        try:
            mark = _range(self._name)
            mark.__enter__()
            self._open.stack.append((self, mark))
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("opening a forward range", fault)


class LeaveForward(Hook):
    """Forward hook, called on return and on exception: closes the range of the same call."""

    __slots__ = ("_enter", "_open")

    def __init__(self, enter: EnterForward, open_ranges: OpenRanges) -> None:
        self._enter = enter
        self._open = open_ranges

    def __call__(self, _module: object, _args: object, _output: object) -> None:
        """Close the range that the same thread opened for this call, if it did."""
        if is_compiling():
            return
        try:
            stack = self._open.stack
            if stack and stack[-1][0] is self._enter:
                stack.pop()[1].__exit__(None, None, None)
            else:
                close_through(stack, self._enter)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("closing a forward range", fault)


SLOT = "_compiled_call_impl"
"""Attribute of a module that torch calls in the place of everything else, hooks included.

`module.compile()` is what it is for. It costs a call half of what a pair of hooks costs, the
compiler does not look at it, and torch leaves it out when it copies or pickles a module.
"""


class MarkedCall(Hook):
    """Stands in a module's SLOT: the call that was there, or the usual one, inside a range."""

    __slots__ = ("_module", "_name", "_open", "call")

    def __init__(
        self,
        module: nn.Module,
        name: str,
        open_ranges: OpenRanges,
        call: Callable[..., Any] | None,
    ) -> None:
        self._module = weakref.ref(module)
        self._name = name
        self._open = open_ranges
        self.call = call

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module inside its range."""
        call = self.call or self._called(sys._getframe(1))._call_impl
        if is_compiling():
            return call(*args, **kwargs)
        stack = self._begin()
        try:
            return call(*args, **kwargs)
        finally:
            self._finish(stack)

    def _called(self, frame: FrameType) -> nn.Module:
        """Return the module that is called, as torch's calling frame has it.

        DataParallel gives its replicas all attributes of the module they replicate, this object
        among them.
        """
        module = frame.f_locals.get("self")
        if isinstance(module, nn.Module) and module.__dict__.get(SLOT) is self:
            return module
        original = self._module()
        if original is None:
            raise ReferenceError("the module is gone")
        return original

    def _begin(self) -> list[Entry]:
        try:
            mark = _range(self._name)
            mark.__enter__()
            stack = self._open.stack
            stack.append((self, mark))
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("opening a forward range", fault)
            return []
        return stack

    def _finish(self, stack: list[Entry]) -> None:
        try:
            if stack and stack[-1][0] is self:
                stack.pop()[1].__exit__(None, None, None)
            else:
                close_through(stack, self)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("closing a forward range", fault)


class Instant(Hook):
    """Any other hook: leaves a range that ends as it begins.

    Called with a parameter (post-accumulate-grad hook), or with a module and its gradients (full
    backward hooks); what is passed is neither kept nor looked at.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *_: object) -> None:
        """Leave the mark."""
        if is_compiling():
            return
        try:
            mark = _range(self._name)
            mark.__enter__()
            mark.__exit__(None, None, None)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("leaving a mark", fault)
