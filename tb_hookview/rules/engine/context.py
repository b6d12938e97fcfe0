"""Queries of rules about a trace, each answered once for all of them.

Each part answers questions about one table: `steps`, `rows` (of the call tree), `device_events`,
`syncs` and `gaps`. What a part calls `counted` lies in the measured steps. Times inside are
nanoseconds, those "a step" microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
from msgspec import Struct, field

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import CallTree
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.formats import format_us
from tb_hookview.isolation import Failures
from tb_hookview.rules.engine.parts import DeviceEventContext, GapContext, RowContext, StepContext
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.engine.syncs import SyncContext
from tb_hookview.schema import Phase
from tb_hookview.trace import EventCategory

_LOST = "lost-in-between"
_MOST = 0.5
"""Share of launches without device events from which on idle time is unknown."""

_OF_BACKWARD = "backward", "wgrad", "dgrad"
"""Parts of the names of kernels."""


class Context(Struct, frozen=True, dict=True):
    """One selection of a trace, as rules see it."""

    selection: Selection
    rules: tuple[Rule, ...]
    """In order of priority."""
    failures: Failures = field(default_factory=Failures)
    """Rules that failed on this trace."""

    @property
    def analysis(self) -> Analysis:
        """The whole trace, attributed."""
        return self.selection.analysis

    @property
    def host(self) -> HostRows:
        """Host rows with their names and roles."""
        return self.analysis.host

    @property
    def call_tree(self) -> CallTree:
        """The nesting of the host rows."""
        return self.analysis.call_tree

    @cached_property
    def steps(self) -> StepContext:
        """The measured steps, and the mean step."""
        return StepContext(self.selection)

    @property
    def whole(self) -> Context:
        """All measured steps, next to the selected ones: these show what recurs."""
        counted = np.flatnonzero(self.analysis.steps.counted).tolist()
        steps = tuple(sorted({*counted, *self.steps.indices}))
        if steps == self.steps.indices:
            return self
        return Context(Selection(self.analysis, steps), self.rules)

    @property
    def each(self) -> str:
        """As `StepContext.each`."""
        return self.steps.each

    def us_text(self, us: float) -> str:
        """Write a mean over the steps, microseconds: `167 ms per step`."""
        return f"{format_us(us)}{self.each}"

    def part_text(self, us: float) -> str:
        """Write a mean with its part of a step: `167 ms per step, 12% of it`."""
        whole = "it" if self.steps.marked else "the trace"
        return f"{self.us_text(us)}, {us / self.steps.duration_us:.0%} of {whole}"

    def listed(self, times: Iterable[tuple[str, float]]) -> str:
        """Write names with means of their times, given in nanoseconds: `aten::mm (2 ms), ...`."""
        mean = self.steps.us_per_step
        return ", ".join(f"{name} ({format_us(mean(time))})" for name, time in times)

    @cached_property
    def rows(self) -> RowContext:
        """Rows of the call tree."""
        return RowContext(self.analysis.trace.strings, self.host.string, self.analysis, self.steps)

    @cached_property
    def device_events(self) -> DeviceEventContext:
        """Kernels, copies and memsets."""
        trace = self.analysis.trace
        name = trace.events.name[self.analysis.device_events.event].astype(np.int64)
        return DeviceEventContext(trace.strings, name, self.analysis, self.steps)

    @cached_property
    def syncs(self) -> SyncContext:
        """Syncs of the host, with questions about what is around them."""
        return SyncContext(self.analysis, self.rows)

    @cached_property
    def gaps(self) -> GapContext:
        """Idle time of the devices."""
        return GapContext(self.analysis, self.steps)

    def found(self, rule: Rule) -> list[Occurrence]:
        """What a rule finds by `find`."""
        if rule.id not in self._found:
            self._found[rule.id] = list(rule.find(self)) if rule.find is not None else []
        return self._found[rule.id]

    @cached_property
    def _found(self) -> dict[str, list[Occurrence]]:
        return {}

    @cached_property
    def explained(self) -> Int:
        """Index into `rules` of the first that explains each sync; -1 for the profiler's own."""
        explained = np.full(len(self.syncs), -1, np.int64)
        left = ~self.analysis.syncs.by_profiler
        for number, rule in enumerate(self.rules):
            if rule.explains is not None and left.any():
                claimed = left & self._claimed(rule, rule.explains)
                explained[claimed] = number
                left = left & ~claimed
        return explained

    def _claimed(self, rule: Rule, explains: Callable[[Context], Bool]) -> Bool:
        none = np.zeros(len(self.syncs), bool)
        return self.failures.attempt(f"rule {rule.id}", lambda: explains(self), none)

    def explained_by(self, rule: Rule) -> Bool:
        """Syncs that this rule explains, shape (s,)."""
        number = next(number for number, each in enumerate(self.rules) if each is rule)
        return np.asarray(self.explained == number)

    def work_of(self, rows: Bool) -> Bool:
        """Counted device events that are launched inside of some rows of the call tree."""
        return self.device_events.launched_by(self.rows.inside(rows)) & self.device_events.counted

    def any_name(self, test: Callable[[str], bool]) -> bool:
        """Whether the name of any host row or device event passes a test."""
        return self.rows.any_name(test) or self.device_events.any_name(test)

    @cached_property
    def on_host(self) -> bool:
        """Whether the model ran on the CPU, as `Analysis.on_host`."""
        return self.analysis.on_host

    @cached_property
    def trains(self) -> bool:
        """Whether there is a backward pass or an optimizer: in a replayed graph, by its kernels."""
        passes = int(Phase.BACKWARD), int(Phase.OPTIMIZER)
        found = isin(self.analysis.phases.row, passes).any()
        return bool(found or self.device_events.containing(*_OF_BACKWARD).any())

    @cached_property
    def lost(self) -> float:
        """Share of launches in the middle whose device events the profiler lost."""
        return max((f.share or 0.0 for f in self.analysis.faults if f.code == _LOST), default=0.0)

    @property
    def mostly_lost(self) -> bool:
        """Whether most device events are lost, so that how long the devices idled is unknown."""
        return self.lost > _MOST

    @cached_property
    def with_stacks(self) -> bool:
        """Whether Python frames were recorded, which slows the host."""
        return bool((self.analysis.trace.events.kind == EventCategory.PYTHON).any())

    @cached_property
    def with_shapes(self) -> bool:
        """Whether shapes of inputs were recorded, which slows the host, too."""
        return bool((self.analysis.trace.events.shapes > 0).any())
