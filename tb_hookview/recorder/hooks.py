"""The hooks that leave marks: each opens or closes one range, and no fault of theirs escapes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Protocol

import torch
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


class OpenRanges(threading.local):
    """The ranges open on this thread, innermost last, each with the hook that opened it."""

    def __init__(self) -> None:
        self.stack: list[tuple[Hook, Range]] = []

    def close_all(self) -> None:
        """Close what is still open on the calling thread."""
        while self.stack:
            self.stack.pop()[1].__exit__(None, None, None)


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
                self._close_out_of_order(stack)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("closing a forward range", fault)

    def _close_out_of_order(self, stack: list[tuple[Hook, Range]]) -> None:
        """Close the call's range and those left open above it.

        A BaseException such as KeyboardInterrupt passes modules without calling their hooks, and a
        call that began before the hooks were attached has no range at all.
        """
        if not any(hook is self._enter for hook, _ in stack):
            return
        while True:
            hook, mark = stack.pop()
            mark.__exit__(None, None, None)
            if hook is self._enter:
                return


class MarkedCall(Hook):
    """Stands in for the compiled call of a module that was compiled in place."""

    __slots__ = ("_enter", "_leave", "call")

    def __init__(self, call: Callable[..., Any], enter: EnterForward, leave: LeaveForward) -> None:
        self.call = call
        self._enter = enter
        self._leave = leave

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module inside its range."""
        self._enter(None, ())
        try:
            return self.call(*args, **kwargs)
        finally:
            self._leave(None, (), None)


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
