"""The marks on the backward pass where nobody can add them afterwards: under a bare profiler.

They are left by hooks on the nodes that forward calls made, and nothing is inserted.

A thread numbers the nodes that it makes, and a backward runs the nodes of one thread from the
highest number down. So the backward of a call begins with the highest node among its outputs, and
is over when a node runs whose number is below the first that the call could make:

    made in forward by       embed   block    block.fc   block   loss
    number of the node        1 2     3        4 5        6       7
    backward runs             <-------------------------------------
    hooked                      b                b        b       b

The outputs of calls are hooked, and the newest node before a call if it is not such an output and
can be found among the inputs, so that the end of the call is seen in time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from functools import partial
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Variable
from torch.compiler import is_compiling

from tb_hookview.recorder import faults
from tb_hookview.recorder.ranges import BackwardNames, Recording, new_range

next_number: Callable[[], int] = torch.autograd._get_sequence_nr  # type: ignore[attr-defined]
"""Return the number that the next node made on this thread will have."""

_current_backward: Callable[[], int] = torch._C._current_graph_task_id

_BACKWARDS = 100
"""How many are remembered; one that fails does not tell, and some run inside of others."""

_DEPTH = 3
"""How deep an output's containers are searched for tensors."""


class Call:
    """One call of a module, as its backward needs it."""

    __slots__ = ("names", "outer", "start")

    def __init__(self, names: BackwardNames, start: int) -> None:
        """Note a call.

        Args:
            names: of its marks.
            start: number of the first node that it could make.
        """
        self.names = names
        self.start = start
        self.outer: Call | None = None
        """The call around this one that returned the same node."""


class Running:
    """A backward on one thread, and the calls whose part of it is under way, innermost last."""

    __slots__ = ("backward", "calls", "thread")

    def __init__(self, backward: int, thread: int) -> None:
        self.backward = backward
        self.thread = thread
        self.calls: list[Call] = []


class HookedNodes:
    """The nodes of one forward thread that have hooks of ours, and the backwards through them."""

    __slots__ = ("_calls", "_last", "_recording", "_running")

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._calls: dict[int, Call | None] = {}
        """The hooked nodes of the outermost call under way: by number, the last call to return it;
        None where it is hooked as an input."""
        self._last = Running(-1, -1)
        self._running: dict[tuple[int, int], Running] = {}

    def hook(
        self, inputs: Iterable[object], output: object, names: BackwardNames, start: int
    ) -> None:
        """Have the beginning and the end of a call's backward noticed, as the call ends.

        Args:
            inputs: what it was given.
            output: what it returned.
            names: of the marks of its backward.
            start: number of the first node that it could make.
        """
        call = Call(names, start)
        for tensor in (output,) if type(output) is Tensor else _tensors(output, _DEPTH):
            node = tensor.grad_fn if type(tensor) is Tensor else _made_by(tensor)
            number = -1 if node is None else node._sequence_nr()
            if number >= start:
                inner = self._calls.get(number)
                if inner is None:
                    reached = self._reached if names.costs is None else self._timed
                    _attach(node, partial(reached, number, call))
                elif inner is not call:
                    inner.outer = call
                self._calls[number] = call
        if start - 1 not in self._calls:
            self._hook_newest(inputs, start)

    def forget(self) -> None:
        """Forget the nodes, as the outermost call ends; the newest is what follows may begin at."""
        if self._calls:
            newest = max(self._calls)
            self._calls = {newest: self._calls[newest]}

    def _hook_newest(self, inputs: Iterable[object], start: int) -> None:
        """Hook the newest node that made an input; in-place operations left later ones on some."""
        newest, newest_number = None, -1
        for value in inputs:
            if isinstance(value, Tensor):
                node = _made_by(value)
                number = -1 if node is None else node._sequence_nr()
                if newest_number < number < start:
                    newest, newest_number = node, number
        if newest is not None and newest_number not in self._calls:
            _attach(newest, partial(self._reached, newest_number, None))
            self._calls[newest_number] = None

    def _reached(self, number: int, call: Call | None, _gradient: object) -> None:
        """Leave the marks that are due as a node is about to run."""
        if self._recording.is_over or is_compiling():
            return
        try:
            running = self._last
            if running.backward != _current_backward() or running.thread != get_ident():
                running = self._last = self._switch()
            calls = running.calls
            while calls and calls[-1].start > number:
                with new_range(calls.pop().names.after):
                    pass
            if call is not None:
                if call.outer is not None or call in calls:
                    _begin(calls, call)
                else:
                    with new_range(call.names.before):
                        pass
                    calls.append(call)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("marking the backward pass", fault)

    def _timed(self, number: int, call: Call, gradient: object) -> None:
        if is_compiling():
            return
        since = perf_counter_ns()
        self._reached(number, call, gradient)
        if call.names.costs is not None:
            # As many calls end as begin, so a node at which one begins leaves two marks on average.
            call.names.costs.note("backward", since, marks=2)

    def _switch(self) -> Running:
        """Return the backward that runs on this thread."""
        key = (_current_backward(), get_ident())
        running = self._running.get(key)
        if running is None:
            while len(self._running) >= _BACKWARDS:
                del self._running[next(iter(self._running))]
            running = self._running[key] = Running(*key)
            Variable._execution_engine.queue_callback(partial(self._finish, key))
        return running

    def _finish(self, key: tuple[int, int]) -> None:
        """Leave what marks remain as a backward ends; another thread's would be out of place."""
        running = self._running.pop(key, None)
        if running is not None and get_ident() == running.thread:
            while running.calls:
                with new_range(running.calls.pop().names.after):
                    pass


def _begin(running: list[Call], call: Call) -> None:
    """Leave the marks before a call, and before those around it that begin as it does."""
    if call.outer is not None:
        _begin(running, call.outer)
    if call not in running:
        with new_range(call.names.before):
            pass
        running.append(call)


def _made_by(tensor: Any) -> Any:
    """Return the node that made a tensor, None for a leaf."""
    if type(tensor) is Tensor:
        return tensor.grad_fn
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.grad_fn


def _tensors(value: object, depth: int) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif depth:
        for item in _items(value):
            yield from _tensors(item, depth - 1)


def _items(value: object) -> Iterable[object]:
    if isinstance(value, tuple | list):
        return value
    if isinstance(value, dict):
        return value.values()
    return vars(value).values() if is_dataclass(value) and not isinstance(value, type) else ()


_carrier = Tensor()
"""Gives a node its table of hooks, which the node takes from a tensor, any tensor, and keeps.

So `Tensor.register_hook` does it in the end, and this is a tenth of its cost. Made here because
making it while recording would be in the trace.
"""
_carrier_lock = threading.RLock()


def _renew_lock() -> None:
    """Where a process was forked: a thread that it does not have may have held the lock."""
    global _carrier_lock
    _carrier_lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _attach(node: Any, hook: Callable[[object], None]) -> None:
    with _carrier_lock:
        _carrier._backward_hooks = {0: hook}
        node._register_hook_dict(_carrier)
