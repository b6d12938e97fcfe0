"""The marks of a watch on a model: on calls, and on last gradients."""

from __future__ import annotations

import weakref

from torch import nn

from tb_hookview.watching.blocks import Block, within_parallel
from tb_hookview.watching.calls import Calls
from tb_hookview.watching.clock import ROOT, StepClock
from tb_hookview.watching.gradients import Gradients


class Attached:
    """The marks on a model and its blocks; `remove` takes them all off.

    Those on the blocks can be switched off for some steps.
    """

    def __init__(self, model: nn.Module, blocks: list[Block], clock: StepClock) -> None:
        self.all_blocks = self.blocks = len(blocks)
        self._root, self._calls = Calls(clock), Calls(clock)
        self._gradients = Gradients(model, blocks, clock)
        self._root.add(within_parallel(model), ROOT)
        for number, block in enumerate(blocks):
            for module in block.modules:
                self._calls.add(module, number)
        calls = self._calls
        self._model = weakref.ref(model, lambda _: calls.forget())

    def switch(self, *, on: bool) -> None:
        """Time the blocks from the next step on, or not."""
        self.blocks = self.all_blocks if on else 0
        self._calls.switch(on=on)
        self._gradients.switch(on=on)

    def remove(self) -> None:
        """Take off every mark."""
        self._gradients.remove()
        self._calls.remove()
        self._root.remove()
