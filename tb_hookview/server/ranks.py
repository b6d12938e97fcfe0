"""Routes about a run: its ranks, their steps, and the collectives between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from flask import Flask, Response, request
from isal import igzip

from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.export.merged import merge
from tb_hookview.progress import Count, Progress
from tb_hookview.ranks.around import find_activities, rank_around
from tb_hookview.ranks.files import RunFiles
from tb_hookview.ranks.overview import overview, step_matrix
from tb_hookview.ranks.result import TABLES, RunReport
from tb_hookview.ranks.run import analyze_traces
from tb_hookview.ranks.together import ranks_together
from tb_hookview.schema import Rank
from tb_hookview.server import answers, tables
from tb_hookview.server.bounds import MOST_BYTES
from tb_hookview.server.requests import RunList, whole_number
from tb_hookview.server.store import AnalysisStore, ReadingStore, State
from tb_hookview.server.waiting import client_waits
from tb_hookview.tables.table import Table
from tb_hookview.trace import Run, TraceEntry, TraceFile
from tb_hookview.trace.source.discovery import real_path

CACHED_RUNS = 4
"""Runs in memory; of others the summaries of ranks are cached on disk."""
STEPS = 1_000_000
"""Largest number of a step."""
MERGED = "application/gzip"
"""Type of a trace of several ranks."""
COLLECTIVES = RANKS = 10**9
"""Largest id of a collective, largest number of a rank."""


class RunTraces(NamedTuple):
    """The newest trace of each worker of a run."""

    name: str
    workers: tuple[tuple[str, TraceEntry], ...]

    @property
    def address(self) -> str:
        """Its name."""
        return self.name

    def state(self) -> State:
        """Return the states of all files."""
        states = tuple(trace.file.state() for _, trace in self.workers)
        return _RunState(sum(state.size for state in states), states)


class _RunState(NamedTuple):
    size: int
    files: tuple[State, ...]


class Runs:
    """Runs that requests name, and what was read of them. Safe to use from many threads."""

    def __init__(self, listed: RunList) -> None:
        self._listed = listed
        self.store: ReadingStore[RunTraces, RunReport] = ReadingStore(
            _load, CACHED_RUNS, lambda _report: 1, client_waits, at_once=1
        )

    def asked(self) -> RunTraces:
        """Return the traces of the run that the request names.

        Raises:
            UsageError, NotFoundError, TraceError: as `RunList.choose_run`.
        """
        run = self._listed.choose_run(request.args)
        return RunTraces(answers.as_text(run.name), tuple(_newest(self._listed, run)))


def install(app: Flask, runs: Runs, analyses: AnalysisStore) -> None:
    """Add the routes to an application.

    Args:
        app: the application.
        runs: what is read of runs.
        analyses: what is read of single traces.
    """
    store, asked = runs.store, runs.asked
    _install_collectives(app, runs, analyses)

    @app.get("/api/ranks")
    def ranks() -> Response:
        traces = asked()
        workers = {trace.file.address: answers.as_text(name) for name, trace in traces.workers}
        return answers.json(overview(store.get(traces).data, workers))

    @app.get("/api/ranks/steps")
    def ranks_steps() -> Response:
        quantities = request.args.getlist("quantity")
        offset = whole_number(request.args, "offset", 0, STEPS)
        return answers.json(step_matrix(store.get(asked()).data, quantities, offset))

    @app.get("/api/ranks/table/<table>")
    def rows_of_run(table: str) -> Response:
        traces = asked()
        if table not in TABLES:
            raise NotFoundError(f"no table {table[:100]!r} of a run; there are {', '.join(TABLES)}")
        return tables.answer(_table(store.get(traces), table), request.args)

    @app.get("/api/ranks/progress")
    def ranks_progress() -> Response:
        return answers.json(store.progress(asked()))


def _install_collectives(app: Flask, runs: Runs, analyses: AnalysisStore) -> None:
    """Add the routes about one collective."""
    store, asked = runs.store, runs.asked

    @app.get("/api/ranks/collective")
    def ranks_collective() -> Response:
        offset = whole_number(request.args, "offset", 0, RANKS)
        return answers.json(ranks_together(store.get(asked()), _collective(), offset))

    @app.get("/api/ranks/collective/rank")
    def ranks_collective_rank() -> Response:
        traces = asked()
        report = store.get(traces)
        rank = _rank(report.data.ranks)
        found = analyses.derived(_file_of(traces, rank), find_activities)
        return answers.json(rank_around(report, _collective(), rank, found))

    @app.get("/api/ranks/collective/file")
    def ranks_collective_file() -> Response:
        traces, number = asked(), _collective()
        files = {trace.file.address: trace.file for _, trace in traces.workers}
        merged, content = merge(
            store.get(traces), number, lambda path: analyses.get(files[path]).trace
        )
        return _attached(f"collective-{merged.collective.id}.json.gz", igzip.compress(content))


def _collective() -> int:
    """Id of the collective that the request names.

    Raises:
        UsageError: it names none.
    """
    return _required("id", COLLECTIVES)


def _rank(ranks: Sequence[Rank]) -> Rank:
    """The rank that the request names.

    Raises:
        UsageError: it names none.
        NotFoundError: the run has no such rank.
    """
    number = _required("rank", RANKS)
    found = next((rank for rank in ranks if rank.rank == number), None)
    if found is None:
        raise NotFoundError(f"no rank {number} in the run")
    return found


def _required(key: str, most: int) -> int:
    if key not in request.args:
        raise UsageError(f"the query needs {key}=NUMBER")
    return whole_number(request.args, key, 0, most)


def _file_of(traces: RunTraces, rank: Rank) -> TraceFile:
    return next(entry.file for _, entry in traces.workers if entry.file.address == rank.path)


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


def _load(traces: RunTraces, progress: Progress, _count: Count) -> RunReport:
    names, entries = zip(*traces.workers, strict=True)
    files = RunFiles(names, entries, ())
    return analyze_traces(traces.name, files, progress=progress)


def _newest(listed: RunList, run: Run) -> Iterator[tuple[str, TraceEntry]]:
    real = cache(real_path)  # ranks share their folders
    for worker in run.workers:
        yield worker.name, listed.offered(worker.traces[0], real)


def _table(report: RunReport, name: str) -> Table[Any]:
    found: Table[Any] = getattr(report, "steps" if name == "rank_steps" else name)
    return found
