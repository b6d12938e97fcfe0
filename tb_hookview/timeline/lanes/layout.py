"""Rows of a lane: each item is below what holds it, never upon another.

    |------------ a ------------|        depth 0
      |--- b ---|  |--- c ---|           depth 1
        |- d -|          |---- e ----|   depth 2; crosses c and a

An item lies in the innermost one that holds it. Items of one row do not overlap, but for what
rounding makes of neighbours (`nesting.ROUNDING_NS`), and their ends are in the order of their
starts, so that what touches a window is one range of each row.

A trace may be made to need any number of rows. What would stand below the last of `MOST_ROWS` is
put on that one, over each other.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import ROUNDING_NS, enclosing, lookup, subtree_ends
from tb_hookview.arrays.types import Bool, Int, ItemIndex, Nanoseconds

MOST_ROWS = 256
"""More than the frames of any program that does not recurse."""


def by_start(start: Nanoseconds, end: Nanoseconds) -> ItemIndex:
    """Order of items by start, then longest first."""
    # Few of a trace begin at one moment.
    order = np.argsort(start, kind="stable")
    same = start[order[1:]] == start[order[:-1]]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    few = order[tied]
    order[tied] = few[np.lexsort((start[few] - end[few], start[few]))]
    return order


def by_row(depth: Int) -> ItemIndex:
    """Order of items by their rows; within a row they stay as they are."""
    return np.argsort(depth.astype(np.int16), kind="stable")  # 16 bits are the quickest to sort


def depths(start: Nanoseconds, end: Nanoseconds) -> Int:
    """Row of each item, from 0; items (nanoseconds) in the order of `by_start`."""
    parent = enclosing(np.zeros(len(start), np.int64), start, end)
    depth = np.minimum(_levels(parent), MOST_ROWS - 1)
    crossing = np.flatnonzero((parent >= 0) & (end > lookup(end, parent)))
    for first, last in _outermost(unique(parent[crossing]), parent):
        depth[first:last] = depth[first] + _first_fit(start[first:last], end[first:last])
    for first, last in _groups_with(_out_of_order(depth, end), start, end):
        depth[first:last] = _first_fit(start[first:last], end[first:last])
    return np.minimum(depth, MOST_ROWS - 1)


def _outermost(items: ItemIndex, parent: ItemIndex) -> list[tuple[int, int]]:
    """First and last (exclusive) item of each subtree of some items, outermost ones only."""
    found: list[tuple[int, int]] = []
    ends = subtree_ends(parent)[items] if len(items) else items
    for first, last in zip(items.tolist(), ends.tolist(), strict=True):
        if not found or first >= found[-1][1]:
            found.append((first, last))
    return found


def _levels(parent: ItemIndex) -> Int:
    """Number of items around each, by doubling jumps."""
    level = (parent >= 0).astype(np.int64)
    hop = parent.copy()
    active = np.flatnonzero(hop >= 0)
    while len(active):
        above = hop[active]
        level[active] += level[above]
        hop[active] = hop[above]
        active = active[hop[active] >= 0]
    return level


def _out_of_order(depth: Int, end: Nanoseconds) -> Bool:
    """Items that end before one of their row that began before them."""
    order = by_row(depth)
    row, ends = depth[order], end[order]
    wrong = np.zeros(len(depth), bool)
    wrong[order[1:]] = (row[1:] == row[:-1]) & (ends[1:] < ends[:-1])
    return wrong & (depth < MOST_ROWS - 1)


def _groups_with(wanted: Bool, start: Nanoseconds, end: Nanoseconds) -> list[tuple[int, int]]:
    """First and last (exclusive) item of each run of overlapping items with a wanted one."""
    if not wanted.any():
        return []
    reach = np.maximum.accumulate(end)
    first = np.flatnonzero(np.concatenate([[True], start[1:] >= reach[:-1]]))
    last = np.append(first[1:], len(start))
    holding = unique(np.searchsorted(first, np.flatnonzero(wanted), side="right") - 1)
    return list(zip(first[holding].tolist(), last[holding].tolist(), strict=True))


def _first_fit(start: Nanoseconds, end: Nanoseconds) -> Int:
    """Row of each item: the first free one below the innermost that holds it."""
    over: list[int] = []  # end of the last item of each row
    depth: list[int] = []
    for begin, stop in zip(start.tolist(), end.tolist(), strict=True):
        row = len(over)
        while row > 0 and (over[row - 1] < stop or over[row - 1] <= begin):
            row -= 1
        while row < len(over) and not _free(over[row], begin, stop):
            row += 1
        depth.append(row)
        if row < MOST_ROWS:
            over[row : row + 1] = [stop]
    return np.array(depth, np.int64)


def _free(over: int, begin: int, stop: int) -> bool:
    return over <= begin or (over - begin <= ROUNDING_NS and stop >= over)
