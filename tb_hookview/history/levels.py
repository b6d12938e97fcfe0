"""Cuts a training where the length of its steps changes and stays so."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tb_hookview.history.rows import Floats, Ints

CHANGE = 1.2
"""Times by which a step is longer or shorter, to be on another level."""
LEAST = 30
"""Steps of a level."""
_WINDOW = 10
"""Steps whose median is one point."""
_MOST_POINTS = 300
_FILTER = 5
"""Points of which the median is taken: a level is not what fewer than half of them show."""
_NOISE = 0.01
"""Least noise of a point, as a share of the step."""
_PENALTY = 5.0
"""What a cut has to explain, in variances of a point and logarithms of their number."""


class Level(NamedTuple):
    """Steps of about one length, by their places."""

    start: int
    end: int
    median: float


def find_levels(durations: Floats) -> list[Level]:
    """Return the levels of a training: each is longer or shorter by a fifth than the one before.

    Args:
        durations: of its steps, in their order.
    """
    if len(durations) < 2 * LEAST:
        return [_level(durations, 0, len(durations))]
    size = max(_WINDOW, -(-len(durations) // _MOST_POINTS))
    edges = np.append(np.arange(0, len(durations) - size + 1, size), len(durations))
    points = np.array([np.median(durations[a:b]) for a, b in pairwise(edges.tolist())])
    smooth = _filtered(np.log(np.maximum(points, 1e-3)))
    cuts = edges[_cut(smooth, max(3, -(-LEAST // size)))].tolist()
    cuts = _merged(durations, cuts)
    return [_level(durations, a, b) for a, b in pairwise(_refined(durations, cuts, 3 * size))]


def _level(durations: Floats, start: int, end: int) -> Level:
    return Level(start, end, float(np.median(durations[start:end])) if end > start else 0.0)


def _filtered(points: Floats) -> Floats:
    """Return the running median: what lasts for a moment is no level."""
    around = np.pad(points, _FILTER // 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(around, _FILTER)
    return np.asarray(np.median(windows, axis=1))


def _cut(points: Floats, least: int) -> Ints:
    """Return the edges of the parts that explain the points best: constants, a penalty for each.

    Optimal partitioning, over all last cuts of each beginning (Jackson et al. 2005).
    """
    count = len(points)
    noise = float(np.median(np.abs(np.diff(points)))) * 1.4826 / np.sqrt(2)
    penalty = _PENALTY * max(noise, _NOISE) ** 2 * np.log(count)
    sums = np.append(0.0, np.cumsum(points))
    squares = np.append(0.0, np.cumsum(points**2))
    best = np.full(count + 1, np.inf)
    before = np.zeros(count + 1, np.int64)
    best[0] = 0.0
    for end in range(least, count + 1):
        start = np.arange(end - least + 1)
        length = end - start
        cost = squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / length
        total = best[start] + cost + penalty
        before[end] = int(np.argmin(total))
        best[end] = total[before[end]]
    edges = [count]
    while edges[-1] > 0:
        edges.append(int(before[edges[-1]]))
    return np.array(edges[::-1])


def _merged(durations: Floats, cuts: list[int]) -> list[int]:
    """Return the cuts without those on both sides of which steps are about as long."""
    while len(cuts) > 2:
        medians = [np.median(durations[a:b]) for a, b in pairwise(cuts)]
        change = np.abs(np.diff(np.log(np.maximum(medians, 1e-3))))
        smallest = int(np.argmin(change))
        if change[smallest] >= np.log(CHANGE):
            break
        del cuts[smallest + 1]
    return cuts


def _refined(durations: Floats, cuts: list[int], reach: int) -> list[int]:
    """Return the cuts moved to the step at which the length changes."""
    moved = [cuts[0]]
    for before, cut, after in zip(cuts, cuts[1:], cuts[2:], strict=False):
        low, high = max(moved[-1] + 1, cut - reach), min(after - 1, cut + reach)
        first, second = np.median(durations[before:cut]), np.median(durations[cut:after])
        near = durations[low:high]
        wrong = np.append(0.0, np.cumsum(np.abs(near - first) - np.abs(near - second)))
        moved.append(low + int(np.argmin(wrong)))
    return [*moved, cuts[-1]]
