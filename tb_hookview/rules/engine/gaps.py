"""Idle time of the devices, for rules: which gaps have which cause."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.types import Bool, GapIndex, SyncIndex, TimeSet
from tb_hookview.rules.engine.steps import SET_UP_NS, StepContext

_WITHIN = 0.9
"""Share of a gap from which it lies within some time."""
NO_STEPS = (
    "The trace marks no steps; gaps of more than 1 ms are left out, as they may be of its set-up."
)


class GapContext(Struct, frozen=True, dict=True):
    """Gaps of the devices; methods give rows of `Analysis.gaps`."""

    analysis: Analysis
    steps: StepContext

    def of(self, *causes: Cause) -> GapIndex:
        """Gaps of some causes that began in a measured step."""
        wanted = np.zeros(len(Cause), bool)
        wanted[list(causes)] = True
        return np.flatnonzero(wanted[self.analysis.gaps.cause] & self._counted)

    def in_steps(self, *causes: Cause) -> GapIndex:
        """Gaps of some causes, without those that may be of the set-up (see `NO_STEPS`)."""
        gaps = self.of(*causes)
        if self.steps.marked:
            return gaps
        return gaps[self.analysis.idle_around[gaps] <= SET_UP_NS]

    @cached_property
    def _counted(self) -> Bool:
        return self.steps.contain(self.analysis.gaps.start)

    def of_syncs(self, syncs: SyncIndex) -> GapIndex:
        """Gaps that some syncs (by index) caused."""
        sync = self.analysis.gaps.sync
        return np.flatnonzero((sync >= 0) & isin(sync, syncs))

    def at(self, rows: Bool, *causes: Cause) -> GapIndex:
        """Gaps of some causes whose row (see `Gaps.row`) is one of some call tree rows."""
        gaps = self.of(*causes)
        row = self.analysis.gaps.row[gaps]
        return gaps[(row >= 0) & rows[row]] if len(rows) else gaps[:0]

    def within(self, spans: TimeSet, *causes: Cause) -> GapIndex:
        """Gaps of some causes of which nine tenths or more lie within some time."""
        gaps, found = self.analysis.gaps, self.of(*causes)
        windows = np.stack([gaps.start[found], gaps.end[found]], axis=1)
        inside = intervals.lengths_within(spans, windows)
        return found[inside >= _WITHIN * gaps.duration[found]]

    def us_per_step(self, gaps: GapIndex) -> float:
        """Durations of some gaps, summed, microseconds per step."""
        return self.steps.us_per_step(self.analysis.gaps.duration[gaps].sum())
