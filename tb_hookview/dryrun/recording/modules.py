"""Which module's forward runs, and which one's made an autograd node."""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left, bisect_right
from types import CodeType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules import module as hooks

_C: Any = torch._C
sequence_number = _C._autograd._get_sequence_nr
"""Number that the next autograd node of this thread gets."""
current_node = _C._current_autograd_node


class ModuleName(NamedTuple):
    """A module by the path below its root, and its class."""

    path: str
    class_name: str


class _Call(NamedTuple):
    number: int
    module: ModuleName | None


class _Operator(NamedTuple):
    number: int
    code: CodeType
    line: int


class _Thread(threading.local):
    """What a thread has called so far."""

    def __init__(self) -> None:
        self.stack: list[tuple[ModuleName, bool]] = []
        """Running calls of modules, and whether each began in a backward pass."""
        self.calls: list[_Call] = []
        """The innermost module from a node's number on."""
        self.operators: list[_Operator] = []
        self.step: tuple[int, int] = (0, 0)
        """Lengths of both lists when the step began."""


class ModuleCalls:
    """Follows calls of modules by hooks on all of them."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[weakref.ref[nn.Module], ModuleName]] = {}
        self._thread = _Thread()
        self._handles: list[Any] = []

    def start(self) -> None:
        """Attach the hooks."""
        self._handles = [
            hooks.register_module_forward_pre_hook(self._enter),
            hooks.register_module_forward_hook(self._leave, always_call=True),
        ]

    def stop(self) -> None:
        """Remove the hooks."""
        while self._handles:
            self._handles.pop().remove()

    def new_step(self) -> None:
        """Forget what is older than one step."""
        thread = self._thread
        calls, operators = thread.step
        del thread.calls[:calls]
        del thread.operators[:operators]
        thread.step = (len(thread.calls), len(thread.operators))

    def _enter(self, module: nn.Module, _args: Any) -> None:
        thread, in_backward = self._thread, current_node() is not None
        name = self._name(module)
        thread.stack.append((name, in_backward))
        thread.calls.append(_Call(sequence_number(), name))

    def _leave(self, _module: nn.Module, _args: Any, _output: Any) -> None:
        thread = self._thread
        if thread.stack:
            thread.stack.pop()
        outer = thread.stack[-1][0] if thread.stack else None
        thread.calls.append(_Call(sequence_number(), outer))

    def _name(self, module: nn.Module) -> ModuleName:
        known = self._names.get(id(module))
        if known is None or known[0]() is not module:
            for path, child in module.named_modules():
                # The first root that a module is called under names it, as long as it is alive.
                found = self._names.get(id(child))
                if child is module or found is None or found[0]() is not child:
                    name = ModuleName(path, type(child).__name__)
                    self._names[id(child)] = (weakref.ref(child), name)
            known = self._names[id(module)]
        return known[1]

    @property
    def innermost(self) -> ModuleName | None:
        """The module whose forward runs on this thread; in a backward one that it runs again."""
        stack = self._thread.stack
        if not stack:
            return None
        name, in_backward = stack[-1]
        return name if in_backward or current_node() is None else None

    def note_operator(self, code: CodeType, line: int) -> None:
        """Remember the line of an operator of the forward pass."""
        self._thread.operators.append(_Operator(sequence_number(), code, line))

    def of_node(self, number: int) -> ModuleName | None:
        """Return the module whose forward made the node of a number."""
        calls = self._thread.calls
        place = bisect_right(calls, number, key=lambda call: call.number) - 1
        return calls[place].module if place >= 0 else None

    def line_of_node(self, number: int, *, made_after: bool) -> tuple[CodeType, int] | None:
        """Return where in the forward the node of a number was made.

        Args:
            number: the node's.
            made_after: whether the node is made after its operator has run, as those of views that
                were changed in place are, and not before.
        """
        operators = self._thread.operators
        if made_after:
            place = bisect_right(operators, number, key=lambda each: each.number) - 1
        else:
            place = bisect_left(operators, number + 1, key=lambda each: each.number)
        if not 0 <= place < len(operators):
            return None
        return operators[place].code, operators[place].line
