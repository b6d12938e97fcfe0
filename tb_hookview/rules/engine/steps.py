"""The steps that count, and quantities of a mean step."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.types import Bool, Nanoseconds
from tb_hookview.formats import format_count


class StepContext(Struct, frozen=True, dict=True):
    """Steps that count; figures "a step" are means over them, in microseconds."""

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
        """Steps that count."""
        return self.selection.counted

    @cached_property
    def marked(self) -> bool:
        """Whether the trace shows steps; else its one step is the whole trace."""
        return self._analysis.steps.marked

    @cached_property
    def report_rows(self) -> list[schema.Step]:
        """Rows of the report for the steps that count."""
        rows = dict(zip(self.selection.steps, self.selected_rows, strict=True))
        return [rows[step] for step in self.indices]

    @cached_property
    def duration_us(self) -> float:
        """Mean duration of a step."""
        return _mean([step.duration_us for step in self.report_rows]) or 0.0

    @cached_property
    def busy_us(self) -> float | None:
        """Mean busy time of the devices in a step; None without device events."""
        return _mean([step.device_busy_us for step in self.report_rows])

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
        """Whether each of some times lies in a step that counts."""
        counts = np.zeros(len(self._analysis.steps.name) + 1, bool)  # the last is for "in no step"
        counts[list(self.indices)] = True
        return np.asarray(counts[self._analysis.steps.at(time)])

    def us_per_step(self, nanoseconds: float) -> float:
        """A total over the steps that count, as microseconds a step."""
        return float(nanoseconds) / 1000 / max(len(self), 1)


def _mean(values: list[float] | list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
