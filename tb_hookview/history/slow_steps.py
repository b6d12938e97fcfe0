"""Finds the steps that were slow, and what took longer in them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tb_hookview.history.parts import GC, WAITING, Parts, mean, parts_of, typical
from tb_hookview.history.rows import Floats, Ints, RankRows
from tb_hookview.schema.history import Cause, SlowSteps, WatchedRecording

_FACTOR = 1.3
_SPREADS = 5 * 1.4826
_WINDOW = 101
_FEWEST = 10
_GAP = 5
"""Steps between slow ones of the same row at most."""
_SHARE = 0.15
"""Of the excess, for a cause to be named."""
_MOST_CAUSES = 5
_MOST_ROWS = 100


class Found(NamedTuple):
    """The slow steps of a training."""

    rows: list[SlowSteps]
    total: int
    excess_us: float
    """Of all, those that the rows leave out as well."""


class _Slow(NamedTuple):
    steps: Ints
    durations: Floats
    medians: Floats


def find_slow_steps(ranks: list[RankRows], recordings: list[WatchedRecording]) -> Found:
    """Return the slow steps, the most expensive first."""
    slow = _slow(*_slowest_rank(ranks))
    if not len(slow.steps):
        return Found([], 0, 0.0)
    ends = [0, *(np.flatnonzero(np.diff(slow.steps) > _GAP + 1) + 1), len(slow.steps)]
    groups = [
        _Slow(slow.steps[a:b], slow.durations[a:b], slow.medians[a:b]) for a, b in pairwise(ends)
    ]
    groups.sort(key=lambda each: -float((each.durations - each.medians).sum()))
    parts = [(parts_of(rows, by_block=True), parts_of(rows, by_block=False)) for rows in ranks]
    kept = [each for each in recordings if each.kept]
    rows = [
        _row(number, group, slow.steps, ranks, parts, kept)
        for number, group in enumerate(groups[:_MOST_ROWS])
    ]
    return Found(rows, len(slow.steps), float((slow.durations - slow.medians).sum()))


def _slowest_rank(ranks: list[RankRows]) -> tuple[Ints, Floats]:
    """Return each step that was measured, and its duration on the slowest rank."""
    steps = np.concatenate([rows.step[rows.measured] for rows in ranks])
    durations = np.concatenate([rows.of("duration_us")[rows.measured] for rows in ranks])
    unique, where = np.unique(steps, return_inverse=True)
    slowest = np.zeros(len(unique))
    np.maximum.at(slowest, where, durations)
    return unique, slowest


def _slow(steps: Ints, durations: Floats) -> _Slow:
    latest: deque[float] = deque()
    ordered: list[float] = []
    found: list[tuple[int, float, float]] = []
    for step, duration in zip(steps.tolist(), durations.tolist(), strict=True):
        median = ordered[len(ordered) // 2] if ordered else 0.0
        if len(ordered) >= _FEWEST and duration > _FACTOR * median:
            spread = float(np.median(np.abs(np.array(ordered) - median)))
            if duration > median + _SPREADS * spread:
                found.append((step, duration, median))
                continue
        latest.append(duration)
        insort(ordered, duration)
        if len(latest) > _WINDOW:
            del ordered[bisect_left(ordered, latest.popleft())]
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    return _Slow(np.array(columns[0], np.int64), *(np.array(c, np.float64) for c in columns[1:]))


def _row(
    number: int,
    group: _Slow,
    all_slow: Ints,
    ranks: list[RankRows],
    parts: list[tuple[Parts, Parts]],
    recordings: list[WatchedRecording],
) -> SlowSteps:
    step_us, median_us = float(np.median(group.durations)), float(np.median(group.medians))
    first, last = int(group.steps[0]), int(group.steps[-1])
    causes = [
        cause
        for rows, (by_block, by_phase) in zip(ranks, parts, strict=True)
        for cause in _causes(
            rows,
            by_block if rows.has_blocks[np.isin(rows.step, group.steps)].any() else by_phase,
            group.steps,
            all_slow,
        )
    ]
    excess_us = float((group.durations - group.medians).sum())
    per_step = excess_us / len(group.steps)
    enough = [each for each in causes if each.excess_us >= _SHARE * per_step]
    enough.sort(key=lambda each: -each.excess_us)
    # What a collection takes is in the parts in which it happened as well.
    collections = {each.rank: each.excess_us for each in enough if each.part == GC}
    enough = [
        each
        for each in enough
        if each.part == GC or each.excess_us > 2 * collections.get(each.rank, 0.0)
    ]
    return SlowSteps(
        id=number,
        first=first,
        last=last,
        steps=len(group.steps),
        step_us=step_us,
        median_us=median_us,
        excess_us=excess_us,
        causes=enough[:_MOST_CAUSES],
        recording_id=_nearest(first, last, enough[0].rank if enough else None, recordings),
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


def _causes(rows: RankRows, parts: Parts, slow: Ints, all_slow: Ints) -> list[Cause]:
    normal = np.flatnonzero(rows.measured & (rows.step < slow[0]) & ~np.isin(rows.step, all_slow))[
        -_WINDOW:
    ]
    excess = mean(parts.values[np.isin(rows.step, slow)], 0) - typical(parts, normal)
    return [
        Cause(rank=rows.rank, part=part.name, block=part.block, excess_us=float(value))
        for part, value in zip(parts.names, excess, strict=True)
        if value > 0 and part.name != WAITING
    ]
