"""Algebra of sets of time.

A set is an array of shape (n, 2): start and end, nanoseconds.

A *normal* set is sorted, its intervals disjoint and not empty: a `TimeSet`. `normal` makes one of
any intervals, all else takes and returns normal sets.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.types import Bool, Intervals, Nanoseconds, TimeSet

EMPTY: TimeSet = np.zeros((0, 2), np.int64)
_LEFT, _RIGHT = 1, 2
_TINY = 12
"""Intervals that are joined one by one: the calls of numpy take longer."""


def of(start: Nanoseconds, end: Nanoseconds) -> TimeSet:
    """Normal set of the intervals [start, end)."""
    return _joined(start, end)


def normal(intervals: Intervals) -> TimeSet:
    """Union of any intervals, sorted and disjoint; touching ones are joined."""
    return _joined(intervals[:, 0], intervals[:, 1])


def _joined(start: Nanoseconds, end: Nanoseconds) -> TimeSet:
    if len(start) <= _TINY:
        return _joined_one_by_one(sorted(zip(start.tolist(), end.tolist(), strict=True)))
    some = end > start
    if not some.all():
        start, end = start[some], end[some]
    if not len(start):
        return EMPTY
    if (start[1:] < start[:-1]).any():
        # Of those that start together the furthest end counts, in whatever order. Stable sorting is
        # faster where runs of them are in order already.
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    closes = (start[1:] > reach[:-1]).nonzero()[0]
    joined = np.empty((len(closes) + 1, 2), np.int64)
    joined[0, 0], joined[1:, 0] = start[0], start[1:][closes]
    joined[:-1, 1], joined[-1, 1] = reach[closes], reach[-1]
    return joined


def _joined_one_by_one(ordered: list[tuple[int, int]]) -> TimeSet:
    joined: list[list[int]] = []
    for start, end in ordered:
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        elif end > start:
            joined.append([start, end])
    return np.array(joined, np.int64) if joined else EMPTY


def length(intervals: TimeSet) -> int:
    """Total time covered, nanoseconds."""
    return int((intervals[:, 1] - intervals[:, 0]).sum())


def intersect(left: TimeSet, right: TimeSet) -> TimeSet:
    """Time in both sets."""
    return _where(left, right, _LEFT + _RIGHT)


def subtract(left: TimeSet, right: TimeSet) -> TimeSet:
    """Time in `left` and not in `right`."""
    return _where(left, right, _LEFT) if len(left) and len(right) else left


def lengths_within(intervals: TimeSet, windows: Intervals) -> Nanoseconds:
    """Time covered inside each window; windows of shape (w, 2) may overlap. Shape (w,)."""
    if not len(intervals):
        return np.zeros(len(windows), np.int64)
    start, time = intervals[:, 0], windows.ravel()
    sizes = intervals[:, 1] - start
    last = np.maximum(start.searchsorted(time, side="right") - 1, 0)
    size, since = sizes[last], np.maximum(time - start[last], 0)
    until = sizes.cumsum()[last] - np.maximum(size - since, 0)
    return np.asarray(until[1::2] - until[::2])


def between(edges: Nanoseconds) -> Intervals:
    """Intervals from each of some moments to the next; shape (edges - 1, 2)."""
    return np.stack([edges[:-1], edges[1:]], axis=1)


def cut(intervals: TimeSet, moments: Nanoseconds) -> Intervals:
    """Intervals in parts that end where a moment lies within; parts touch, so it is no time set.

    Args:
        intervals: what is cut.
        moments: ascending, without repeats.
    """
    if not len(intervals):
        return intervals
    place = np.searchsorted(intervals[:, 0], moments, side="right") - 1
    inside = moments[
        (place >= 0) & (intervals[:, 0][place] < moments) & (moments < intervals[:, 1][place])
    ]
    return np.stack([np.sort(np.append(times, inside)) for times in intervals.T], axis=1)


def contains(intervals: TimeSet, time: Nanoseconds) -> Bool:
    """Whether each of some moments is within an interval, its start counted."""
    if not len(intervals):
        return np.zeros(len(time), bool)
    place = np.searchsorted(intervals[:, 0], time, side="right") - 1
    return np.asarray((place >= 0) & (time < intervals[:, 1][place]))


def _where(left: TimeSet, right: TimeSet, wanted: int) -> TimeSet:
    """Time in exactly the wanted sets, given as the sum of `_LEFT` and `_RIGHT`."""
    if not len(left) or not len(right):
        return EMPTY
    times = np.concatenate([left[:, 0], right[:, 0], left[:, 1], right[:, 1]])
    sizes = [len(left), len(right)] * 2
    change = np.repeat([_LEFT, _RIGHT, -_LEFT, -_RIGHT], sizes)
    order = np.argsort(times, kind="stable")
    times, inside = times[order], change[order].cumsum()[:-1] == wanted
    return _joined(times[:-1][inside], times[1:][inside])
