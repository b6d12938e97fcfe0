"""What a server serves: runs of a log directory, open traces, histories, dry runs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict

from tb_hookview import schema
from tb_hookview.addresses.text import is_address, shown
from tb_hookview.errors import NotFoundError, TraceError
from tb_hookview.history.answer import read_history
from tb_hookview.history.files import has_steps
from tb_hookview.loading import CachedReader
from tb_hookview.loading.store import Store, trace_store
from tb_hookview.progress import Count, Progress
from tb_hookview.ranks.result import RunReport
from tb_hookview.ranks.run import RunFiles, analyze_traces
from tb_hookview.report.open_trace import BYTES, Budget, Opened, rows_bytes
from tb_hookview.rules.catalogue import RULES
from tb_hookview.server.answers import RunList, as_text, client_waits, describe_runs, select
from tb_hookview.step_log import ENDING
from tb_hookview.trace import Run, TraceEntry, TraceFile
from tb_hookview.trace.source.runs import real_path
from tb_hookview.version import __version__


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


# Answers without a trace: runs, rules, and how far the reading of a trace is.


def runs(served: Served) -> schema.Runs:
    """The runs of the log directory; parses nothing."""
    found = served.listed.listing()
    return schema.Runs(
        logdir="" if served.logdir is None else as_text(shown(served.logdir)),
        version=__version__,
        runs=describe_runs(found.runs),
        left_out=schema.LeftOut(links=found.links_left_out, folders=found.folders_left_out),
        dry_run=None if served.dry_run is None else as_text(served.dry_run.name),
    )


def known(served: Served) -> list[schema.KnownTrace]:
    """What is known of the newest trace of each worker without reading it; reads none."""
    found = (
        (run, worker, served.reader().outline(worker.traces[0].file))
        for run in served.listed.last()
        for worker in run.workers
        if worker.traces
    )
    return [
        schema.KnownTrace(run=as_text(run.name), worker=as_text(worker.name), **asdict(outline))
        for run, worker, outline in found
        if outline is not None
    ]


def rules(_served: Served) -> list[schema.RuleInfo]:
    """The rules that traces are checked against."""
    return [rule.described() for rule in RULES]


def progress(served: Served, *, run: str, worker: str, trace: str | None) -> schema.ReadingProgress:
    """How far the reading of a trace is."""
    named = {"run": run, "worker": worker, "trace": trace}
    query = {name: value for name, value in named.items() if value is not None}
    return served.traces.progress(select(served.listed.last(), query).file)


# A watched training run: the steps in the folder of a run.


CACHED = 8
"""Histories in memory."""

State = tuple[tuple[str, int, int], ...]


def history(served: Served, *, run: str) -> schema.History:
    """A watched training run over all its steps.

    Raises:
        NotFoundError: the run has no steps of one.
    """
    folder = _folder(served.listed, run)
    if not has_steps(folder):
        raise NotFoundError(
            "this run has no steps of a watched training run; record it with hookview.watch"
        )
    return _read(folder, _state(folder))


@lru_cache(CACHED)
def _read(folder: str, _state: State) -> schema.History:
    return read_history(folder)


def _folder(listed: RunList, name: str) -> str:
    """Return the folder of a run.

    Raises:
        UsageError, NotFoundError, TraceError: as `RunList.choose_run`.
    """
    run = listed.choose_run({"run": name})
    file = listed.offered(run.workers[0].traces[0]).file
    address = file.address
    if is_address(address):
        base, mark, query = address.partition("?")
        return f"{base.rpartition('/')[0]}{mark}{query}"
    return str(Path(address).parent)


def _state(folder: str) -> State:
    """Return what changes when a file of steps does; nothing is known of an address."""
    if is_address(folder):  # read again, each time
        return ((folder, -1, time.monotonic_ns()),)
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(ENDING):
                status = entry.stat(follow_symlinks=False)
                found.append((entry.name, status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))


# A dry run: its JSON is served in the place of traces.


LARGEST = 256 << 20
"""Bytes of a file that is read."""
_HEAD = 4096
_KIND = re.compile(rb'\s*\{[^{}\[\]]*"kind"\s*:\s*"dry-run"')


def dry_run_file(path: str | Path | None) -> Path | None:
    """Return the path of a local file that is a dry run by its first bytes, else None."""
    if path is None or is_address(path) or not Path(path).is_file():
        return None
    try:
        with Path(path).open("rb") as file:
            return Path(path) if _KIND.match(file.read(_HEAD)) else None
    except OSError:
        return None  # the list of runs says why it cannot be read


def dry_run(served: Served) -> schema.DryRunReport:
    """The dry run that is served.

    Raises:
        NotFoundError: traces are.
        TraceError: it cannot be read.
    """
    if served.dry_run is None:
        raise NotFoundError("this server shows traces; serve the JSON file of the dry run itself")
    return _read_dry_run(served.dry_run)


def _read_dry_run(path: Path) -> schema.DryRunReport:
    remedy = "write it again with hookview dry-run --json"
    try:
        if path.stat().st_size > LARGEST:
            raise TraceError(path, f"has more than {LARGEST >> 20} MiB", "run fewer --steps")
        return msgspec.json.decode(path.read_bytes(), type=schema.DryRunReport)
    except OSError as error:
        raise TraceError(path, f"cannot be read ({error.strerror})", remedy) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TraceError(path, f"is not a whole dry run ({error})", remedy) from error
