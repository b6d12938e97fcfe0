"""Queries of rules about syncs: rows around and before each, its copy.

Masks are over all syncs of the trace, shape (s,). A sync that no operator asked for lies in none.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.syncs.detection import follow_at_once
from tb_hookview.arrays.joins import asof, isin, mask_of, scatter, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds, StringIndex, TreeRow
from tb_hookview.rules.engine.parts import RowContext
from tb_hookview.trace import EventCategory

_TO_DEVICE = re.compile(r"HtoD|HostToDevice|Host -> Device", re.IGNORECASE)
_TO_HOST = re.compile(r"DtoH|DeviceToHost|Device -> Host", re.IGNORECASE)
VALUES = ("aten::item", "aten::_local_scalar_dense")
"""Operators that bring one value to Python."""
READS = ("aten::is_nonzero", *VALUES)
"""These, and what Python asks of a tensor as a condition."""


class Direction(IntEnum):
    """Direction of a copy."""

    NONE = 0
    """No copy, or none that the trace knows."""
    TO_DEVICE = 1
    TO_HOST = 2
    OTHER = 3


class SyncContext(Struct, frozen=True, dict=True):
    """Syncs of a trace, by start."""

    analysis: Analysis
    rows: RowContext

    def __len__(self) -> int:
        return len(self.analysis.syncs)

    @property
    def start(self) -> Nanoseconds:
        """Start of each, nanoseconds."""
        return self.analysis.syncs.start

    @property
    def end(self) -> Nanoseconds:
        """End of each, nanoseconds."""
        return self.analysis.syncs.end

    @cached_property
    def counted(self) -> Bool:
        """Syncs of the training that begin in measured steps."""
        return np.asarray(self.rows.steps.contain(self.start) & self.of_training)

    @cached_property
    def of_training(self) -> Bool:
        """Syncs of the training, in any step.

        The profiler's own is not one, nor is one on a thread that launches no kernels and marks no
        steps: the host may block there, as a loader does that pins memory, or a checkpoint writer.
        """
        own = ~self.analysis.syncs.by_profiler
        if not self.analysis.launches_known:
            return np.asarray(own)
        return np.asarray(own & self.rows.on_training_thread(self.row))

    @cached_property
    def reaching(self) -> Bool:
        """Syncs of the training outside of measured steps for which a device idles in one."""
        analysis = self.analysis
        measured = isin(analysis.gap_step, self.rows.steps.indices) & (analysis.gaps.sync >= 0)
        found = mask_of(analysis.gaps.sync[measured], len(self))
        return np.asarray(found & self.of_training & ~self.counted)

    @cached_property
    def in_warm_up(self) -> Bool:
        """Syncs in the first step, where that is in no mean."""
        steps = self.analysis.steps
        return np.asarray((steps.at(self.start) == steps.warm_up) & (steps.warm_up >= 0))

    @property
    def row(self) -> TreeRow:
        """Call tree row of the call that blocked."""
        return self.analysis.syncs.row

    @property
    def operator(self) -> TreeRow:
        """Call tree row of the innermost operator around it, -1 for none."""
        return self.analysis.syncs.operator

    @cached_property
    def around(self) -> TreeRow:
        """Call tree rows around each sync, shape (s, depth): innermost first, then -1.

        They begin with the operator; a sync without one has what is around its call.
        """
        parent = self.analysis.call_tree.parent
        row = np.where(self.operator >= 0, self.operator, lookup(parent, self.row))
        found = []
        while (row >= 0).any():
            found.append(row)
            row = lookup(parent, row)
        return np.stack(found, axis=1) if found else np.zeros((len(self), 0), np.int64)

    def inside(self, *names: str) -> Bool:
        """Syncs in an operator, node or annotation of one of these names, at any depth."""
        return np.asarray(self.outermost(*names) >= 0)

    def inside_matching(self, pattern: str) -> Bool:
        """Syncs in a row whose whole name a regular expression matches, at any depth."""
        return np.asarray(self.outermost_matching(pattern) >= 0)

    def outermost(self, *names: str) -> TreeRow:
        """Outermost row of one of these names around each sync, -1 for none."""
        return self._outermost(self.rows.name_indices(*names))

    def outermost_matching(self, pattern: str) -> TreeRow:
        """Outermost row around each sync whose whole name matches, -1 for none."""
        matches = re.compile(pattern).fullmatch
        return self._outermost([name for name, text in self._texts_around.items() if matches(text)])

    def _outermost(self, wanted: list[int]) -> TreeRow:
        found = np.full(len(self), -1, np.int64)
        if not wanted:
            return found
        passes = np.zeros(len(self.analysis.trace.strings) + 1, bool)  # the last is for "no row"
        passes[wanted] = True
        hit = passes[self._strings_around]
        for depth in np.flatnonzero(hit.any(axis=0)):
            found = np.where(hit[:, depth], self.around[:, depth], found)
        return found

    @cached_property
    def _strings_around(self) -> StringIndex:
        return lookup(self.analysis.host.string, self.around.ravel()).reshape(self.around.shape)

    @cached_property
    def _texts_around(self) -> dict[int, str]:
        """Every name that is around any sync, by its index."""
        texts, strings = self.analysis.trace.strings, unique(self._strings_around)
        return {string: texts[string] for string in strings.tolist() if string >= 0}

    @cached_property
    def labels(self) -> tuple[StringIndex, StringIndex]:
        """Names of the outermost and the innermost annotation of the program around each sync.

        -1 for none. Marks of steps, of modules and of the optimizer are no such annotations.
        """
        role = lookup(self.analysis.host.role, self.around.ravel())
        labels = (role == Role.LABEL).reshape(self.around.shape)
        outermost, innermost = np.full((2, len(self)), -1, np.int64)
        for depth in np.flatnonzero(labels.any(axis=0)):
            name, hit = self._strings_around[:, depth], labels[:, depth]
            innermost = np.where(hit & (innermost < 0), name, innermost)
            outermost = np.where(hit, name, outermost)
        return outermost, innermost

    @cached_property
    def reads_value(self) -> Bool:
        """Syncs that bring one value to Python: `item()`, `float(t)`, `if t:`."""
        return self.inside(*VALUES)

    @cached_property
    def prints(self) -> Bool:
        """Syncs in the selection of finite nonzero values by which torch formats a tensor."""
        chosen = self.outermost("aten::masked_select")
        if not (chosen >= 0).any():
            return np.zeros(len(self), bool)
        both = ("aten::__and__", "aten::bitwise_and")
        compared = self.before(chosen, *both)
        return np.asarray(
            self.named(self.before(chosen), *both)
            & self.named(compared, "aten::ne")
            & self.named(self.before(compared), "aten::isfinite")
        )

    @cached_property
    def direction(self) -> Int:
        """`Direction` of the copy that each sync is for."""
        event = lookup(self.analysis.device_events.event, self.copy)
        name = np.where(self.copy >= 0, self.analysis.trace.events.name[event], -1)
        found = np.full(len(self), Direction.NONE, np.int64)
        for string in unique(name[name >= 0]).tolist():
            found[name == string] = _direction(self.analysis.trace.strings[string])
        return found

    @cached_property
    def operators_known(self) -> bool:
        """Whether the trace has operators; without any, a sync outside of them says nothing."""
        return bool((self.analysis.host.kind == EventCategory.OPERATOR).any())

    @cached_property
    def copy(self) -> DeviceEventIndex:
        """Row of `DeviceEvents` of the copy that each sync is for, -1 for none known.

        A copy that blocks is the sync's own call; any other is the call before the sync, in the
        same operator (or at once, see `follow_at_once`), or directly before it where the trace has
        no operators. Either way the sync is the first of its thread to end after the copy's call
        began.
        """
        events, call_tree = self.analysis.device_events, self.analysis.call_tree
        copies = np.flatnonzero(events.is_copy & (events.launch >= 0))
        launch, syncs = events.launch[copies], self.analysis.syncs
        thread = call_tree.thread
        sync = asof(thread[self.row], -syncs.end, thread[launch], -call_tree.start[launch])
        operator = self.analysis.host.operator_around[launch]
        belongs = (operator >= 0) & (operator == lookup(syncs.operator, sync))
        belongs |= launch == lookup(
            syncs.row, sync
        )  # in no operator, or before its own by its clock
        belongs |= follow_at_once(self.analysis.host, launch, lookup(syncs.row, sync))
        belongs &= sync >= 0
        found = scatter(sync[belongs], copies[belongs], len(self))
        return found if self.operators_known else self._adjacent(copies, launch)

    def _adjacent(self, copies: DeviceEventIndex, launch: TreeRow) -> DeviceEventIndex:
        """Copy whose call is each sync, or the call directly before it on its thread."""
        thread = self.analysis.call_tree.thread
        copy_of = scatter(launch, copies, len(thread))
        before = np.where(lookup(thread, self.row - 1) == thread[self.row], self.row - 1, -1)
        own = copy_of[self.row]
        return np.where(own >= 0, own, lookup(copy_of, before))

    @cached_property
    def of_blocking_launches(self) -> Bool:
        """Launches that wait for what they launch."""
        return isin(self.row, self.analysis.call_times.blocking_launch)

    # What the host did before and after

    def before(self, row: TreeRow, *skipped: str) -> TreeRow:
        """Last operator before each row (shape (s,)) under the same operator; -1 for none.

        Those of a `skipped` name are passed over; torch's annotations of the optimizer count.
        """
        return self._sibling(row, skipped, 1)

    def after(self, row: TreeRow, *skipped: str) -> TreeRow:
        """The same, of the first operator after each row."""
        # From its start on: clocks of whole microseconds may let it end after the next one begins.
        return self._sibling(row, skipped, -1)

    def first_after(self, row: TreeRow, wanted: Bool) -> TreeRow:
        """First of some rows to start after each row (shape (s,)) ends, under the same operator."""
        call_tree, key, rows = self.analysis.call_tree, self._siblings, np.flatnonzero(wanted)
        found, asked = np.full(len(self), -1, np.int64), np.flatnonzero(row >= 0)
        of, start = row[asked], -call_tree.start[rows]
        found[asked] = lookup(rows, asof(key[rows], start, key[of], -call_tree.end[of]))
        return found

    def last_before(self, wanted: Bool) -> TreeRow:
        """Last of some rows to start on the thread before each sync; -1 for none."""
        call_tree, rows = self.analysis.call_tree, np.flatnonzero(wanted)
        thread = call_tree.thread[self.row]
        return lookup(rows, asof(call_tree.thread[rows], call_tree.start[rows], thread, self.start))

    def _sibling(self, row: TreeRow, skipped: tuple[str, ...], sign: int) -> TreeRow:
        """The operator before each row (sign 1), or after it (-1)."""
        found, asked = np.full(len(self), -1, np.int64), np.flatnonzero(row >= 0)
        if len(asked):
            rows, key = self._without(skipped), self._siblings
            start = sign * self.analysis.call_tree.start
            last = asof(key[rows], start[rows], key[row[asked]], start[row[asked]] - 1)
            found[asked] = lookup(rows, last)
        return found

    def _without(self, skipped: tuple[str, ...]) -> TreeRow:
        rows, texts = self._candidates, self.analysis.trace.strings
        if not skipped:
            return rows
        strings = self.analysis.host.string[rows]
        unwanted = [s for s in unique(strings).tolist() if texts[s] in skipped]
        return np.asarray(rows[~isin(strings, unwanted)]) if unwanted else rows

    @cached_property
    def _candidates(self) -> TreeRow:
        """Operators with the same operator or thread around them as one around any sync."""
        host, key = self.analysis.host, self._siblings
        rows = np.flatnonzero(host.operators | (host.role == Role.OPTIMIZER))
        around = self.around[self.around >= 0]
        return np.asarray(rows[isin(key[rows], unique(key[around]))])

    @cached_property
    def _siblings(self) -> Int:
        """Key of the innermost operator around each row, or of its thread without one."""
        operator = self.analysis.host.operator_around
        return np.where(operator >= 0, operator, -1 - self.analysis.call_tree.thread)

    def names(self, row: TreeRow) -> NDArray[np.object_]:
        """Name of each row, "" for -1."""
        string = lookup(self.analysis.host.string, row)
        return self.analysis.trace.strings.map(string, str, object)

    def named(self, row: TreeRow, *names: str) -> Bool:
        """Whether each row (shape (s,), -1 for none) has one of these names."""
        string = lookup(self.analysis.host.string, row)
        return (row >= 0) & isin(string, self.rows.name_indices(*names))


def _direction(name: str) -> Direction:
    if _TO_DEVICE.search(name):
        return Direction.TO_DEVICE
    if _TO_HOST.search(name):
        return Direction.TO_HOST
    return Direction.OTHER
