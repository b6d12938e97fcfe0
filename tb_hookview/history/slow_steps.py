"""Finds the steps that were slow, and what took longer in them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tb_hookview.history.parts import GC, WAITING, Parts, mean, median, parts_of, typical
from tb_hookview.history.rows import Floats, Ints, RankRows
from tb_hookview.schema.history import Cause, SlowSteps, WatchedRecording

# Cuts a training where the length of its steps changes and stays so.


CHANGE = 1.2
"""Times by which a step is longer or shorter, to be on another level."""
LEAST = 30
"""Steps of a level."""
_LEVEL_STEPS = 10
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
    size = max(_LEVEL_STEPS, -(-len(durations) // _MOST_POINTS))
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


_FACTOR = 1.3
_SPREADS = 5 * 1.4826
_WINDOW = 101
_FEWEST = 10
_USUAL = 201
"""Latest steps on a level that is not raised, of which the median is the usual length."""
_GAP = 5
"""Steps between slow ones of the same row at most."""
_SHARE = 0.15
"""Of the excess, for a cause to be named."""
_MORE = 1.25
"""Times what a part takes longer where all parts do alike, as on a busy machine."""
_MOSTLY = 0.8
"""Of the excess, that names a part whatever it took before."""
_MOST_CAUSES = 5
_MOST_ROWS = 100


class Found(NamedTuple):
    """The slow steps of a training."""

    rows: list[SlowSteps]
    total: int
    excess_us: float
    """Of all, those that the rows leave out as well."""


class _Slow(NamedTuple):
    """Slow steps of one row."""

    steps: Ints
    durations: Floats
    usual_us: float
    """What they are compared with."""
    usual: Ints
    """The steps that this is the median of, and others around it that are not slow."""
    lasting: bool

    @property
    def excess_us(self) -> float:
        """Time beyond the usual, all of them together."""
        return float((self.durations - self.usual_us).sum())


def find_slow_steps(ranks: list[RankRows], recordings: list[WatchedRecording]) -> Found:
    """Return the slow steps, the most expensive first."""
    steps, durations = _slowest_rank(ranks)
    levels = find_levels(durations)
    spikes = [_spikes(steps, durations, level) for level in levels]
    slow = np.unique(
        np.concatenate([group.steps for each in spikes for group in each] or [steps[:0]])
    )
    groups = [*_lasting(steps, durations, levels, slow), *(g for each in spikes for g in each)]
    groups.sort(key=lambda group: -group.excess_us)
    parts = [(parts_of(rows, by_block=True), parts_of(rows, by_block=False)) for rows in ranks]
    kept = [each for each in recordings if each.kept]
    rows = [
        _row(number, group, ranks, parts, kept) for number, group in enumerate(groups[:_MOST_ROWS])
    ]
    lasting = [group.steps for group in groups if group.lasting]
    total = len(np.unique(np.concatenate([slow, *lasting])))
    return Found(rows, total, sum(group.excess_us for group in groups))


def _slowest_rank(ranks: list[RankRows]) -> tuple[Ints, Floats]:
    """Return each step that was measured, and its duration on the slowest rank."""
    steps = np.concatenate([rows.step[rows.measured] for rows in ranks])
    durations = np.concatenate([rows.of("duration_us")[rows.measured] for rows in ranks])
    unique, where = np.unique(steps, return_inverse=True)
    slowest = np.zeros(len(unique))
    np.maximum.at(slowest, where, durations)
    return unique, slowest


def _lasting(steps: Ints, durations: Floats, levels: list[Level], slow: Ints) -> Iterator[_Slow]:
    """Yield each rise above the usual length, with the steps until it is back or rises further."""
    usual, begun, high = np.arange(levels[0].end)[-_USUAL:], None, 0.0
    for level in [*levels[1:], Level(len(steps), len(steps), 0.0)]:
        usual_us = float(np.median(durations[usual])) if len(usual) else 0.0
        raised = level.median >= CHANGE * usual_us
        if begun is not None and (not raised or level.median >= CHANGE * high):
            there = slice(begun, level.start)
            known = steps[usual][~np.isin(steps[usual], slow)]
            yield _Slow(steps[there], durations[there], usual_us, known, lasting=True)
            begun = None
        if not raised:
            usual, high = np.append(usual, np.arange(level.start, level.end))[-_USUAL:], 0.0
        elif begun is None:
            begun, high = level.start, level.median


def _spikes(steps: Ints, durations: Floats, level: Level) -> list[_Slow]:
    """Return the slow steps among those of a level, few of which lie between those of a row."""
    steps, durations = steps[level.start : level.end], durations[level.start : level.end]
    at, medians = _beyond(durations)
    ends = [0, *(np.flatnonzero(np.diff(steps[at]) > _GAP + 1) + 1), len(at)]
    usual = np.delete(steps, at)
    return [
        _Slow(
            steps[at[a:b]],
            durations[at[a:b]],
            float(np.median(medians[a:b])),
            usual[usual < steps[at[a]]],
            lasting=False,
        )
        for a, b in pairwise(ends)
        if b > a
    ]


def _beyond(durations: Floats) -> tuple[Ints, Floats]:
    """Return the places of slow steps, and the running median that each is compared with."""
    latest: deque[float] = deque()
    ordered: list[float] = []
    found: list[tuple[int, float]] = []
    for at, duration in enumerate(durations.tolist()):
        median = ordered[len(ordered) // 2] if ordered else 0.0
        if len(ordered) >= _FEWEST and duration > _FACTOR * median:
            spread = float(np.median(np.abs(np.array(ordered) - median)))
            if duration > median + _SPREADS * spread:
                found.append((at, median))
                continue
        latest.append(duration)
        insort(ordered, duration)
        if len(latest) > _WINDOW:
            del ordered[bisect_left(ordered, latest.popleft())]
    columns = list(zip(*found, strict=True)) or [(), ()]
    return np.array(columns[0], np.int64), np.array(columns[1], np.float64)


def _row(
    number: int,
    group: _Slow,
    ranks: list[RankRows],
    parts: list[tuple[Parts, Parts]],
    recordings: list[WatchedRecording],
) -> SlowSteps:
    first, last = int(group.steps[0]), int(group.steps[-1])
    step_us = float(np.median(group.durations))
    causes = [
        cause
        for rows, (by_block, by_phase) in zip(ranks, parts, strict=True)
        for cause in _causes(
            rows,
            by_block if rows.has_blocks[np.isin(rows.step, group.steps)].any() else by_phase,
            group,
        )
    ]
    causes.sort(key=lambda each: -each.excess_us)
    # What a collection takes is in the parts in which it happened as well.
    collections = {each.rank: each.excess_us for each in causes if each.part == GC}
    causes = [
        each
        for each in causes
        if each.part == GC or each.excess_us > 2 * collections.get(each.rank, 0.0)
    ]
    return SlowSteps(
        id=number,
        first=first,
        last=last,
        lasting=group.lasting,
        steps=len(group.steps),
        step_us=step_us,
        median_us=group.usual_us,
        excess_us=group.excess_us,
        causes=causes[:_MOST_CAUSES],
        recording_id=_nearest(first, last, causes[0].rank if causes else None, recordings),
    )


def _nearest(
    first: int, last: int, rank: int | None, recordings: list[WatchedRecording]
) -> int | None:
    """Return the recording that is nearest to some steps, of this rank where there are several."""

    def distance(each: WatchedRecording) -> tuple[int, bool]:
        away = max(first - (each.start + each.steps - 1), each.start - last, 0)
        return away, each.rank != rank

    nearest = min(recordings, key=distance, default=None)
    return None if nearest is None else nearest.id


def _causes(rows: RankRows, parts: Parts, group: _Slow) -> Iterator[Cause]:
    """Yield the parts that took longer, and more so than the step as a whole."""
    usual = typical(parts.values[rows.measured & np.isin(rows.step, group.usual[-_WINDOW:])])
    slow = parts.values[np.isin(rows.step, group.steps)]
    excess = (median(slow, 0) if group.lasting else mean(slow, 0)) - usual
    per_step = group.excess_us / len(group.steps)
    for part, value, before in zip(parts.names, excess, usual, strict=True):
        alike = per_step * before / max(group.usual_us, 1e-9)
        enough = value >= _MOSTLY * per_step or value >= _MORE * alike
        if part.name != WAITING and value >= _SHARE * per_step and enough:
            yield Cause(rank=rows.rank, part=part.name, block=part.block, excess_us=float(value))
