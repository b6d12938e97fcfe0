"""What a watched training run says, as the type `History`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.addresses.text import shown
from tb_hookview.errors import TraceError
from tb_hookview.history.parts import GC, WAITING, Part, Parts, mean, median, parts_of, typical
from tb_hookview.history.rows import Floats, Ints, RankRows, WatchedRun, finite, read_run
from tb_hookview.history.slow_steps import find_slow_steps
from tb_hookview.step_log import DURATIONS

# Cuts a training into as many parts as a picture has room for.


MOST_POINTS = 300
_MOST_LINES = 16


def points_of(ranks: list[RankRows], first: int, last: int) -> schema.HistoryPoints:
    """Return the training from one step to another, in at most `MOST_POINTS` parts."""
    count = max(1, min(MOST_POINTS, last - first + 1))
    edges = np.unique(np.linspace(first, last + 1, count + 1).round().astype(np.int64))
    cut = [_Cut(rows, edges) for rows in ranks]
    durations = [each.split(each.rows.of("duration_us")) for each in cut]
    together = [np.concatenate(each) for each in zip(*durations, strict=True)]
    names = list(dict.fromkeys(part.name for rows in ranks for part in _names(rows)))
    return schema.HistoryPoints(
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
        return np.array([median(each) for each in self.split(values)])

    def part(self, name: str) -> Floats:
        """Return a part of the steps: means for garbage collections, which are rare."""
        number = [part.name for part in self._parts.names].index(name)
        values = self._parts.values[:, number]
        if number == len(self._parts.names) - 1:
            return np.array([mean(each) for each in self.split(values)])
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
    return [finite(value) for value in mean(np.array(series), 0)]


def _number(function: Callable[[Floats], object], values: Floats) -> float | None:
    return float(function(values)) if len(values) else None  # type: ignore[arg-type]


def _lines(ranks: list[RankRows], durations: list[list[Floats]]) -> dict[str, list[float | None]]:
    series = np.array([[median(values) for values in each] for each in durations])
    if len(ranks) > _MOST_LINES:
        medians = median(series, 1)
        chosen = sorted(np.argsort(-np.abs(medians - median(medians)), kind="stable")[:_MOST_LINES])
    else:
        chosen = list(range(len(ranks)))
    return {
        str(ranks[number].rank): [finite(value) for value in series[number]] for number in chosen
    }


# Finds ranks that need longer than the others, all the time, and what for.


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


def find_slow_ranks(ranks: list[RankRows]) -> list[schema.SlowRank]:
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
    return np.array([typical(parts.values[np.searchsorted(rows.step, s)]) for s in windows])


def _of_rank(
    number: int, rank: int, parts: Parts, values: Floats, least_us: float
) -> list[schema.SlowRank]:
    others = np.delete(values, number, axis=0)
    centre = median(others, 0)
    excess = values[number] - centre
    spread = median(np.abs(median(others, 1) - median(median(others, 1), 0)), 0)
    rows = []
    for at, part in enumerate(parts.names):
        series = excess[:, at][~np.isnan(excess[:, at])]
        if part.name == WAITING or len(series) < _FEWEST_WINDOWS:
            continue
        more_us = float(np.median(series))
        more = int((series > least_us / 2).sum())
        enough = more_us >= least_us and more_us >= _SPREADS * float(np.nan_to_num(spread[at]))
        if enough and more >= _WINDOWS * len(series):
            rows.append(
                schema.SlowRank(
                    id=0,
                    rank=rank,
                    part=part.name,
                    block=part.block,
                    excess_us=more_us,
                    windows=more,
                    of_windows=len(series),
                )
            )
    if any(row.part == GC for row in rows):  # its time is in the parts in which it happened too
        most = max(row.excess_us for row in rows if row.part == GC)
        rows = [row for row in rows if row.part in (GC, "data") or row.excess_us > 2 * most]
    return rows


_MOST_MISSING = 1024


def read_history(folder: str) -> schema.History:
    """Return what the watched training run in a folder says.

    Raises:
        TraceError: no steps of one are there, or they cannot be read.
    """
    return history_of(read_run(folder))


def history_of(run: WatchedRun) -> schema.History:
    """Return what a watched training run says.

    Raises:
        TraceError: no step of it is whole.
    """
    ranks = [rows for rows in run.ranks if len(rows.step)]
    if not ranks:
        raise TraceError(shown(run.path), "no step of a watched training run is whole in it")
    first = min(int(rows.step[0]) for rows in ranks)
    last = max(int(rows.step[-1]) for rows in ranks)
    world = max(rows.world_size for rows in ranks)
    present = {rows.rank for rows in ranks}
    summaries = [_rank(number, rows) for number, rows in enumerate(ranks)]
    known = [each.step_us for each in summaries if each.step_us is not None]
    recordings = recordings_of(run)
    slow = find_slow_steps(ranks, recordings)
    collections = [
        float(rows.gc_count[rows.measured].mean()) for rows in ranks if any(rows.measured)
    ]
    return schema.History(
        path=shown(run.path),
        world_size=world,
        missing_ranks=[r for r in range(min(world, _MOST_MISSING)) if r not in present],
        earlier=run.earlier,
        first_step=first,
        last_step=last,
        step_us=float(np.median(known)) if known else None,
        gc_per_step=float(np.mean(collections)) if collections else None,
        ranks=summaries,
        points=points_of(ranks, first, last),
        recordings=recordings,
        slow_steps=slow.rows,
        slow_steps_total=slow.total,
        slow_excess_us=slow.excess_us,
        slow_ranks=find_slow_ranks(ranks),
    )


def _rank(number: int, rows: RankRows) -> schema.WatchedRank:
    values = {
        "step_us" if name == "duration_us" else name: finite(value)
        for name, value in zip(DURATIONS, typical(rows.durations[rows.measured]), strict=True)
    }
    return schema.WatchedRank(
        id=number,
        rank=rows.rank,
        worker=rows.worker,
        steps=len(rows.step),
        measured_steps=int(rows.measured.sum()),
        phase_steps=int(rows.has_phases.sum()),
        block_steps=int(rows.has_blocks.sum()),
        lost_lines=rows.lost_lines,
        missing_steps=int(rows.step[-1] - rows.step[0]) + 1 - len(rows.step),
        blocks=rows.blocks,
        memory_bytes=rows.memory_bytes,
        **values,
    )


def recordings_of(run: WatchedRun) -> list[schema.WatchedRecording]:
    """Return the recordings of all ranks, in their order."""
    found = [
        (line.start, rows.rank, rows.worker, line) for rows in run.ranks for line in rows.recordings
    ]
    return [
        schema.WatchedRecording(
            id=number,
            rank=rank,
            file=line.recorded or "",
            worker=worker,
            kept=line.recorded in run.files,
            start=start,
            steps=line.steps,
            reason=line.reason,
            asked_by=line.asked_by,
            ratio=line.ratio,
        )
        for number, (start, rank, worker, line) in enumerate(
            sorted(found, key=lambda each: each[:3])
        )
    ]
