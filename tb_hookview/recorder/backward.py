"""The marks on the backward pass: hooks on the nodes that forward calls made, and nothing inserted.

A thread numbers the nodes that it makes, and a backward runs the nodes of one thread from the
highest number down. So the backward of a call begins with the highest node among its outputs, and
is over when a node runs whose number is below the first that the call could make:

    made in forward by       embed   block    block.fc   block   loss
    number of the node        1 2     3        4 5        6       7
    backward runs             <-------------------------------------
    hooked                      b                b        b       b

The outputs of calls are hooked, and the newest node when a call begins if it is not such an
output and can be found among the inputs, so that the end of the call is seen in time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from functools import partial
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Variable
from torch.autograd import profiler as autograd_profiler
from torch.compiler import is_compiling

from tb_hookview.recorder import faults
from tb_hookview.recorder.costs import Costs
from tb_hookview.recorder.ranges import new_range

next_number: Callable[[], int] = torch.autograd._get_sequence_nr  # type: ignore[attr-defined]
"""Return the number that the next node made on this thread will have."""

_current_backward: Callable[[], int] = torch._C._current_graph_task_id

_DEPTH = 3
"""How deep an output's containers are searched for tensors."""


class BackwardNames(NamedTuple):
    """Names of the marks around the backward of a module's calls."""

    before: str
    after: str
    costs: Costs | None = None
    """Where to note what they cost, for a module that is timed."""


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

    __slots__ = ("_calls", "_last", "_running", "newest")

    def __init__(self) -> None:
        self.newest = -1
        """Number of the node that was hooked last."""
        self._calls: dict[int, Call] = {}
        """Of the outermost call under way: by number of the node, the last call to return it."""
        self._last = Running(-1, -1)
        self._running: dict[tuple[int, int], Running] = {}

    def hook_inputs(self, inputs: Iterable[object]) -> None:
        """Have it noticed when a backward comes to the newest of the nodes that made the inputs."""
        newest = None
        for value in inputs:
            if isinstance(value, Tensor):
                node = _made_by(value)
                if node is not None and (newest is None or _number(node) > _number(newest)):
                    newest = node
        if newest is not None:
            number = _number(newest)
            if number != self.newest:
                self._hook(newest, number, None)

    def hook_output(self, output: object, names: BackwardNames, start: int) -> None:
        """Have it noticed when a backward comes to a call.

        Args:
            output: what the call returned.
            names: of the marks of its backward.
            start: number of the first node that it could make.
        """
        if type(output) is Tensor:
            node = output.grad_fn
            if node is not None:
                number = node._sequence_nr()
                if number >= start:
                    self._hook(node, number, Call(names, start))
            return
        call = Call(names, start)
        for node in filter(None, map(_made_by, _tensors(output, _DEPTH))):
            if node._sequence_nr() >= start:
                self._hook(node, node._sequence_nr(), call)

    def _hook(self, node: Any, number: int, call: Call | None) -> None:
        inner = self._calls.get(number)
        if inner is None or call is None:
            with _carrier_lock:
                _carrier._backward_hooks = {0: partial(self._reached, number, call)}
                node._register_hook_dict(_carrier)
            self.newest = number
        elif inner is not call:
            inner.outer = call
        if call is not None:
            self._calls[number] = call

    def forget(self) -> None:
        """Forget which calls returned which node, as the outermost call ends."""
        self._calls.clear()

    def _reached(self, number: int, call: Call | None, _gradient: object) -> None:
        """Leave the marks that are due as a node is about to run."""
        if is_compiling() or not autograd_profiler._is_profiler_enabled:
            return
        since = perf_counter_ns() if call is not None and call.names.costs is not None else 0
        try:
            running = self._last
            if running.backward != _current_backward() or running.thread != get_ident():
                running = self._last = self._switch()
            left = _close(running.calls, number)
            if call is not None:
                left += _begin(running.calls, call)
                if call.names.costs is not None and left:
                    call.names.costs.note("backward", since, left)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("marking the backward pass", fault)

    def _switch(self) -> Running:
        """Return the backward that runs on this thread."""
        key = (_current_backward(), get_ident())
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = Running(*key)
            Variable._execution_engine.queue_callback(partial(self._finish, key))
        return running

    def _finish(self, key: tuple[int, int]) -> None:
        """Leave what marks remain as a backward ends; another thread's would be out of place."""
        running = self._running.pop(key)
        if get_ident() == running.thread:
            _close(running.calls, -1)


def _close(running: list[Call], number: int) -> int:
    """Leave the marks after calls to which a node with this number does not belong; count them."""
    left = 0
    while running and running[-1].start > number:
        with new_range(running.pop().names.after):
            left += 1
    return left


def _begin(running: list[Call], call: Call) -> int:
    """Leave the marks before a call, and before those around it that begin as it does."""
    left = 0 if call.outer is None else _begin(running, call.outer)
    if call not in running:
        with new_range(call.names.before):
            left += 1
        running.append(call)
    return left


def _number(node: Any) -> int:
    number: int = node._sequence_nr()
    return number


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
_carrier_lock = threading.Lock()
