"""On which row of its lane each item stands: one below what holds it, and never upon another.

    |------------ a ------------|        depth 0
      |--- b ---|  |--- c ---|           depth 1
        |- d -|          |---- e ----|   depth 2; crosses c and a

An item lies in the innermost one that holds it. Items of one row do not overlap, but for what
rounding makes of neighbours (`forest.ROUNDING_NS`), and their ends are in the order of their
starts, so that what touches a window is one stretch of each row.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.forest import ROUNDING_NS, enclosing, lookup
from tb_hookview.trace.columns import Bool, Int


def depths(start: Int, end: Int) -> Int:
    """Row of each item, from 0; items (nanoseconds) by start, then longest first."""
    parent = enclosing(np.zeros(len(start), np.int64), start, end)
    depth = _levels(parent)
    misplaced = ((parent >= 0) & (end > lookup(end, parent))) | _out_of_order(depth, end)
    if misplaced.any():
        for first, last in _groups_with(misplaced, start, end):
            depth[first:last] = _first_fit(start[first:last].tolist(), end[first:last].tolist())
    return depth


def _levels(parent: Int) -> Int:
    """How many items lie around each, by doubling jumps."""
    level = (parent >= 0).astype(np.int64)
    hop = parent.copy()
    active = np.flatnonzero(hop >= 0)
    while len(active):
        above = hop[active]
        level[active] += level[above]
        hop[active] = hop[above]
        active = active[hop[active] >= 0]
    return level


def _out_of_order(depth: Int, end: Int) -> Bool:
    """Items that end before one of their row that began before them."""
    order = np.argsort(depth, kind="stable")
    row, ends = depth[order], end[order]
    wrong = np.zeros(len(depth), bool)
    wrong[order[1:]] = (row[1:] == row[:-1]) & (ends[1:] < ends[:-1])
    return wrong


def _groups_with(wanted: Bool, start: Int, end: Int) -> list[tuple[int, int]]:
    """First and last (exclusive) item of each stretch of overlapping items with a wanted one."""
    reach = np.maximum.accumulate(end)
    first = np.flatnonzero(np.concatenate([[True], start[1:] >= reach[:-1]]))
    last = np.append(first[1:], len(start))
    holding = np.unique(np.searchsorted(first, np.flatnonzero(wanted), side="right") - 1)
    return list(zip(first[holding].tolist(), last[holding].tolist(), strict=True))


def _first_fit(start: list[int], end: list[int]) -> list[int]:
    """Rows of some items: of each the first free one below the innermost item that holds it."""
    over: list[int] = []  # end of the last item of each row
    depth: list[int] = []
    for begin, stop in zip(start, end, strict=True):
        row = len(over)
        while row > 0 and (over[row - 1] < stop or over[row - 1] <= begin):
            row -= 1
        while row < len(over) and not _free(over[row], begin, stop):
            row += 1
        over[row : row + 1] = [stop]
        depth.append(row)
    return depth


def _free(over: int, begin: int, stop: int) -> bool:
    return over <= begin or (over - begin <= ROUNDING_NS and stop >= over)
