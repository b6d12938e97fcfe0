"""Finds ranks that need longer than the others, all the time, and what for."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_hookview.history.parts import GC, WAITING, Parts, mean, median, parts_of
from tb_hookview.history.rows import Floats, Ints, RankRows
from tb_hookview.schema.history import SlowRank

_FEWEST_STEPS = 10
"""Steps of a window."""
_MOST_WINDOWS = 20
_FEWEST_WINDOWS = 3
_SHARE = 0.05
"""Of a step, that a rank must need longer to be named."""
_WINDOWS = 0.8
"""Share of the windows in which it must."""
_SPREADS = 4.0
"""Median deviations of the other ranks."""


def find_slow_ranks(ranks: list[RankRows]) -> list[SlowRank]:
    """Return what ranks need longer for, the worst first; nothing that noise alone could give."""
    if len(ranks) < 2 or any(rows.blocks != ranks[0].blocks for rows in ranks):
        return []
    shared = _shared_steps(ranks)
    count = min(_MOST_WINDOWS, len(shared) // _FEWEST_STEPS)
    if count < _FEWEST_WINDOWS:
        return []
    windows = np.array_split(shared, count)
    cut = [parts_of(rows, by_block=True) for rows in ranks]
    values = np.array(
        [_by_window(rows, parts, windows) for rows, parts in zip(ranks, cut, strict=True)]
    )
    step_us = float(np.median([median(rows.of("duration_us")[rows.measured]) for rows in ranks]))
    found = [
        row
        for number, rows in enumerate(ranks)
        for row in _of_rank(number, rows.rank, cut[0], values, _SHARE * step_us)
    ]
    found.sort(key=lambda row: -row.excess_us)
    return [replace(row, id=number) for number, row in enumerate(found)]


def _shared_steps(ranks: list[RankRows]) -> Ints:
    shared = ranks[0].step[ranks[0].measured]
    for rows in ranks[1:]:
        shared = np.intersect1d(shared, rows.step[rows.measured])
    return shared


def _by_window(rows: RankRows, parts: Parts, windows: list[Ints]) -> Floats:
    """Return windows by parts: medians, and means of garbage collections."""
    typical = []
    for steps in windows:
        values = parts.values[np.searchsorted(rows.step, steps)]
        row = median(values, 0)
        row[-1] = mean(values[:, -1])
        typical.append(row)
    return np.array(typical)


def _of_rank(
    number: int, rank: int, parts: Parts, values: Floats, least_us: float
) -> list[SlowRank]:
    others = np.delete(values, number, axis=0)
    centre = median(others, 0)
    excess = values[number] - centre
    spread = median(np.abs(median(others, 1) - median(median(others, 1), 0)), 0)
    rows = []
    for at, part in enumerate(parts.names):
        series = excess[:, at][~np.isnan(excess[:, at])]
        if part.name == WAITING or len(series) < _FEWEST_WINDOWS:
            continue
        typical = float(np.median(series))
        more = int((series > least_us / 2).sum())
        enough = typical >= least_us and typical >= _SPREADS * float(np.nan_to_num(spread[at]))
        if enough and more >= _WINDOWS * len(series):
            rows.append(
                SlowRank(
                    id=0,
                    rank=rank,
                    part=part.name,
                    block=part.block,
                    excess_us=typical,
                    windows=more,
                    of_windows=len(series),
                )
            )
    if any(row.part == GC for row in rows):  # its time is in the parts in which it happened too
        most = max(row.excess_us for row in rows if row.part == GC)
        rows = [row for row in rows if row.part in (GC, "data") or row.excess_us > 2 * most]
    return rows
