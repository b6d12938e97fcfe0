"""Times loading, the backward pass and optimizers where torch runs them, for the clocks in use."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from types import CodeType
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data.dataloader import _BaseDataLoaderIter

from tb_hookview.after_import import after_import
from tb_hookview.recorder.compiled.compilation import guarded
from tb_hookview.recorder.compiled.inlined import hide
from tb_hookview.watching.clock import BACKWARD, DATA, NO_THREAD, OPTIMIZER, StepClock

# Shows what the compiler traced, and each frame that it is about to trace, inlined ones too.


_TRANSLATOR = "torch._dynamo.symbolic_convert"
Look = Callable[[CodeType, str], None]
_look: Look | None = None


def begin(look: Look) -> None:
    """Call a function with the code of each frame, and its guards if it was traced before."""
    global _look
    _look = look
    after_import(_TRANSLATOR, lambda: guarded(_install_compiling))


def end() -> None:
    """Call it no more."""
    global _look
    _look = None


def _install_compiling() -> None:
    for reference in _traced():
        code = reference()
        if _look is not None and code is not None:
            _look(code, _guards_of(code))
    translator: Any = sys.modules[_TRANSLATOR].InstructionTranslatorBase
    original = translator.__init__
    if hasattr(original, "_shows_code"):
        return

    @functools.wraps(original)
    def begin_frame(*args: Any, **kwargs: Any) -> None:
        guarded(_show, kwargs.get("f_code"))
        original(*args, **kwargs)

    begin_frame._shows_code = True  # type: ignore[attr-defined]
    translator.__init__ = begin_frame


def _traced() -> list[Any]:
    convert_frame: Any = sys.modules.get("torch._dynamo.convert_frame")
    return list(getattr(getattr(convert_frame, "input_codes", None), "seen", ()))


def _guards_of(code: CodeType) -> str:
    entries = sys.modules["torch._C._dynamo.eval_frame"]._debug_get_cache_entry_list(code)
    return "".join(str(entry.guard_manager) for entry in entries)


def _show(code: CodeType | None) -> None:
    if _look is not None and code is not None:
        _look(code, "")


_clocks: list[StepClock] = []
"""The clocks in use."""
_installed: dict[str, list[tuple[StepClock, Callable[[], bool]]]] = {}
"""By phase, what takes back how it is timed for a clock, the latest last; False if it cannot."""
_SWITCHED = ("backward", "optimizer")
"""Phases that are not timed in all short steps."""
_given_way: set[str] = set()
"""Phases that are not timed any more: the compiler looks at them."""
_STEP_HOOKS = "_global_optimizer_pre_hooks"
"""Read by the code around each `Optimizer.step` alone, and guarded wherever that is traced."""


def follow(clock: StepClock) -> None:
    """Have a clock be given the phases of its thread, until `leave`."""
    _clocks.append(clock)
    _install()
    if len(_clocks) == 1:
        begin(_give_way)


def switch(clock: StepClock, *, on: bool) -> None:
    """Give a clock all phases from now on, or loading alone."""
    if on:
        _install_switched(clock)
    else:
        for phase in _SWITCHED:
            installed = _installed.get(phase, [])
            installed[:] = [each for each in installed if each[0] is not clock or not each[1]()]


def leave(clock: StepClock) -> None:
    """Give a clock nothing more."""
    clock.thread = NO_THREAD
    if clock in _clocks:
        _clocks.remove(clock)
    if _clocks:
        _install()
    else:
        forget_in_child()


def forget_in_child() -> None:
    """Take everything back, also in a process that was forked."""
    _clocks.clear()
    _given_way.clear()
    end()
    _take_back(*_installed)


def _install() -> None:
    """Have each clock time the phases by functions of its own, which cost less than a loop."""
    _take_back(*_installed)
    for clock in _clocks:
        _add("data", clock, _replace, _BaseDataLoaderIter, "__next__", _timed_loading)
        _install_switched(clock)


def _install_switched(clock: StepClock) -> None:
    _add("backward", clock, _replace, torch.autograd, "backward", _timed_backward)
    _add("optimizer", clock, _hook_optimizers)


def _add(
    phase: str, clock: StepClock, install: Callable[..., Callable[[], bool]], *given: Any
) -> None:
    installed = _installed.setdefault(phase, [])
    if phase not in _given_way and all(each is not clock for each, _ in installed):
        installed.append((clock, install(*given, clock)))


def _take_back(*phases: str) -> None:
    for phase in phases:
        for _, undo in reversed(_installed.pop(phase, [])):
            undo()


def _give_way(code: CodeType, guards: str) -> None:
    """Take back for good what the compiler is about to look at, or has: it would guard it.

    A training step that is compiled as a whole calls `backward`, and traces `Optimizer.step`.
    """
    if "backward" in code.co_names:
        _give_up("backward")
    if _STEP_HOOKS in code.co_names or _STEP_HOOKS in guards:
        _give_up("optimizer")


def _give_up(phase: str) -> None:
    _given_way.add(phase)
    _take_back(phase)


def _nothing() -> None:
    pass


def _replace(
    owner: Any, name: str, around: Callable[[Callable[..., Any], StepClock], Any], clock: StepClock
) -> Callable[[], bool]:
    """Wrap a function of torch's; it is unwrapped only where nobody has wrapped it again since."""
    original = getattr(owner, name)
    wrapped = around(original, clock)
    setattr(owner, name, wrapped)

    def restore() -> bool:
        if getattr(owner, name) is not wrapped:
            return False
        setattr(owner, name, original)
        return True

    return restore


def _timed_backward(backward: Callable[..., Any], clock: StepClock) -> Callable[..., Any]:
    note, stamp = clock.note, clock.stamp

    @functools.wraps(backward)
    def timed(*args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling() or get_ident() != clock.thread:
            return backward(*args, **kwargs)
        if clock.before_backward is not None:
            clock.before_backward(args[0] if args else kwargs.get("tensors"))
        since = stamp()
        try:
            return backward(*args, **kwargs)
        finally:
            note((BACKWARD, since, stamp()))

    return timed


def _timed_loading(load: Callable[..., Any], clock: StepClock) -> Callable[..., Any]:
    note = clock.note

    @functools.wraps(load)
    def timed(loader: Any) -> Any:
        since = perf_counter_ns()
        try:
            return load(loader)
        finally:
            if get_ident() == clock.thread:
                note((DATA, since, perf_counter_ns()))

    return timed


def _hook_optimizers(clock: StepClock) -> Callable[[], bool]:
    before, after = _optimizer_hooks(clock)
    handles = register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)

    def remove() -> bool:
        for handle in handles:
            handle.remove()
        return True

    return remove


def _optimizer_hooks(clock: StepClock) -> tuple[Callable[..., None], Callable[..., None]]:
    note = clock.note

    def before(_optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if not is_dynamo_compiling() and get_ident() == clock.thread:
            clock.stepping_since = perf_counter_ns()

    def after(_optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if not is_dynamo_compiling() and get_ident() == clock.thread and clock.stepping_since:
            note((OPTIMIZER, clock.stepping_since, perf_counter_ns()))
            clock.stepping_since = 0

    return before, after


_unused = StepClock()
hide(
    _timed_backward(_nothing, _unused),
    _timed_loading(_nothing, _unused),
    *_optimizer_hooks(_unused),
    StepClock.on_collection,
)
