"""The marks of a watch on a model: on calls, and on last gradients."""

from __future__ import annotations

import weakref

from torch import nn

from tb_hookview.recorder.tree import within_parallel
from tb_hookview.watching.blocks import Block
from tb_hookview.watching.calls import Calls
from tb_hookview.watching.clock import BLOCKS, NOTHING, ROOT, StepClock
from tb_hookview.watching.gradients import Gradients


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
