"""Hooks that leave marks on modules and parameters, and let no fault of theirs escape."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from time import perf_counter_ns
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.compiler import is_compiling
from torch.nn.modules import module as torch_module

from tb_hookview.errors import UsageError
from tb_hookview.recorder import faults
from tb_hookview.recorder.compiled.inlined import hide
from tb_hookview.recorder.costs import Costs
from tb_hookview.recorder.ranges import (
    BackwardNames,
    FinishedCall,
    OpenRange,
    RecordingState,
    ThreadCalls,
    abandon,
    close_above,
    close_all,
    new_range,
    next_sequence_number,
)


class _NoNameError(UsageError, AttributeError):
    """Explains why a hook has no `__name__`: it is an object, not a function."""


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


MAY_PREPEND = torch.__version__ >= "2.12"
"""Whether hooks may be put in front of others.

The compilers of torch 2.8 to 2.11 raise on a module one of whose hooks is not where it was added.
"""


def is_inert(hook: object) -> bool:
    """Return whether a hook is what copying left in the place of one of ours."""
    return (
        isinstance(getattr(hook, "__self__", None), nullcontext)
        and getattr(hook, "__name__", "") == "__exit__"
    )


class OpenCalls(threading.local):
    """The calls that are under way on this thread, and those that ended."""

    def __init__(self, recording: RecordingState) -> None:
        """Register a thread; Python calls this once in every thread that uses the object."""
        self.by_profile = recording.by_profile
        self.stack: list[OpenRange] = []
        """The open ranges, innermost last."""
        recording.stacks.append(self.stack)
        self.finished: list[FinishedCall] = []
        recording.finished.append(ThreadCalls(threading.get_native_id(), self.finished))


class CallMarks:
    """Marks each call of a module by a range, and notes its autograd nodes."""

    __slots__ = ("backward", "name", "open")

    is_timed = False

    def __init__(self, name: str, backward: BackwardNames | None, open_calls: OpenCalls) -> None:
        """Hold the names.

        Args:
            name: of the range.
            backward: names of the marks that `profile` adds before and after the backward of each
                call; None to add none.
            open_calls: the calls of each thread.
        """
        self.name = name
        self.backward = backward
        self.open = open_calls

    def begin(self) -> None:
        """Open the range of a call on the calling thread."""
        try:
            mark = new_range(self.name)
            mark.__enter__()
            start = 0 if self.backward is None else next_sequence_number()
            self.open.stack.append((self, mark, start))
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("opening a range", fault)

    def close_interrupted(self) -> None:
        """Close what calls left open on the calling thread that an interrupt ended."""
        thread = self.open
        (close_all if thread.by_profile else abandon)(thread.stack)

    def end(self) -> None:
        """Close the range that the same thread opened for a call, if it did."""
        try:
            thread = self.open
            stack = thread.stack
            entry = stack.pop() if stack and stack[-1][0] is self else close_above(stack, self)
            if entry is None:
                return
            entry[1].__exit__(None, None, None)
            if self.backward is not None:
                start, end = entry[2], next_sequence_number()
                if end != start:
                    thread.finished.append((self.backward, start, end))
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("closing a range", fault)


class TimedCallMarks(CallMarks):
    """Marks calls and measures what that costs."""

    __slots__ = ("_costs", "_kind")

    is_timed = True

    def __init__(
        self,
        kind: str,
        name: str,
        backward: BackwardNames | None,
        open_calls: OpenCalls,
        costs: Costs,
    ) -> None:
        super().__init__(name, backward, open_calls)
        self._kind = kind
        self._costs = costs

    def begin(self) -> None:
        """Open the range of a call, timed."""
        since = perf_counter_ns()
        super().begin()
        self._costs.note(self._kind, since)

    def end(self) -> None:
        """Close the range of a call, timed."""
        since = perf_counter_ns()
        super().end()
        self._costs.note_end(self._kind, since)


class EnterForward(Hook):
    """Forward pre-hook that opens the range of one call."""

    __slots__ = ("_marks",)

    def __init__(self, marks: CallMarks) -> None:
        self._marks = marks

    def __call__(self, module: nn.Module, _args: object) -> None:
        """Open the range on the calling thread."""
        if not is_compiling():
            stack = self._marks.open.stack
            if stack and stack[0][0] is self._marks and _calls_under_way(module) == 1:
                self._marks.close_interrupted()
            self._marks.begin()


class LeaveForward(Hook):
    """Forward hook that closes the range of a call, on return and on exception."""

    __slots__ = ("_marks",)

    def __init__(self, marks: CallMarks) -> None:
        self._marks = marks

    def __call__(self, *_: object) -> None:
        """Close the range that the same thread opened for this call, if it did."""
        if not is_compiling():
            self._marks.end()


def _calls_under_way(module: nn.Module) -> int:
    """Count the calls of a module on this thread's Python stack.

    An interrupt ends a call without running its hooks, so our own stack may hold one that is over.
    Used only where a call seems to be inside of another of the same module.
    """
    count = 0
    frame: FrameType | None = _frame(1)
    while frame is not None:
        if frame.f_code is _CALL and frame.f_locals.get("self") is module:
            count += 1
        frame = frame.f_back
    return count


def _is_outermost(marks: CallMarks) -> bool:
    """Return whether one call alone that leaves these marks is on this thread's Python stack."""
    count = 0
    frame: FrameType | None = _frame(1)
    while frame is not None:
        if frame.f_code is _MARKED and frame.f_locals["self"]._marks is marks:
            count += 1
        frame = frame.f_back
    return count == 1


_CALL = nn.Module._call_impl.__code__
_frame = sys._getframe
_is_traced: Callable[[], object] = torch._C._get_tracing_state


_GLOBAL_HOOKS = (
    torch_module._global_forward_hooks,
    torch_module._global_forward_pre_hooks,
    torch_module._global_backward_hooks,
    torch_module._global_backward_pre_hooks,
)

SLOT = "_compiled_call_impl"
"""Attribute of a module that torch calls in the place of everything else, hooks included.

`module.compile()` is what it is for. It costs a call half of what a pair of hooks costs, the
compiler does not look at it, and torch leaves it out when it copies or pickles a module.
"""


class ReplacedCall(Hook):
    """What is in a module's SLOT in the place of another call."""

    __slots__ = ()

    call: Callable[..., Any] | None
    """What was in the SLOT before; None for nothing."""

    def replace(self, call: Callable[..., Any] | None) -> None:
        """Call something else from now on."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


class MarkedCall(ReplacedCall):
    """Runs a module's call inside a range; replaces the call in its SLOT."""

    __slots__ = ("_is_unusual", "_marks", "_module", "_once", "call")

    def __init__(
        self,
        module: nn.Module,
        marks: CallMarks,
        call: Callable[..., Any] | None,
        *,
        once: bool = False,
    ) -> None:
        """Hold what is called.

        Args:
            module: whose calls are marked.
            marks: leaves the range.
            call: what is in the SLOT, None for nothing.
            once: leave no range directly inside one of the same marks.
        """
        self._once = once
        self._module = weakref.ref(module)
        self._marks = marks
        self._is_unusual = type(
            module
        )._call_impl is not nn.Module._call_impl or "_call_impl" in vars(module)
        self.call = call

    def replace(self, call: Callable[..., Any] | None) -> None:
        """Call something else from now on."""
        self.call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module inside its range; `CallMarks.begin` is inlined here, for speed."""
        call = self.call
        if call is None:
            called = _frame(1).f_locals.get("self")
            module = self._module()
            if called is not module or module is None:
                module = self._called(called, module)
            call = module.forward
            if (  # when torch itself does more in a call than to call that
                module._forward_hooks
                or module._forward_pre_hooks
                or module._backward_hooks
                or module._backward_pre_hooks
                or any(_GLOBAL_HOOKS)
                or _is_traced()
                or self._is_unusual
            ):
                call = module._call_impl
        marks = self._marks
        if self._once and marks.open.stack and marks.open.stack[-1][0] is marks:
            return call(*args, **kwargs)
        # The range is opened in here too: an interrupt may come before the call has begun.
        try:
            stack = marks.open.stack
            if stack and stack[0][0] is marks and _is_outermost(marks):
                marks.close_interrupted()
            if marks.is_timed:
                marks.begin()
            else:
                try:
                    mark = new_range(marks.name)
                    mark.__enter__()
                    start = 0 if marks.backward is None else next_sequence_number()
                    stack.append((marks, mark, start))
                except Exception as fault:  # noqa: BLE001 - nothing of ours may reach training
                    faults.report("opening a range", fault)
            return call(*args, **kwargs)
        finally:
            marks.end()

    def _called(self, called: object, marked: nn.Module | None) -> nn.Module:
        """Return the module that is called, which may be a replica of the marked one.

        DataParallel gives its replicas all attributes of the module they replicate, this object
        among them. Which module is called stands in torch's calling frame and nowhere else.
        """
        if isinstance(called, nn.Module) and called.__dict__.get(SLOT) is self:
            return called
        if marked is None:
            raise ReferenceError("the module is gone")
        return marked


_MARKED = MarkedCall.__call__.__code__


class Instant(Hook):
    """Hook on a parameter or a backward that leaves an empty range.

    Called with a parameter (post-accumulate-grad hook), or with a module and its gradients (full
    backward hooks); it ignores and drops what is passed.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *_: object) -> None:
        """Leave the mark."""
        if is_compiling():
            return
        try:
            with new_range(self._name):
                pass
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("leaving a mark", fault)


class Timed(Hook):
    """Hook that runs another one and measures what it costs."""

    __slots__ = ("_costs", "_hook", "_kind")

    def __init__(self, hook: Callable[..., object], kind: str, costs: Costs) -> None:
        self._hook = hook
        self._kind = kind
        self._costs = costs

    def __call__(self, *args: object) -> None:
        """Leave the mark."""
        if is_compiling():
            return
        since = perf_counter_ns()
        self._hook(*args)
        self._costs.note(self._kind, since)


hide(
    CallMarks.begin,
    CallMarks.end,
    CallMarks.close_interrupted,
    TimedCallMarks.begin,
    TimedCallMarks.end,
    EnterForward.__call__,
    LeaveForward.__call__,
    MarkedCall.__call__,
    MarkedCall._called,
    Costs.note,
    Costs.note_end,
    OpenCalls.__init__,
    close_above,
    close_all,
    _calls_under_way,
    _is_outermost,
)
