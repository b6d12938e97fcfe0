"""Answers about a run: its ranks, their steps, and the collectives between them."""

from __future__ import annotations

from typing import Any

from flask import Response
from isal import igzip

from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.export.merged import merge
from tb_hookview.ranks.overview import overview, step_matrix
from tb_hookview.ranks.result import TABLES
from tb_hookview.ranks.together import find_activities, rank_around, ranks_together
from tb_hookview.schema import CollectiveRanks, RankActivity, RunOverview, StepMatrix
from tb_hookview.schema.runs import ReadingProgress
from tb_hookview.server.answers import MOST_BYTES, as_text
from tb_hookview.server.served import Served
from tb_hookview.server.tables import rows_of

STEPS = 1_000_000
"""Largest number of a step."""
MERGED = "application/gzip"
"""Type of a trace of several ranks."""
COLLECTIVES = RANKS = 10**9
"""Largest id of a collective, largest number of a rank."""


def ranks(served: Served, *, run: str) -> RunOverview:
    """The ranks of a run, and who was late."""
    traces = served.traces_of(run)
    workers = {trace.file.address: as_text(name) for name, trace in traces.workers}
    return overview(served.run(traces).data, workers)


def steps(served: Served, *, run: str, quantity: list[str], offset: int) -> StepMatrix:
    """Quantities of steps by ranks, of as many steps as fit."""
    return step_matrix(served.run(served.traces_of(run)).data, quantity, offset)


def run_rows(served: Served, *, run: str, table: str, **asked: Any) -> Response:
    """Some rows of a table of a run.

    Raises:
        NotFoundError: there is none of that name.
    """
    traces = served.traces_of(run)
    if table not in TABLES:
        raise NotFoundError(f"no table {table[:100]!r} of a run; there are {', '.join(TABLES)}")
    return rows_of(served.run(traces).tables()[table], **asked)


def progress(served: Served, *, run: str) -> ReadingProgress:
    """How far the reading of a run is."""
    return served.runs.progress(served.traces_of(run))


def collective(served: Served, *, run: str, id: int, offset: int) -> CollectiveRanks:  # noqa: A002
    """One collective on some of its ranks, on the clock of the first."""
    return ranks_together(served.run(served.traces_of(run)), id, offset)


def collective_rank(served: Served, *, run: str, id: int, rank: int) -> RankActivity:  # noqa: A002
    """What one rank ran around a collective.

    Raises:
        NotFoundError: the run has no such rank.
    """
    traces = served.traces_of(run)
    report = served.run(traces)
    of_rank = next((each for each in report.data.ranks if each.rank == rank), None)
    if of_rank is None:
        raise NotFoundError(f"no rank {rank} in the run")
    found = served.traces.ask(
        traces.files[of_rank.path],
        lambda opened: opened.made_of_value("activities", find_activities),
    )
    return rank_around(report, id, of_rank, found)


def collective_file(served: Served, *, run: str, id: int) -> Response:  # noqa: A002
    """A trace of one collective on several ranks, on the clock of the first, compressed."""
    traces = served.traces_of(run)
    merged, content = merge(
        served.run(traces),
        id,
        lambda path: served.traces.ask(traces.files[path], lambda opened: opened.analysis.trace),
    )
    return _attached(f"collective-{merged.collective.id}.json.gz", igzip.compress(content))


def _attached(name: str, content: bytes) -> Response:
    """A file to save.

    Raises:
        UsageError: it is larger than an answer may be.
    """
    if len(content) > MOST_BYTES:
        raise UsageError(
            f"the file would have {len(content) / 1e6:.1f} MB, more than an answer may have; "
            "write it with hookview ranks --timeline"
        )
    headers = {"Content-Disposition": f"attachment; filename={name}"}
    return Response(content, mimetype=MERGED, headers=headers)
