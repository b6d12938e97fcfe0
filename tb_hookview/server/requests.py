"""The trace that a query names. Names are looked up in the list of runs; none becomes a path."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from flask import request

from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.loading.store import Wanted, always
from tb_hookview.schema.runs import ListedRun, ListedTrace, ListedWorker
from tb_hookview.server.answers import as_text
from tb_hookview.trace import Run, TraceEntry
from tb_hookview.trace.source.discovery import is_offered, list_runs
from tb_hookview.trace.source.runs import Listing

FURTHEST = 10**12
"""Largest offset: no table has more rows."""

Named = TypeVar("Named")


class RunList:
    """Runs of a log directory, run folder or trace file; none for None."""

    def __init__(self, logdir: str | Path | None) -> None:
        self._logdir = logdir
        self._last: list[Run] | None = None

    def listing(self) -> Listing:
        """Look at the file system.

        Raises:
            TraceError: the log directory is gone or cannot be listed.
        """
        found = Listing([]) if self._logdir is None else list_runs(self._logdir)
        self._last = found.runs
        return found

    def last(self) -> list[Run]:
        """Return what was found the last time, for requests that come often."""
        return self.listing().runs if self._last is None else self._last

    def choose(self, query: Mapping[str, str], prefix: str = "") -> TraceEntry:
        """Return the trace that a query names, as `select`.

        Looks at the file system for the newest trace, and for names not known yet.

        Raises:
            UsageError, NotFoundError, TraceError: as `select` and `listing`.
        """
        if f"{prefix}trace" in query:
            try:
                return self.offered(select(self.last(), query, prefix))
            except NotFoundError:
                pass
        return self.offered(select(self.listing().runs, query, prefix))

    def choose_run(self, query: Mapping[str, str]) -> Run:
        """Return the run that a query names, as `run` of `select`; looks at the file system.

        Raises:
            UsageError, NotFoundError, TraceError: as `select` and `listing`.
        """
        return _run(self.listing().runs, query, "")

    def offered(self, trace: TraceEntry, real: Callable[[Path], Path] | None = None) -> TraceEntry:
        """Return a trace, unless it lies outside of the log directory; `real` as in `is_offered`.

        Raises:
            NotFoundError: it does.
        """
        if self._logdir is not None and not is_offered(self._logdir, trace.file, real):
            name = as_text(trace.file.name)
            raise NotFoundError(f"{name}: leads out of the log directory; load the list again")
        return trace


def describe_runs(runs: Iterable[Run]) -> list[ListedRun]:
    """Return the runs as `api/runs` lists them."""
    return [
        ListedRun(
            name=as_text(run.name),
            workers=[
                ListedWorker(
                    name=as_text(worker.name),
                    traces=[_describe(trace) for trace in worker.traces],
                )
                for worker in run.workers
            ],
        )
        for run in runs
    ]


def select(runs: Iterable[Run], query: Mapping[str, str], prefix: str = "") -> TraceEntry:
    """Return the trace that `run`, `worker` and `trace` of a query name.

    Args:
        runs: those there are.
        query: the parameters.
        prefix: what the names of these three parameters begin with.

    Raises:
        UsageError: `run` or `worker` is missing.
        NotFoundError: there is no such run, worker or trace.
    """
    run = _run(runs, query, prefix)
    workers = {as_text(worker.name): worker for worker in run.workers}
    worker = _named("worker", _required(query, f"{prefix}worker"), workers)
    if f"{prefix}trace" not in query:
        return worker.traces[0]
    traces = {as_text(trace.id): trace for trace in worker.traces}
    return _named("trace", query[f"{prefix}trace"], traces)


def _run(runs: Iterable[Run], query: Mapping[str, str], prefix: str) -> Run:
    return _named("run", _required(query, f"{prefix}run"), {as_text(run.name): run for run in runs})


def _describe(trace: TraceEntry) -> ListedTrace:
    return ListedTrace(
        id=as_text(trace.id),
        file=as_text(trace.file.name),
        bytes=trace.size,
        modified=trace.modified,
    )


def _required(query: Mapping[str, str], key: str) -> str:
    if not query.get(key):
        raise UsageError(f"the query needs {key}=NAME, one of those that api/runs lists")
    return query[key]


def _named(kind: str, name: str, known: Mapping[str, Named]) -> Named:
    if name not in known:
        raise NotFoundError(f"no {kind} is called {name[:200]!r} (any more); load the list again")
    return known[name]


def client_waits() -> Wanted:
    """Return whether the client of this request keeps its connection open.

    Where the server does not show us the connection, the client counts as waiting.
    """
    connection = request.environ.get("werkzeug.socket")
    if not isinstance(connection, socket.socket) or not hasattr(socket, "MSG_DONTWAIT"):
        return always
    return lambda: _is_open(connection)


def _is_open(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
