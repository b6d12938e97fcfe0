"""Chooses the blocks of a model and times their calls and their last gradients."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from threading import get_ident
from types import FrameType
from typing import Any, NamedTuple

from torch import nn
from torch.compiler import is_dynamo_compiling
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.nn.parameter import is_lazy

from tb_hookview.recorder.compiled.inlined import hide
from tb_hookview.recorder.hooks import SLOT, Hook, ReplacedCall
from tb_hookview.recorder.tree import Node, walk
from tb_hookview.watching.clock import GRADIENT, ROOT, StepClock

MOST = 16
"""Blocks of a model at most."""

_LEARNING = 3
"""Backward passes in which the last gradient of each block is looked for."""


_frame = sys._getframe
_CALL = nn.Module.__call__.__code__


class Block(NamedTuple):
    """A part of the model that is timed: one module, or neighbours of one list."""

    name: str
    """Path of the module; `first..last` of neighbours."""
    modules: tuple[nn.Module, ...]


def choose_blocks(model: nn.Module, path: str, most: int) -> list[Block]:
    """Cut a model into at most `most` blocks that hold all its parameters between them.

    The largest module is opened again and again, with its like next to it, as long as the parts
    fit. A list of more parts than fit becomes groups of neighbours. Modules without parameters are
    in no block.
    """
    if isinstance(model, DataParallel):  # its replicas run in threads, several at a time
        return []
    nodes = {id(node.module): node for node in walk(within_parallel(model), path)}
    root = next(iter(nodes.values()), None)
    if root is None or most < 1 or root.reach == "call" or root.holder is not root.module:
        return []
    chosen = _parts(root, nodes)
    closed: set[int] = set()
    while True:
        open_ = [n for n in chosen if id(n.module) not in closed and n.reach == "hooks"]
        largest = max(open_, key=_size, default=None)
        if largest is None:
            break
        alike = [n for n in open_ if _is_alike(n, largest)]
        parts = {id(n.module): _parts(n, nodes) for n in alike}
        more = sum(len(each) - 1 for each in parts.values())
        if not all(parts.values()) or len(chosen) + more > most:
            closed.update(parts)
        else:
            chosen = [part for n in chosen for part in parts.get(id(n.module), [n])]
    return _as_blocks(chosen, nodes, most)


def _as_blocks(chosen: list[Node], nodes: dict[int, Node], most: int) -> list[Block]:
    lists = [n for n in chosen if _is_list(n.module)]
    room = max(1, (most - (len(chosen) - len(lists))) // max(1, len(lists)))
    blocks: list[Block] = []
    for node in chosen:
        parts = _parts(node, nodes) if node in lists else [node]
        blocks += _groups(parts, room if node in lists else 1)
    return blocks[:most]


def _groups(nodes: list[Node], most: int) -> Iterable[Block]:
    per_group = -(-len(nodes) // most) if nodes else 1
    for start in range(0, len(nodes), per_group):
        group = nodes[start : start + per_group]
        name = group[0].path if len(group) == 1 else f"{group[0].path}..{group[-1].path}"
        yield Block(name, tuple(node.module for node in group))


def _parts(node: Node, nodes: dict[int, Node]) -> list[Node]:
    """Return the parts of a module that hold parameters; none where it holds some itself."""
    if any(p is not None for p in node.module._parameters.values()) and node.depth:
        return []
    found = [nodes.get(id(child)) for child in node.holder._modules.values()]
    return [n for n in found if n is not None and n.depth == node.depth + 1 and _size(n)]


def _is_alike(one: Node, other: Node) -> bool:
    same_parent = one.path.rpartition(".")[0] == other.path.rpartition(".")[0]
    return same_parent and type(one.holder) is type(other.holder)


def _size(node: Node) -> int:
    return sum(1 if is_lazy(p) else p.numel() for p in node.holder.parameters())


def _is_list(module: nn.Module) -> bool:
    return isinstance(module, nn.ModuleList | nn.ModuleDict)


def within_parallel(module: nn.Module) -> nn.Module:
    """Return the model inside data parallelism, whose paths the user knows."""
    while isinstance(module, DistributedDataParallel | DataParallel):
        module = module.module
    return module


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


def _gradient_hook(block: int, clock: StepClock) -> Callable[[nn.Parameter], None]:
    """Return a post-accumulate-grad hook for the parameter of a block whose gradient is the last.

    A plain function: torch calls it faster than any object. These hooks are never copied along
    with a parameter, so it need not be a `Hook`.
    """
    note, kind, stamp = clock.note, GRADIENT + block, clock.stamp

    def note_gradient(_parameter: nn.Parameter) -> None:
        note((kind, stamp(), 0))

    return note_gradient


class _Learner(Hook):
    """Post-accumulate-grad hook that finds out which gradient of a block is the last."""

    __slots__ = ("_block", "_last", "_parameter")

    def __init__(self, block: int, parameter: nn.Parameter, last: dict[int, nn.Parameter]) -> None:
        self._block, self._parameter, self._last = block, parameter, last

    def __call__(self, _parameter: nn.Parameter) -> None:
        self._last[self._block] = self._parameter


class Attached:
    """The marks on a model and its blocks; `remove` takes them all off."""

    def __init__(self, model: nn.Module, blocks: list[Block], clock: StepClock) -> None:
        self._clock = clock
        self._remove: list[Callable[[], None]] = []
        self._learning = _LEARNING
        self._last: dict[int, nn.Parameter] = {}
        self._learners: list[Any] = []
        self._gradients: list[Any] = []
        clock.forget_gradients = self.forget_gradients
        self._attach_calls(within_parallel(model), ROOT)
        for number, block in enumerate(blocks):
            for module in block.modules:
                self._attach_calls(module, number)
                self._learn(module, number)

    def _attach_calls(self, module: nn.Module, number: int) -> None:
        if type(module).__call__ is nn.Module.__call__:
            timed = module.__dict__[SLOT] = _TimedCall(module, number, self._clock)
            reference = weakref.ref(timed)  # no strong reference to a model of the user's
            self._remove.append(lambda: _remove_call(reference()))
            return
        entering = _Enter(number, self._clock)
        enter = module.register_forward_pre_hook(entering)
        leave = module.register_forward_hook(_Leave(entering), always_call=True)
        self._remove += [enter.remove, leave.remove]

    def _learn(self, module: nn.Module, block: int) -> None:
        for parameter in module.parameters():
            if parameter.requires_grad and parameter.is_leaf and not is_lazy(parameter):
                hook = _Learner(block, parameter, self._last)
                handle = parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
                self._learners.append(handle)

    @property
    def is_learning(self) -> bool:
        """Whether the last gradients are still looked for."""
        return self._learning > 0

    def step(self) -> None:
        """End a step; after some, keep hooks only on the parameters that come last."""
        if not self._learning:
            return
        if self._last:
            self._learning -= 1
        if self._learning:
            return
        last, self._last = self._last, {}
        self.forget_gradients()
        for block, parameter in last.items():
            hook = _gradient_hook(block, self._clock)
            handle = parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
            self._gradients.append(handle)

    def forget_gradients(self) -> None:
        """Take the hooks off all parameters, for good: a compiler of backward would see them."""
        self._learning = 0
        self._last.clear()
        for handle in (*self._learners, *self._gradients):
            handle.remove()
        self._learners.clear()
        self._gradients.clear()

    def remove(self) -> None:
        """Take off every mark."""
        self.forget_gradients()
        while self._remove:
            self._remove.pop()()


def _remove_call(timed: _TimedCall | None) -> None:
    """Take our call out of a module's SLOT, also from below a mark or another watch's call."""
    if timed is None:  # the module is gone
        return
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


hide(_timed, _of_replica, _Enter.__call__, _Leave.__call__, _gradient_hook(0, StepClock()))
