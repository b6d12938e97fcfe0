"""Runs, workers and traces, by the names of the files in a folder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from tb_hookview.trace.source.file import TraceFile

_TRACE = re.compile(r"(?P<worker>.*?)(?:\.(?P<stamp>\d+))?\.pt\.trace\.json(?:\.gz)?")
_GZIPPED = re.compile(r"(?P<worker>.*?)(?P<stamp>)\.json\.gz")
_JSON = re.compile(r"(?P<worker>.*?)(?P<stamp>)\.json(?:\.gz)?")
ENDINGS = (".json", ".json.gz")
"""What the name of every trace ends in."""


class Status(NamedTuple):
    """What a listing says of a file."""

    file: TraceFile
    size: int
    """Bytes."""
    modified: float
    """Seconds since 1970."""


class TraceEntry(NamedTuple):
    """One trace of a worker; `size` in bytes, `modified` in seconds since 1970."""

    id: str
    file: TraceFile
    size: int
    modified: float


class Worker(NamedTuple):
    """The traces one process wrote, newest first."""

    name: str
    traces: tuple[TraceEntry, ...]


class Run(NamedTuple):
    """A folder with traces, named by its path relative to the log directory.

    The log directory itself is called ".".
    """

    name: str
    workers: tuple[Worker, ...]


class Listing(NamedTuple):
    """Runs of a log directory in natural order, and counts of what was skipped."""

    runs: list[Run]
    links_left_out: int = 0
    """Links to folders and to files named `.json[.gz]` that lead out of the log directory."""
    folders_left_out: int = 0
    """Folders that cannot be listed."""


class Folder(NamedTuple):
    """Names in a folder that may be traces."""

    name: str
    """Relative to the log directory, "." for that itself."""
    names: Sequence[str]
    status: Callable[[str], Status | None]
    """Looks at the file of a name; None where it is no file (any more)."""


def runs_in(folders: Sequence[Folder]) -> list[Run]:
    """Return the runs in some folders, in natural order.

    Files called `<worker>.<stamp>.pt.trace.json[.gz]` are traces. A folder without one may hold
    traces under other names, so there every `.json.gz` is offered; and where no folder has any of
    these, every `.json`.
    """
    for patterns in ((_TRACE, _GZIPPED), (_JSON,)):
        runs = [run for folder in folders if (run := _first_run(folder, patterns))]
        if runs:
            return sorted(runs, key=lambda run: natural(run.name))
    return []


def single_run(name: str, status: Status | None) -> Run:
    """The run that a single trace file is."""
    match = _TRACE.fullmatch(name) or _JSON.fullmatch(name)
    worker = (match["worker"] if match else name) or name
    return Run(".", (_worker(worker, [(name, status)]),))


def is_trace_name(name: str) -> bool:
    """Whether a file of this name is offered as a trace wherever it lies."""
    return any(pattern.fullmatch(name) for pattern in (_TRACE, _GZIPPED))


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key under which `rank2` comes before `rank10`."""
    parts = re.findall(r"\d+|\D+", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _first_run(folder: Folder, patterns: tuple[re.Pattern[str], ...]) -> Run | None:
    found = (_run(folder, pattern) for pattern in patterns)
    return next((run for run in found if run), None)


def _run(folder: Folder, pattern: re.Pattern[str]) -> Run | None:
    found = sorted(
        (match["worker"] or "worker", match["stamp"] or name, name)
        for name in folder.names
        if (match := pattern.fullmatch(name))
    )
    stamps = Counter((worker, stamp) for worker, stamp, _ in found)
    workers = [
        _worker(
            worker,
            [(s if stamps[worker, s] == 1 else name, folder.status(name)) for _, s, name in group],
        )
        for worker, group in groupby(found, key=lambda item: item[0])
    ]
    present = [worker for worker in workers if worker.traces]
    if not present:
        return None
    return Run(folder.name, tuple(sorted(present, key=lambda worker: natural(worker.name))))


def _worker(name: str, stamped: Sequence[tuple[str, Status | None]]) -> Worker:
    traces = [TraceEntry(stamp, *status) for stamp, status in stamped if status]
    return Worker(name, tuple(sorted(traces, key=lambda t: natural(t.id), reverse=True)))
