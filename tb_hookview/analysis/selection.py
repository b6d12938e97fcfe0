"""The part of an analysis that a report is about: everything, or some steps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Nanoseconds
from tb_hookview.errors import NotFoundError


class Selection(Struct, frozen=True, dict=True):
    """Masks over the rows of an analysis.

    A device event is in the step of its launch.
    """

    analysis: Analysis
    chosen: tuple[int, ...] | None
    """Indices of steps; None for the whole trace, including what is outside all steps."""

    def times(self, time: Nanoseconds) -> Bool:
        """Whether each moment is in the selection."""
        if self.chosen is None:
            return np.ones(len(time), bool)
        return isin(self.analysis.steps.at(time), self.chosen)

    @cached_property
    def rows(self) -> Bool:
        """Rows of the call tree, by their start."""
        return self.times(self.analysis.call_tree.start)

    @cached_property
    def nodes(self) -> Bool:
        """Autograd nodes, by the start of their evaluation."""
        return np.asarray(self.rows[self.analysis.nodes.row])

    @cached_property
    def device_events(self) -> Bool:
        """Device events, by the start of their launch (by their own where it is unknown)."""
        device_events, call_tree = self.analysis.device_events, self.analysis.call_tree
        launched = lookup(call_tree.start, device_events.launch)
        return self.times(np.where(device_events.launch >= 0, launched, device_events.start))

    @cached_property
    def syncs(self) -> Bool:
        """Syncs, by their start."""
        return self.times(self.analysis.syncs.start)

    @property
    def steps(self) -> tuple[int, ...]:
        """Indices of the steps in the selection."""
        return tuple(range(len(self.analysis.steps.name))) if self.chosen is None else self.chosen

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """Indices of the steps that count: those selected; of a whole trace `Steps.counted`."""
        if self.chosen is not None:
            return self.chosen
        return tuple(np.flatnonzero(self.analysis.steps.counted).tolist())


def select(analysis: Analysis, steps: Sequence[str] | None) -> Selection:
    """Choose steps by name; a bare number stands for `ProfilerStep#number`.

    Raises:
        NotFoundError: the trace has no step of that name.
    """
    if not steps:
        return Selection(analysis, None)
    names = analysis.steps.name
    wanted = [f"ProfilerStep#{step}" if step.isdecimal() else step for step in steps]
    for step in wanted:
        if step not in names:
            known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise NotFoundError(f"{analysis.trace.path}: no step {step!r}; there are {known}")
    return Selection(analysis, tuple(i for i, name in enumerate(names) if name in wanted))
