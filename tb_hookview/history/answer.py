"""What a watched training run says, as the type `History`."""

from __future__ import annotations

import numpy as np

from tb_hookview.addresses.text import shown
from tb_hookview.errors import TraceError
from tb_hookview.history.parts import mean, median
from tb_hookview.history.points import points_of
from tb_hookview.history.rows import RankRows, WatchedRun, read_run
from tb_hookview.history.slow_ranks import find_slow_ranks
from tb_hookview.history.slow_steps import find_slow_steps
from tb_hookview.schema.history import History, WatchedRank, WatchedRecording
from tb_hookview.step_log import DURATIONS

_MOST_MISSING = 1024


def read_history(folder: str) -> History:
    """Return what the watched training run in a folder says.

    Raises:
        TraceError: no steps of one are there, or they cannot be read.
    """
    return history_of(read_run(folder))


def history_of(run: WatchedRun) -> History:
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
    return History(
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


def _rank(number: int, rows: RankRows) -> WatchedRank:
    chosen = rows.durations[rows.measured]
    typical = median(chosen, 0) if len(chosen) else np.full(len(DURATIONS), np.nan)
    if len(chosen):
        typical[-1] = mean(chosen[:, -1])
    values = {
        "step_us" if name == "duration_us" else name: None if np.isnan(value) else float(value)
        for name, value in zip(DURATIONS, typical, strict=True)
    }
    return WatchedRank(
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


def recordings_of(run: WatchedRun) -> list[WatchedRecording]:
    """Return the recordings of all ranks, in their order."""
    found = [
        (line.start, rows.rank, rows.worker, line) for rows in run.ranks for line in rows.recordings
    ]
    return [
        WatchedRecording(
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
