"""What a server serves: the runs of a log directory, and what is open of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tb_hookview.loading import CachedReader
from tb_hookview.loading.store import Store, trace_store
from tb_hookview.progress import Count, Progress
from tb_hookview.ranks.files import RunFiles
from tb_hookview.ranks.result import RunReport
from tb_hookview.ranks.run import analyze_traces
from tb_hookview.report.open_trace import rows_bytes
from tb_hookview.report.opened import BYTES, Budget, Opened
from tb_hookview.server.answers import as_text
from tb_hookview.server.requests import RunList, client_waits
from tb_hookview.trace import Run, TraceEntry, TraceFile
from tb_hookview.trace.source.discovery import real_path


class _RunState(NamedTuple):
    size: int
    files: tuple[Any, ...]


class RunTraces(NamedTuple):
    """The newest trace of each worker of a run."""

    name: str
    workers: tuple[tuple[str, TraceEntry], ...]

    @property
    def address(self) -> str:
        """Its name."""
        return self.name

    @property
    def files(self) -> dict[str, TraceFile]:
        """The files by address."""
        return {trace.file.address: trace.file for _, trace in self.workers}

    def state(self) -> _RunState:
        """Return the states of all files."""
        states = tuple(trace.file.state() for _, trace in self.workers)
        return _RunState(sum(state.size for state in states), states)


class Served:
    """A log directory, or a dry run, and what is open of it. Safe to use from many threads.

    Args:
        logdir: the directory, a run folder or a trace file; None for no runs.
        dry_run: the JSON file of a dry run, which is served in the place of traces.
    """

    def __init__(self, logdir: str | Path | None, dry_run: Path | None) -> None:
        self.logdir, self.dry_run = logdir, dry_run
        self.listed = RunList(None if dry_run else logdir)
        budget = Budget(BYTES)
        # The first question hears what is wrong.
        self.reader = cache(CachedReader.from_environment)
        self.traces = trace_store(self.reader, budget, client_waits)
        self.runs: Store[RunTraces, Opened[RunReport]] = Store(
            _read_run, _open_run, budget, client_waits, at_once=1
        )

    def traces_of(self, run: str) -> RunTraces:
        """Return the traces of a run.

        Raises:
            UsageError, NotFoundError, TraceError: as `RunList.choose_run`.
        """
        found = self.listed.choose_run({"run": run})
        return RunTraces(as_text(found.name), tuple(_newest(self.listed, found)))

    def run(self, traces: RunTraces) -> RunReport:
        """Return what the traces of a run say together.

        Raises:
            NotFoundError, TraceError, UnwantedError: as `Store.ask`.
        """
        return self.runs.ask(traces, lambda opened: opened.value)


def _open_run(_traces: RunTraces, read: Callable[[], RunReport]) -> Opened[RunReport]:
    return Opened(read, lambda report: rows_bytes(report.data))


def _read_run(traces: RunTraces, progress: Progress, _count: Count) -> RunReport:
    names, entries = zip(*traces.workers, strict=True)
    return analyze_traces(traces.name, RunFiles(names, entries, ()), progress=progress)


def _newest(listed: RunList, run: Run) -> Iterator[tuple[str, TraceEntry]]:
    real = cache(real_path)  # ranks share their folders
    for worker in run.workers:
        yield worker.name, listed.offered(worker.traces[0], real)
