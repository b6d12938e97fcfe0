"""Which host event lies within which, on every thread at once.

The rows of all threads are put in one order, by thread, start, then longer first:

    thread 0   |------- a -------|  |- d -|        order    a  b  c  d
               |- b -|  |- c -|                    parent  -1  0  0 -1

A parent always stands before its children, and the rows below it stand together behind it. So a
question about ancestors is answered for all rows at once: by following parents in doubling jumps,
or, where few rows are asked for, by filling in the stretch of rows below each of these.

Traces round times, and some rows really straddle the end of the one around them. A row is a child
of the innermost row still open when it starts, even if it outlasts it; but an overlap within the
coarsest resolution traces have (1 us) is rounding, and makes neighbours, not parent and child.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_hookview.arrays.joins import asof
from tb_hookview.arrays.types import Bool, Int

ROUNDING_NS = 1000
"""Resolution of the coarsest traces (whole microseconds, torch 1.8 to 2.2)."""
_FEW = 8
"""Filling stretches is the quicker way where fewer rows than one in so many are asked for."""


class CallTree(Struct, frozen=True, dict=True):
    """Nested host rows; arrays of shape (n,) in forest order, positions index into them."""

    event: Int
    """Row of `Events` that stands at each position."""
    parent: Int
    """Position of the innermost row around it, -1 at the top."""
    start: Int
    end: Int
    thread: Int

    def __len__(self) -> int:
        return len(self.event)

    @property
    def duration(self) -> Int:
        """Nanoseconds."""
        return self.end - self.start

    @cached_property
    def behind(self) -> Int:
        """Position behind the last row below each: those of a subtree stand together."""
        return subtree_ends(self.parent)

    def nearest(self, wanted: Bool) -> Int:
        """Innermost wanted row around each row, the row itself included; -1 where there is none."""
        rows = np.flatnonzero(wanted)
        if len(rows) * _FEW > len(self):
            return nearest(self.parent, wanted)
        return _filled(rows, self.behind[rows], len(self))

    def inside(self, wanted: Bool) -> Bool:
        """Rows that are, or lie in, one of the wanted rows."""
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return np.zeros(len(self), bool)
        opened = -np.bincount(self.behind[rows], minlength=len(self) + 1)
        opened[rows] += 1
        return np.asarray(np.cumsum(opened[:-1]) > 0)

    def nearest_above(self, wanted: Bool) -> Int:
        """Innermost wanted row strictly around each row; -1 where there is none."""
        found, rows = self.nearest(wanted), np.flatnonzero(wanted)
        found[rows] = lookup(found, self.parent[rows])
        return found


def build(event: Int, thread: NDArray[Any], start: Int, duration: Int) -> CallTree:
    """Nest rows by thread and time.

    Args:
        event: what each row is, ascending; `CallTree.event` of it. All of shape (n,).
        thread: index of its thread.
        start, duration: nanoseconds.
    """
    thread = thread.astype(np.int64)
    order = _in_order(thread, start, duration)
    thread, start, end = thread[order], start[order], (start + duration)[order]
    return CallTree(event[order], enclosing(thread, start, end), start, end, thread)


def _in_order(thread: Int, start: Int, duration: Int) -> Int:
    """Rows by thread, start, then longer first.

    Files are nearly in order of start and few rows start together, so only these are sorted by
    their durations, which are in no order at all.
    """
    order = np.lexsort((start, thread))
    tied = (np.diff(start[order]) == 0) & (np.diff(thread[order]) == 0)
    if tied.any():
        place = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
        rows = order[place]
        order[place] = rows[np.lexsort((-duration[rows], start[rows], thread[rows]))]
    return order


def enclosing(thread: Int, start: Int, end: Int) -> Int:
    """Position of the parent of each row, given rows in forest order; -1 for none.

    Every row begins with its predecessor as candidate and passes over one that is closed to that
    one's own candidate: whatever lies between was closed even earlier.
    """
    candidate = np.arange(-1, len(start) - 1, dtype=np.int64)
    candidate[1:][thread[1:] != thread[:-1]] = -1
    active = np.flatnonzero(candidate >= 0)
    while len(active):
        now = candidate[active]
        ends = end[now]
        overlap = ends - start[active]
        near = np.flatnonzero(overlap <= ROUNDING_NS)  # asked first, as most rows are not
        closed = near[(overlap[near] <= 0) | (end[active[near]] > ends[near])]
        active, passed = active[closed], candidate[now[closed]]
        candidate[active] = passed
        active = active[passed >= 0]
    return candidate


def nearest(parent: Int, wanted: Bool) -> Int:
    """Innermost wanted row around each row, the row itself included; -1 where there is none."""
    if not wanted.any():
        return np.full(len(parent), -1, np.int64)
    hop = np.where(wanted, np.arange(len(parent)), parent)
    active = np.flatnonzero(hop >= 0)
    while len(active):
        active = active[~wanted[hop[active]]]
        hop[active] = hop[hop[active]]
        active = active[hop[active] >= 0]
    return hop


def subtree_ends(parent: Int) -> Int:
    """Position behind the last row below each, for rows in forest order."""
    order = np.argsort(parent, kind="stable")
    sibling = np.full(len(parent), -1, np.int64)
    pairs = parent[order[1:]] == parent[order[:-1]]
    sibling[order[:-1][pairs]] = order[1:][pairs]
    last = nearest(parent, sibling >= 0)
    return np.where(last >= 0, sibling[last], len(parent)) if len(parent) else sibling


def _filled(rows: Int, behind: Int, size: int) -> Int:
    """Innermost of some rows around each of `size` rows; each is around those up to `behind`.

    The bounds of their stretches are walked through in order. Where one ends, the row to go on with
    is the last that was opened at the depth then reached.
    """
    bound, opens = np.concatenate([behind, rows]), np.repeat([0, 1], [len(rows), len(rows)])
    order = np.argsort(bound * 2 + opens)  # what ends goes before what begins at the same place
    bound, opens = bound[order], opens[order]
    depth = np.cumsum(opens * 2 - 1)
    by_depth = np.argsort(depth, kind="stable")
    opener = np.maximum.accumulate(np.where(opens[by_depth] == 1, np.arange(len(depth)), 0))
    innermost = np.empty(len(depth), np.int64)
    innermost[by_depth] = bound[by_depth][opener]
    innermost[depth == 0] = -1
    lengths = np.diff(np.concatenate([[0], bound, [size]]))
    return np.repeat(np.concatenate([[-1], innermost]), lengths)


def nearest_above(parent: Int, wanted: Bool) -> Int:
    """Innermost wanted row strictly around each row; -1 where there is none."""
    return lookup(nearest(parent, wanted), parent)


def lookup(column: Int, position: Int) -> Int:
    """`column[position]`, and -1 where the position is -1."""
    if not len(column):
        return np.full(len(position), -1, np.int64)
    found = column[position]
    if found.dtype == np.bool_:
        found = found.astype(np.int64)
    found[position < 0] = -1
    return found


def self_time(start: Int, end: Int, parent: Int) -> Int:
    """Duration of each row less the time its direct children take of it, nanoseconds.

    `parent` may skip rows (a forest of some of the rows); a child counts only up to its parent's
    end, and children that overlap by rounding leave no less than nothing.
    """
    child = np.flatnonzero(parent >= 0)
    above = parent[child]
    taken = np.minimum(end[child], end[above]) - start[child]
    inner = np.bincount(above, weights=taken, minlength=len(start)).astype(np.int64)
    return np.asarray(np.maximum(end - start - inner, 0))


def innermost_at(call_tree: CallTree, thread: Int, time: Int) -> Int:
    """Innermost row open on a thread at a moment; -1 where there is none. Queries of shape (q,)."""
    found = asof(call_tree.thread, call_tree.start, thread, time)
    active = np.flatnonzero(found >= 0)
    while len(active):
        active = active[call_tree.end[found[active]] <= time[active]]
        found[active] = call_tree.parent[found[active]]
        active = active[found[active] >= 0]
    return found
