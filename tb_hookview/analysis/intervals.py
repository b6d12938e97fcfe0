"""Algebra of sets of time. A set is an array of shape (n, 2): start and end, nanoseconds.

A *normal* set is sorted, its intervals disjoint and not empty; `normal` makes one of any array,
all else takes and returns normal sets.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.trace.columns import Int

EMPTY: Int = np.zeros((0, 2), np.int64)


def of(start: Int, end: Int) -> Int:
    """Normal set of the intervals [start, end)."""
    return _joined(start, end)


def normal(intervals: Int) -> Int:
    """Union of any intervals, sorted and disjoint; touching ones are joined."""
    return _joined(intervals[:, 0], intervals[:, 1])


def _joined(start: Int, end: Int) -> Int:
    some = end > start
    if not some.all():
        start, end = start[some], end[some]
    if not len(start):
        return EMPTY
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start)  # of those that start together, the furthest end counts
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    opens = np.flatnonzero(start[1:] > reach[:-1]) + 1
    first, last = np.append(0, opens), np.append(opens - 1, len(start) - 1)
    return np.stack([start[first], reach[last]], axis=1)


def length(intervals: Int) -> int:
    """Total time covered, nanoseconds."""
    return int((intervals[:, 1] - intervals[:, 0]).sum())


def intersect(left: Int, right: Int) -> Int:
    """Time in both sets."""
    return _where_depth(left, right, 2)


def subtract(left: Int, right: Int) -> Int:
    """Time in `left` and not in `right`."""
    if not len(left) or not len(right):
        return left
    hull = np.array([[left[0, 0], left[-1, 1]]], np.int64)
    return intersect(left, complement(right, hull))


def complement(intervals: Int, within: Int) -> Int:
    """Time of the single interval `within` (shape (1, 2)) that the set does not cover."""
    inside = intersect(intervals, within)
    starts = np.concatenate([within[:, 0], inside[:, 1]])
    ends = np.concatenate([inside[:, 0], within[:, 1]])
    return normal(np.stack([starts, ends], axis=1))


def lengths_within(intervals: Int, windows: Int) -> Int:
    """Time covered inside each window; windows of shape (w, 2) may overlap. Shape (w,)."""
    return _covered_until(intervals, windows[:, 1]) - _covered_until(intervals, windows[:, 0])


def _covered_until(intervals: Int, time: Int) -> Int:
    if not len(intervals):
        return np.zeros(len(time), np.int64)
    sizes = intervals[:, 1] - intervals[:, 0]
    before = np.concatenate([[0], np.cumsum(sizes)])
    place = np.searchsorted(intervals[:, 0], time, side="right")
    last = np.maximum(place - 1, 0)
    partial = np.clip(time - intervals[last, 0], 0, sizes[last])
    return np.where(place > 0, before[last] + partial, 0)


def _where_depth(left: Int, right: Int, wanted: int) -> Int:
    if not len(left) or not len(right):
        return EMPTY
    times = np.concatenate([left[:, 0], right[:, 0], left[:, 1], right[:, 1]])
    starts = len(left) + len(right)
    change = np.repeat([1, -1], [starts, starts])
    order = np.argsort(times, kind="stable")
    depth = np.cumsum(change[order])
    inside = depth[:-1] >= wanted
    bounds = np.stack([times[order][:-1][inside], times[order][1:][inside]], axis=1)
    return normal(bounds)
