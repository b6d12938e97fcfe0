"""Queries of rules about host rows: counted, nesting, module."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.roles import Role
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.rules.engine.names import NamedRows
from tb_hookview.rules.engine.rule import HostTime
from tb_hookview.rules.engine.steps import StepContext
from tb_hookview.trace import EventCategory


class RowContext(NamedRows, frozen=True):
    """Rows of the call tree; masks are over all of them, shape (n,)."""

    analysis: Analysis
    steps: StepContext

    @cached_property
    def counted(self) -> Bool:
        """Rows that start in a measured step."""
        return self.steps.contain(self.analysis.call_tree.start)

    def inside(self, wanted: Bool) -> Bool:
        """Rows that are, or lie in, one of the wanted rows."""
        return self.analysis.call_tree.inside(wanted)

    def inside_matching(self, pattern: str) -> Bool:
        """Rows that are, or lie in, one whose name contains a match of a pattern."""
        if pattern not in self._insides:
            self._insides[pattern] = self.inside(self.matching(pattern))
        return self._insides[pattern].copy()  # the caller's to change

    @cached_property
    def _insides(self) -> dict[str, Bool]:
        return {}

    def operator_of(self, rows: TreeRow) -> TreeRow:
        """Innermost operator around each of some rows (-1 for none); -1 for none."""
        return lookup(self.analysis.host.operator_around, rows)

    def outermost_operator_of(self, rows: TreeRow) -> TreeRow:
        """Outermost operator that is, or is around, each of some rows; -1 for none."""
        return self.outermost_of(self._operators, rows)

    @cached_property
    def _operators(self) -> Bool:
        host = self.analysis.host
        return np.asarray((host.kind == EventCategory.OPERATOR) & (host.role == Role.NONE))

    def outermost_of(self, wanted: Bool, rows: TreeRow) -> TreeRow:
        """Outermost wanted row that is, or is around, each of some rows; -1 for none."""
        found, at = np.full(len(rows), -1, np.int64), rows
        while (inside := at >= 0).any():
            found = np.where(inside & wanted[at], at, found)
            at = lookup(self.analysis.call_tree.parent, at)
        return found

    def host_time(self, wanted: Bool) -> tuple[HostTime, ...]:
        """Time within some rows, by thread, as far as it lies in measured steps."""
        tree, rows = self.analysis.call_tree, np.flatnonzero(wanted)
        thread = tree.thread[rows]
        return tuple(
            HostTime(each, self.steps.cut(intervals.of(tree.start[mine], tree.end[mine])))
            for each in unique(thread).tolist()
            for mine in (rows[thread == each],)
        )

    def host_us(self, wanted: Bool) -> float:
        """Length of `host_time`, microseconds per step."""
        held = sum(intervals.length(each.time) for each in self.host_time(wanted))
        return self.steps.us_per_step(held)

    def module_of(self, row: int) -> int:
        """Module to which device events launched at a row belong, -1 for none."""
        return int(self.analysis.attribution.row_module[row])

    def common_module(self, rows: TreeRow) -> int:
        """Module that all of these rows launch for, -1 for none."""
        modules = unique(self.analysis.attribution.row_module[rows])
        return int(modules[0]) if len(modules) == 1 else -1

    def on_training_thread(self, rows: TreeRow) -> Bool:
        """Whether each of some rows is on a thread that launches kernels or marks steps."""
        return np.asarray(self._training_threads[self.analysis.call_tree.thread[rows]])

    @cached_property
    def _training_threads(self) -> Bool:
        events, device_events = self.analysis.trace.events, self.analysis.device_events
        launched = device_events.launch[
            (device_events.launch >= 0) & (events.kind[device_events.event] == EventCategory.KERNEL)
        ]
        found = np.zeros(len(self.analysis.trace.threads), bool)
        found[self.analysis.call_tree.thread[launched]] = True
        marks = np.flatnonzero(events.kind == EventCategory.ANNOTATION)
        annotations = NamedRows(self.strings, events.name[marks].astype(np.int64))
        named = annotations.name_indices(*self.analysis.steps.name)
        found[events.thread[marks[isin(annotations.name, named)]]] = True
        return found
