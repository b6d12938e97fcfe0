"""Finds the last gradient of each block in the graph of a pass, and marks when it is there."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from tb_hookview.recorder import faults
from tb_hookview.recorder.compiled.inlined import hide
from tb_hookview.watching.blocks import Block
from tb_hookview.watching.clock import BLOCKS, GRADIENT, NOTHING, StepClock

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
