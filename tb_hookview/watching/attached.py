"""The marks of a watch on a model: on calls, and on last gradients."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from threading import get_ident
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling

from tb_hookview.recorder import faults
from tb_hookview.recorder.compiled.inlined import hide
from tb_hookview.recorder.hooks import SLOT, Hook, ReplacedCall
from tb_hookview.recorder.tree import within_parallel
from tb_hookview.watching.blocks import Block
from tb_hookview.watching.clock import BLOCKS, GRADIENT, NOTHING, ROOT, StepClock

# Finds the last gradient of each block in the graph of a pass, and marks when it is there.


_PASSES = 3
"""Backward passes in which blocks without a mark are looked for."""
_MOST_NODES = 100_000
"""Nodes of a pass that are looked at: half a second."""
_COMPILED_AUTOGRAD = "torch._dynamo.compiled_autograd"


class Gradients:
    """Marks on the last gradient of each block; those that end a pass belong to the phases.

    A hook on a parameter costs each later backward pass something, even once it is removed: torch
    has no way to take the empty list of hooks off. So only the parameters that come last get one.
    """

    def __init__(self, model: nn.Module, blocks: list[Block], clock: StepClock) -> None:
        """Attach nothing yet; the clock is asked to show the backward passes."""
        self._clock = clock
        self._model = weakref.ref(model)
        self._modules = [
            (weakref.ref(module), number)
            for number, block in enumerate(blocks)
            for module in block.modules
        ]
        self._passes = 0
        self._last: set[int] = set()
        self._handles: dict[int, Any] = {}
        self._hooks: dict[int, Callable[[nn.Parameter], None]] = {}
        self._timed = BLOCKS
        self._knows_all = False
        clock.before_backward = self._before_backward if blocks else None

    def _before_backward(self, begins: Any) -> None:
        compiled = sys.modules.get(_COMPILED_AUTOGRAD)
        if compiled is not None and compiled.compiled_autograd_enabled:
            self.remove()  # it would compile the hooks
        elif not self._knows_all:
            self._learn(begins)

    def _learn(self, begins: Any) -> None:
        try:
            self._passes += 1
            found = last_gradients(begins, self._block_of())
            if found:
                self._last.add(min(found, key=lambda block: found[block][0]))
            for block, (_, parameter) in found.items():
                if block not in self._hooks:
                    self._attach(block, parameter)
            self.switch(self._timed)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("finding last gradients", fault, "some blocks have no backward times")
            self._passes = _PASSES
        if self._passes >= _PASSES or len(self._hooks) == len({n for _, n in self._modules}):
            self._knows_all = True

    def _block_of(self) -> dict[torch.Tensor, int]:
        model = self._model()
        unsharded = {} if model is None else unsharded_parameters(model)
        return {
            unsharded.get(parameter, parameter): number
            for reference, number in self._modules
            for module in (reference(),)
            if module is not None
            for parameter in module.parameters()
        }

    def _attach(self, block: int, parameter: nn.Parameter) -> None:
        hook = self._hooks[block] = _gradient_hook(block, self._clock)
        handle = parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
        self._handles[block] = handle

    def switch(self, timed: int) -> None:
        """Mark the last gradients of all blocks, only those that end a pass, or none."""
        self._timed = timed
        for block, handle in self._handles.items():
            hooks = handle.hooks_dict_ref()
            if hooks is None:
                continue
            if timed == BLOCKS or (block in self._last and timed > NOTHING):
                hooks[handle.id] = self._hooks[block]
            else:
                hooks.pop(handle.id, None)

    def remove(self) -> None:
        """Take the hooks off all parameters, for good."""
        self._clock.before_backward = None
        for handle in self._handles.values():
            handle.remove()
        self._handles.clear()


def _gradient_hook(block: int, clock: StepClock) -> Callable[[nn.Parameter], None]:
    """Return a post-accumulate-grad hook for the parameter of a block whose gradient is the last.

    A plain function: torch calls it faster than any object. These hooks are never copied along
    with a parameter, so it need not be a `Hook`.
    """
    note, kind, stamp = clock.note, GRADIENT + block, clock.stamp

    def note_gradient(_parameter: nn.Parameter) -> None:
        note((kind, stamp(), 0))

    return note_gradient


def unsharded_parameters(model: nn.Module) -> dict[torch.Tensor, torch.Tensor]:
    """Return what `fully_shard` puts in the place of each parameter while its module is used.

    Gradients are of these, and reduced after that. A graph has no other way back to a module.
    """
    modules: Iterable[Any] = model.modules()
    return {
        each.sharded_param: each._unsharded_param
        for module in modules
        if hasattr(module, "_get_fsdp_state")
        for group in _groups_of(module._get_fsdp_state())
        for each in group.fsdp_params
        if hasattr(each, "_unsharded_param")  # it was used
    }


def _groups_of(state: Any) -> Iterable[Any]:
    if hasattr(state, "_fsdp_param_groups"):
        groups: Iterable[Any] = state._fsdp_param_groups
        return groups
    return [] if state._fsdp_param_group is None else [state._fsdp_param_group]  # before torch 2.12


def last_gradients(
    begins: Any, block_of: Mapping[torch.Tensor, int]
) -> dict[int, tuple[int, nn.Parameter]]:
    """Return each block's parameter whose gradient comes last, and the number of the node before.

    Autograd runs the node with the highest number first, of those that are ready, and a parameter's
    gradient is complete once the last node that uses the parameter has run.

    Args:
        begins: tensors or edges that a backward pass begins from, or one of them.
        block_of: the block of each parameter that counts.
    """
    found: dict[int, tuple[int, nn.Parameter]] = {}
    waiting = list(_first_nodes(begins))
    seen = set(waiting)
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.pop()
        number = node._sequence_nr()
        for following, _ in node.next_functions:
            if type(following).__name__ == "AccumulateGrad":
                block = block_of.get(following.variable)
                if block is not None and (block not in found or number < found[block][0]):
                    found[block] = number, following.variable
            elif following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return found


def _first_nodes(begins: Any) -> Iterator[Any]:
    several: Iterable[Any] = begins if isinstance(begins, list | tuple) else (begins,)
    for each in several:
        node = each.grad_fn if isinstance(each, torch.Tensor) else getattr(each, "node", None)
        if node is not None:
            yield node


hide(_gradient_hook(0, StepClock()))


# Times the calls of modules, all the time or in some steps.


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


class Attached:
    """The marks on a model and its blocks; `remove` takes them all off.

    Those on the blocks can be switched off for some steps, or all.
    """

    def __init__(self, model: nn.Module, blocks: list[Block], clock: StepClock) -> None:
        self._root, self._calls = Calls(clock), Calls(clock)
        self._gradients = Gradients(model, blocks, clock)
        self._root.add(within_parallel(model), ROOT)
        for number, block in enumerate(blocks):
            for module in block.modules:
                self._calls.add(module, number)
        calls = self._calls
        self._model = weakref.ref(model, lambda _: calls.forget())
        self._has_root = True

    def switch(self, timed: int) -> None:
        """Time this much from the next step on."""
        self._switch_root(on=timed > NOTHING)
        self._calls.switch(on=timed == BLOCKS)
        self._gradients.switch(timed)

    def _switch_root(self, *, on: bool) -> None:
        """Made again each time: what is switched off would hold the model."""
        model = self._model()
        if on and not self._has_root and model is not None:
            self._root.add(within_parallel(model), ROOT)
        elif not on:
            self._root.remove()
        self._has_root = on

    def remove(self) -> None:
        """Take off every mark."""
        self._gradients.remove()
        self._calls.remove()
        self._root.remove()
