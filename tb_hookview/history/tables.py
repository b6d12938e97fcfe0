"""A watched training run as tables, for data frames and SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tb_hookview import schema
from tb_hookview.history.answer import history_of
from tb_hookview.history.rows import STATE_NAMES, RankRows, WatchedRun, finite, read_run
from tb_hookview.step_log import DURATIONS
from tb_hookview.tables.table import Table

if TYPE_CHECKING:
    from tb_hookview.sql import Result

TABLES: Mapping[str, type[msgspec.Struct]] = {
    "watched_ranks": schema.WatchedRank,
    "watched_steps": schema.WatchedStep,
    "watched_blocks": schema.WatchedBlock,
    "watched_recordings": schema.WatchedRecording,
    "watched_slow_steps": schema.SlowSteps,
    "watched_slow_ranks": schema.SlowRank,
}
"""Type of the rows of each table."""


def query_watched(folder: str, query: str) -> Result:
    """Answer a query on the tables of the watched training run in a folder.

    Raises:
        TraceError: no steps of one are there, or they cannot be read.
        UsageError: as `sql.run`.
    """
    from tb_hookview.sql import run, sources_of

    return run(query, sources_of(tables_of(read_run(folder))))


def tables_of(run: WatchedRun) -> dict[str, Table[Any]]:
    """Return all tables by name.

    Raises:
        TraceError: no step of the training is whole.
    """
    said = history_of(run)
    rows: dict[str, list[Any]] = {
        "watched_ranks": said.ranks,
        "watched_steps": list(_steps(run.ranks)),
        "watched_blocks": list(_blocks(run.ranks)),
        "watched_recordings": said.recordings,
        "watched_slow_steps": said.slow_steps,
        "watched_slow_ranks": said.slow_ranks,
    }
    return {name: Table(kind, rows[name], name) for name, kind in TABLES.items()}


def _steps(ranks: list[RankRows]) -> Iterator[schema.WatchedStep]:
    count = 0
    for number, rows in enumerate(ranks):
        for at, step in enumerate(rows.step.tolist()):
            durations = dict(zip(DURATIONS[1:], map(finite, rows.durations[at, 1:]), strict=True))
            yield schema.WatchedStep(
                id=count,
                rank_id=number,
                rank=rows.rank,
                step=step,
                time_s=float(rows.time[at]),
                gc_count=int(rows.gc_count[at]),
                recording=STATE_NAMES[rows.state[at]],
                duration_us=float(rows.durations[at, 0]),
                **durations,
            )
            count += 1


def _blocks(ranks: list[RankRows]) -> Iterator[schema.WatchedBlock]:
    count = 0
    for number, rows in enumerate(ranks):
        for at, step in enumerate(rows.step.tolist()):
            for place, block in enumerate(rows.blocks):
                yield schema.WatchedBlock(
                    id=count,
                    rank_id=number,
                    rank=rows.rank,
                    step=step,
                    block=block,
                    forward_us=finite(rows.forward[at, place]),
                    backward_us=finite(rows.backward[at, place]),
                )
                count += 1
