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

from tb_hookview.recorder.compiled.inlined import hide
from tb_hookview.watching import compiling
from tb_hookview.watching.clock import BACKWARD, DATA, OPTIMIZER, StepClock

_clocks: dict[int, list[StepClock]] = {}
"""The clocks in use, by thread."""
_undo: dict[str, Callable[[], object]] = {}
_COMPILED_AUTOGRAD = "torch._dynamo.compiled_autograd"
_STEP_HOOKS = "_global_optimizer_pre_hooks"
"""Read by the code around each `Optimizer.step` alone, and guarded wherever that is traced."""


def follow(clock: StepClock) -> None:
    """Have a clock be given the phases of its thread, until `leave`."""
    if not _clocks:
        _install()
    _clocks.setdefault(clock.thread, []).append(clock)


def leave(clock: StepClock) -> None:
    """Give a clock nothing more."""
    mine = _clocks.get(clock.thread, [])
    if clock in mine:
        mine.remove(clock)
    if not mine:
        _clocks.pop(clock.thread, None)
    if not _clocks:
        forget_in_child()


def forget_in_child() -> None:
    """Take everything back, also in a process that was forked."""
    _clocks.clear()
    compiling.end()
    for name in list(_undo):
        _undo.pop(name)()


def _install() -> None:
    _undo["backward"] = _replace(torch.autograd, "backward", _timed_backward)
    _undo["data"] = _replace(_BaseDataLoaderIter, "__next__", _timed_loading)
    before = register_optimizer_step_pre_hook(_before_step)
    after = register_optimizer_step_post_hook(_after_step)
    _undo["before step"], _undo["after step"] = before.remove, after.remove
    compiling.begin(_give_way)


def _give_way(code: CodeType, guards: str) -> None:
    """Take back for good what the compiler is about to look at, or has: it would guard it.

    A training step that is compiled as a whole calls `backward`, and traces `Optimizer.step`.
    """
    if "backward" in code.co_names:
        _undo.pop("backward", _nothing)()
    if _STEP_HOOKS in code.co_names or _STEP_HOOKS in guards:
        _undo.pop("before step", _nothing)()
        _undo.pop("after step", _nothing)()


def _nothing() -> None:
    pass


def _replace(
    owner: Any, name: str, around: Callable[[Callable[..., Any]], Any]
) -> Callable[[], None]:
    """Wrap a function of torch's; it is unwrapped only where nobody has wrapped it again since."""
    original = getattr(owner, name)
    wrapped = around(original)
    setattr(owner, name, wrapped)

    def restore() -> None:
        if getattr(owner, name) is wrapped:
            setattr(owner, name, original)

    return restore


def _timed_backward(backward: Callable[..., Any]) -> Callable[..., Any]:
    modules = sys.modules

    @functools.wraps(backward)
    def timed(*args: Any, **kwargs: Any) -> Any:
        clocks = _clocks.get(get_ident())
        if clocks is None or is_dynamo_compiling():
            return backward(*args, **kwargs)
        compiled = modules.get(_COMPILED_AUTOGRAD)
        is_compiled = compiled is not None and compiled.compiled_autograd_enabled
        begun = []
        for clock in clocks:
            if is_compiled:
                clock.forget_gradients()
            elif clock.learn is not None:
                clock.learn(args[0] if args else kwargs.get("tensors"))
            begun.append(clock.stamp())
        try:
            return backward(*args, **kwargs)
        finally:
            for clock, since in zip(clocks, begun, strict=False):
                clock.note((BACKWARD, since, clock.stamp()))

    return timed


def _timed_loading(load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def timed(loader: Any) -> Any:
        since = perf_counter_ns()
        try:
            return load(loader)
        finally:
            until = perf_counter_ns()
            for clock in _clocks.get(get_ident(), ()):
                clock.note((DATA, since, until))

    return timed


def _before_step(_optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
    if not is_dynamo_compiling():
        for clock in _clocks.get(get_ident(), ()):
            clock.stepping_since = perf_counter_ns()


def _after_step(_optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
    if not is_dynamo_compiling():
        for clock in _clocks.get(get_ident(), ()):
            if clock.stepping_since:
                clock.note((OPTIMIZER, clock.stepping_since, perf_counter_ns()))
                clock.stepping_since = 0


hide(_timed_backward(_nothing), _timed_loading(_nothing), StepClock.on_collection)
