"""The measured steps, and quantities of a mean step."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import Bool, Intervals, Nanoseconds, TimeSet
from tb_hookview.formats import format_count

SET_UP_NS = 1_000_000
"""Length from which gaps of a trace without steps may be of its set-up."""
_SET_UP = [
    *(int(Cause.ALLOCATOR), int(Cause.KERNEL_LOADING), int(Cause.LAUNCH)),
    *(int(Cause.PROFILER), int(Cause.UNKNOWN)),
]


class StepContext(Struct, frozen=True, dict=True):
    """Measured steps; figures "a step" are means over them, in microseconds."""

    selection: Selection
    selected_rows: list[schema.Step]
    """Rows of the report for the selection's steps, in order."""

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def _analysis(self) -> Analysis:
        return self.selection.analysis

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """Measured steps."""
        return self.selection.counted

    @cached_property
    def marked(self) -> bool:
        """Whether the trace shows steps; else its one step is the whole trace."""
        return self._analysis.steps.marked

    @cached_property
    def report_rows(self) -> list[schema.Step]:
        """Rows of the report for the measured steps."""
        rows = dict(zip(self.selection.steps, self.selected_rows, strict=True))
        return [rows[step] for step in self.indices]

    @cached_property
    def duration_us(self) -> float:
        """Mean duration of a step."""
        return _mean([step.duration_us for step in self.report_rows]) or 0.0

    @cached_property
    def measured_us(self) -> float:
        """What a cost is a share of: a step, or a trace without steps less its set-up.

        A step is as long as its device work takes, where the host runs ahead.

        Set-up is taken to be idle time of 1 ms and more at a time in which code is loaded, memory
        is allocated, the host does other things, or the profiler works.
        """
        if self.marked:
            return max(self.duration_us, *self._work_us, 0.0)
        gaps, devices = self._analysis.gaps, len(self._analysis.device_events.busy)
        idle = gaps.duration[isin(gaps.cause, _SET_UP) & (gaps.duration > SET_UP_NS)]
        return self.duration_us - float(idle.sum()) / 1000 / max(devices, 1)

    @cached_property
    def busy_us(self) -> float | None:
        """Mean busy time of the devices in a step; None without device events."""
        return _mean([step.device_busy_us for step in self.report_rows])

    @property
    def work_us(self) -> float:
        """Mean time of the devices in events of a step, also those that run after its end."""
        return sum(self._work_us)

    @cached_property
    def _work_us(self) -> list[float]:
        """That of each device."""
        analysis, events = self._analysis, self._analysis.device_events
        mine = isin(analysis.device_event_step, self.indices)
        devices = (mine & (events.device == device) for device in unique(events.device[mine]))
        return [self.us_per_step(intervals.length(events.time_of(one))) for one in devices]

    @cached_property
    def idle_us(self) -> float | None:
        """Mean idle time of the devices in a step; None without device events."""
        return _mean([step.device_idle_us for step in self.report_rows])

    @cached_property
    def text(self) -> str:
        """How many steps count, next to a number that is of all of them."""
        return format_count(len(self), "step") if self.marked else "the trace"

    @property
    def one(self) -> str:
        """What a mean is of."""
        return "a step" if self.marked else "the trace"

    @property
    def each(self) -> str:
        """What follows a mean over the steps; nothing where the one step is the whole trace."""
        return " per step" if self.marked else ""

    def contain(self, time: Nanoseconds) -> Bool:
        """Whether each of some times lies in a measured step."""
        counts = np.zeros(len(self._analysis.steps.name) + 1, bool)  # the last is for "in no step"
        counts[list(self.indices)] = True
        return np.asarray(counts[self._analysis.steps.at(time)])

    @cached_property
    def windows(self) -> Intervals:
        """Start and end of each measured step, in order."""
        return self._analysis.steps.window[list(self.indices)]

    def cut(self, time: TimeSet) -> TimeSet:
        """That part of a time which lies in measured steps."""
        return intervals.intersect(time, intervals.normal(self.windows))

    def us_per_step(self, nanoseconds: float) -> float:
        """A total over the measured steps, as microseconds per step."""
        return float(nanoseconds) / 1000 / max(len(self), 1)


def _mean(values: list[float] | list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
