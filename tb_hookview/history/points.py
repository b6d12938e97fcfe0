"""Cuts a training into as many parts as a picture has room for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tb_hookview.history.parts import Part, mean, median, parts_of
from tb_hookview.history.rows import Floats, RankRows
from tb_hookview.schema.history import HistoryPoints

MOST_POINTS = 300
_MOST_LINES = 16


def points_of(ranks: list[RankRows], first: int, last: int) -> HistoryPoints:
    """Return the training from one step to another, in at most `MOST_POINTS` parts."""
    count = max(1, min(MOST_POINTS, last - first + 1))
    edges = np.unique(np.linspace(first, last + 1, count + 1).round().astype(np.int64))
    cut = [_Cut(rows, edges) for rows in ranks]
    durations = [each.split(each.rows.of("duration_us")) for each in cut]
    together = [np.concatenate(each) for each in zip(*durations, strict=True)]
    names = list(dict.fromkeys(part.name for rows in ranks for part in _names(rows)))
    return HistoryPoints(
        first=edges[:-1].tolist(),
        last=(edges[1:] - 1).tolist(),
        min_us=[_number(np.min, each) for each in together],
        median_us=[_number(np.median, each) for each in together],
        max_us=[_number(np.max, each) for each in together],
        ranks=_lines(ranks, durations),
        parts={name: _mean_of([each.part(name) for each in cut]) for name in names},
        forward=_blocks(cut, "forward"),
        backward=_blocks(cut, "backward"),
    )


def _names(rows: RankRows) -> list[Part]:
    return parts_of(rows, by_block=False).names


class _Cut:
    """The measured steps of one rank, in parts."""

    def __init__(self, rows: RankRows, edges: object) -> None:
        self.rows = rows
        self._measured = rows.measured
        self._at = np.searchsorted(rows.step[self._measured], edges)  # type: ignore[call-overload]
        self._parts = parts_of(rows, by_block=False)

    def split(self, values: Floats) -> list[Floats]:
        """Return the values of the measured steps, in parts."""
        return np.split(values[self._measured], self._at[1:-1])

    def medians(self, values: Floats) -> Floats:
        """Return the median of each part."""
        return np.array([median(each) if len(each) else np.nan for each in self.split(values)])

    def part(self, name: str) -> Floats:
        """Return a part of the steps: means for garbage collections, which are rare."""
        number = [part.name for part in self._parts.names].index(name)
        values = self._parts.values[:, number]
        if number == len(self._parts.names) - 1:
            return np.array([mean(each) if len(each) else np.nan for each in self.split(values)])
        return self.medians(values)


def _blocks(cut: list[_Cut], phase: str) -> dict[str, list[float | None]]:
    names = list(dict.fromkeys(block for each in cut for block in each.rows.blocks))
    return {
        name: _mean_of(
            [
                each.medians(getattr(each.rows, phase)[:, each.rows.blocks.index(name)])
                for each in cut
                if name in each.rows.blocks
            ]
        )
        for name in names
    }


def _mean_of(series: list[Floats]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in mean(np.array(series), 0)]


def _number(function: Callable[[Floats], object], values: Floats) -> float | None:
    return float(function(values)) if len(values) else None  # type: ignore[arg-type]


def _lines(ranks: list[RankRows], durations: list[list[Floats]]) -> dict[str, list[float | None]]:
    series = np.array([[np.median(e) if len(e) else np.nan for e in each] for each in durations])
    if len(ranks) > _MOST_LINES:
        typical = median(series, 1)
        chosen = sorted(np.argsort(-np.abs(typical - median(typical)), kind="stable")[:_MOST_LINES])
    else:
        chosen = list(range(len(ranks)))
    return {
        str(ranks[number].rank): [None if np.isnan(v) else float(v) for v in series[number]]
        for number in chosen
    }
