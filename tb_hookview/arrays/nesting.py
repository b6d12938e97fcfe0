"""Nesting of host events, on every thread at once.

The rows of all threads are put in one order, by thread, start, then longer first (rows of equal
extent as the caller ranks them):

    thread 0   |------- a -------|  |- d -|        order    a  b  c  d
               |- b -|  |- c -|                    parent  -1  0  0 -1

A parent always comes before its children, and the rows below it follow it without a gap. So the
ancestors of all rows are found at once: by following parents in doubling jumps, or, for few wanted
rows, by filling in the rows below each of these.

Traces round times, and some rows really straddle the end of the one around them. A row is a child
of the innermost row still open when it starts, even if it outlasts it. But an overlap within the
coarsest resolution of traces (1 us) is rounding, and makes neighbours, not parent and child.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import (
    Bool,
    Code,
    EventRow,
    Index,
    Int,
    Nanoseconds,
    ThreadIndex,
    TimeSet,
    TreeRow,
)

ROUNDING_NS = 1000
"""Resolution of the coarsest traces (whole microseconds, torch 1.8 to 2.2)."""
_FEW = 8
"""Filling in is faster where fewer rows than one in this number are wanted."""


class CallTree(Struct, frozen=True, dict=True):
    """Nested host rows, shape (n,): by thread, start, then longer first."""

    event: EventRow
    parent: TreeRow
    """Innermost row around each, -1 at the top."""
    start: Nanoseconds
    end: Nanoseconds
    thread: ThreadIndex

    def __len__(self) -> int:
        return len(self.event)

    def time_of(self, rows: TreeRow | Bool) -> TimeSet:
        """Time in which some rows run."""
        return intervals.of(self.start[rows], self.end[rows])

    @property
    def duration(self) -> Nanoseconds:
        """End less start."""
        return self.end - self.start

    @cached_property
    def subtree_end(self) -> TreeRow:
        """Row after the last one below each: those of a subtree are consecutive."""
        return subtree_ends(self.parent)

    def nearest(self, wanted: Bool) -> TreeRow:
        """Innermost wanted row around each row, the row itself included; -1 for none."""
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return np.full(len(self), -1, np.int64)
        if len(rows) * _FEW > len(self):
            return nearest(self.parent, wanted)
        return _filled(rows, self.subtree_end[rows], len(self))

    def inside(self, wanted: Bool) -> Bool:
        """Rows that are, or are below, one of the wanted rows."""
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return np.zeros(len(self), bool)
        opened = -np.bincount(self.subtree_end[rows], minlength=len(self) + 1)
        opened[rows] += 1
        return np.asarray(np.cumsum(opened[:-1]) > 0)

    def holds(self, wanted: Bool) -> Bool:
        """Rows that are, or have below them, one of the wanted rows."""
        before = np.append(0, np.cumsum(wanted))
        return np.asarray(before[self.subtree_end] > before[:-1])

    def outermost(self, row: TreeRow, group: Int) -> Bool:
        """Which of some rows, ascending, are below no other one of their group."""
        order = np.argsort(group, kind="stable")
        shift = group[order] * len(self)  # a group begins where all before it have ended
        begun, ended = shift + row[order], shift + self.subtree_end[row[order]]
        outer = np.ones(len(row), bool)
        outer[order[1:]] = begun[1:] >= np.maximum.accumulate(ended)[:-1]
        return outer

    def nearest_above(self, wanted: Bool) -> TreeRow:
        """Innermost wanted row strictly around each row; -1 for none."""
        rows = np.flatnonzero(wanted)
        if len(rows) * _FEW <= len(self):
            found = self.nearest(wanted)
            found[rows] = lookup(found, self.parent[rows])
            return found
        found = self.parent.copy()
        active = np.flatnonzero(found >= 0)
        while len(active := active[~wanted[found[active]]]):
            found[active] = found[found[active]]
            active = active[found[active] >= 0]
        return found


def build(
    event: EventRow,
    thread: NDArray[Any],
    start: Nanoseconds,
    duration: Nanoseconds,
    rank: Callable[[EventRow], Int] | None = None,
) -> CallTree:
    """Nest rows by thread and time.

    Args:
        event: `CallTree.event` of each row, ascending. All are of shape (n,).
        thread: index of its thread.
        start, duration: times of each row.
        rank: gives numbers to events; of rows of equal extent the lower one is around the other.
            Without it, the earlier one is.
    """
    thread = thread.astype(np.int64)
    order = _in_order(thread, start, duration)
    if rank is not None:
        _rank_equals(order, event, (thread, start, duration), rank)
    thread, start, end = thread[order], start[order], (start + duration)[order]
    return CallTree(event[order], enclosing(thread, start, end), start, end, thread)


def _in_order(thread: ThreadIndex, start: Nanoseconds, duration: Nanoseconds) -> Int:
    """Sort rows by thread, start, then longer first.

    Files are nearly in order of start and few rows start together. So only these are sorted by
    their durations, which are in no order at all.
    """
    order = np.lexsort((start, thread))
    tied = (np.diff(start[order]) == 0) & (np.diff(thread[order]) == 0)
    if tied.any():
        place = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
        rows = order[place]
        order[place] = rows[np.lexsort((-duration[rows], start[rows], thread[rows]))]
    return order


def _rank_equals(
    order: Int,
    event: EventRow,
    extent: tuple[ThreadIndex, Nanoseconds, Nanoseconds],
    rank: Callable[[EventRow], Int],
) -> None:
    """Put rows of equal thread, start and duration, adjacent in an order, by their rank."""
    equal = np.ones(max(len(order) - 1, 0), bool)
    for column in extent:
        equal &= np.diff(column[order]) == 0
    if not equal.any():
        return
    place = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    group = np.cumsum(~np.append(False, equal))[place]
    rows = order[place]
    order[place] = rows[np.lexsort((rank(event[rows]), group))]


def enclosing(thread: ThreadIndex, start: Nanoseconds, end: Nanoseconds) -> TreeRow:
    """Parent of each row, in the order of a call tree; -1 for none.

    Every row begins with its predecessor as candidate. From one that is closed it goes on to that
    one's own candidate: whatever lies between was closed even earlier.
    """
    candidate = np.arange(-1, len(start) - 1, dtype=np.int64)
    follows = thread[1:] == thread[:-1]
    candidate[1:][~follows] = -1
    # Most are not closed, and only of these the ends are compared.
    near = np.flatnonzero(follows & (end[:-1] - start[1:] <= ROUNDING_NS))
    closed = near[(end[near] <= start[near + 1]) | (end[near + 1] > end[near])]
    passed = candidate[closed]
    candidate[closed + 1] = passed
    active = closed[passed >= 0] + 1
    while len(active):
        now = candidate[active]
        ends = end[now]
        overlap = ends - start[active]
        near = np.flatnonzero(overlap <= ROUNDING_NS)  # compared first, as most rows are not
        closed = near[(overlap[near] <= 0) | (end[active[near]] > ends[near])]
        active, passed = active[closed], candidate[now[closed]]
        candidate[active] = passed
        active = active[passed >= 0]
    return candidate


def nearest(parent: TreeRow, wanted: Bool) -> TreeRow:
    """Innermost wanted row around each row, the row itself included; -1 for none."""
    if not wanted.any():
        return np.full(len(parent), -1, np.int64)
    hop = np.where(wanted, np.arange(len(parent)), parent)
    active = np.flatnonzero(hop >= 0)
    while len(active):
        active = active[~wanted[hop[active]]]
        hop[active] = hop[hop[active]]
        active = active[hop[active] >= 0]
    return hop


def subtree_ends(parent: TreeRow) -> TreeRow:
    """Row after each one's subtree, in the order of a call tree."""
    order = np.argsort(parent, kind="stable")
    sibling = np.full(len(parent), -1, np.int64)
    pairs = parent[order[1:]] == parent[order[:-1]]
    sibling[order[:-1][pairs]] = order[1:][pairs]
    last = nearest(parent, sibling >= 0)
    return np.where(last >= 0, sibling[last], len(parent)) if len(parent) else sibling


def _filled(rows: TreeRow, ends: TreeRow, size: int) -> TreeRow:
    """Innermost of some rows around each of `size` rows.

    Each is around the rows before its end. The bounds of these subtrees are walked through in
    order. Where one ends, the innermost row is the last that was opened at the depth then reached.
    """
    bound, opens = np.concatenate([ends, rows]), np.repeat([0, 1], [len(rows), len(rows)])
    order = np.argsort(bound * 2 + opens)  # an end goes before a beginning at the same row
    bound, opens = bound[order], opens[order]
    depth = np.cumsum(opens * 2 - 1)
    by_depth = np.argsort(depth, kind="stable")
    opener = np.maximum.accumulate(np.where(opens[by_depth] == 1, np.arange(len(depth)), 0))
    innermost = np.empty(len(depth), np.int64)
    innermost[by_depth] = bound[by_depth][opener]
    innermost[depth == 0] = -1
    lengths = np.diff(np.concatenate([[0], bound, [size]]))
    return np.repeat(np.concatenate([[-1], innermost]), lengths)


def lookup(column: Int | Index | Code | Bool, index: Int) -> Int:
    """`column[index]`, and -1 where the index is -1."""
    if not len(column):
        return np.full(len(index), -1, np.int64)
    found: NDArray[Any] = column[index]
    if found.dtype == np.bool_:
        found = found.astype(np.int64)
    found[index < 0] = -1
    return found


def self_time(start: Nanoseconds, end: Nanoseconds, parent: TreeRow) -> Nanoseconds:
    """Duration of each row less that of its direct children.

    `parent` may skip rows (a tree of some of the rows). A child counts only up to its parent's end.
    No self time is below 0, though children may overlap by rounding.
    """
    taken = np.minimum(end, end[parent]) - start
    inner = np.bincount(parent + 1, weights=taken, minlength=len(start) + 1)[1:].astype(np.int64)
    return np.asarray(np.maximum(end - start - inner, 0))


def _last_begun(call_tree: CallTree, thread: ThreadIndex, time: Nanoseconds) -> TreeRow:
    """Last row of a thread that starts no later than each moment; -1 for none."""
    found = np.full(len(time), -1, np.int64)
    for each in unique(thread).tolist():
        mine = np.flatnonzero(thread == each)
        first, end = np.searchsorted(call_tree.thread, [each, each + 1]).tolist()
        place = np.searchsorted(call_tree.start[first:end], time[mine], side="right")
        found[mine] = np.where(place > 0, first + place - 1, -1)
    return found


def innermost_at(call_tree: CallTree, thread: ThreadIndex, time: Nanoseconds) -> TreeRow:
    """Innermost row open on a thread at each moment; -1 for none."""
    found = _last_begun(call_tree, thread, time)
    active = np.flatnonzero(found >= 0)
    while len(active):
        active = active[call_tree.end[found[active]] <= time[active]]
        found[active] = call_tree.parent[found[active]]
        active = active[found[active] >= 0]
    return found
