"""Which trace files a folder holds. Looks at names only; nothing is opened."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tb_hookview.errors import TraceError

_TRACE = re.compile(r"(?P<worker>.*?)(?:\.(?P<stamp>\d+))?\.pt\.trace\.json(?:\.gz)?")
_GZIPPED = re.compile(r"(?P<worker>.*?)(?P<stamp>)\.json\.gz")
_JSON = re.compile(r"(?P<worker>.*?)(?P<stamp>)\.json(?:\.gz)?")


@dataclass(frozen=True)
class TraceFile:
    """One trace of a worker; `size` in bytes, `modified` in seconds since 1970."""

    id: str
    path: Path
    size: int
    modified: float


@dataclass(frozen=True)
class Worker:
    """The traces one process wrote, newest first."""

    name: str
    traces: tuple[TraceFile, ...]


@dataclass(frozen=True)
class Run:
    """A folder with traces; named by its path relative to the log directory, "." for itself."""

    name: str
    workers: tuple[Worker, ...]


def find_runs(logdir: Path) -> list[Run]:
    """List the runs below a log directory (or the single trace file it is), in natural order.

    Files called `<worker>.<stamp>.pt.trace.json[.gz]` are traces. A folder without one may hold
    traces under other names, so there every `.json.gz` is offered; and where the whole tree has
    none of these, every `.json`. Symbolic links that leave the log directory are not followed.

    Raises:
        TraceError: no such file or directory, or it cannot be listed.
    """
    if logdir.is_file():
        return [Run(".", (_worker(_stem(logdir), [(logdir.name, logdir)]),))]
    if not logdir.is_dir():
        raise TraceError(logdir, "no such file or folder", "check the path")
    folders = list(_folders(logdir))
    for patterns in ((_TRACE, _GZIPPED), (_JSON,)):
        runs = [run for folder in folders if (run := _first_run(logdir, folder, patterns))]
        if runs:
            return sorted(runs, key=lambda run: natural(run.name))
    return []


def is_trace_name(name: str) -> bool:
    """Whether a file of this name is offered as a trace wherever it lies."""
    return any(pattern.fullmatch(name) for pattern in (_TRACE, _GZIPPED))


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key under which `rank2` comes before `rank10`."""
    parts = re.findall(r"\d+|\D+", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _folders(logdir: Path) -> Iterator[tuple[Path, list[str]]]:
    root = logdir.resolve()

    def fail(error: OSError) -> None:
        if Path(error.filename) == logdir:
            raise TraceError(logdir, f"cannot be listed ({error.strerror})") from error

    for folder, subfolders, files in os.walk(logdir, onerror=fail, followlinks=False):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        inside = [name for name in files if (Path(folder) / name).resolve().is_relative_to(root)]
        yield Path(folder), inside


def _first_run(
    logdir: Path, folder: tuple[Path, list[str]], patterns: tuple[re.Pattern[str], ...]
) -> Run | None:
    found = (_run(logdir, folder, pattern) for pattern in patterns)
    return next((run for run in found if run), None)


def _run(logdir: Path, folder: tuple[Path, list[str]], pattern: re.Pattern[str]) -> Run | None:
    directory, names = folder
    found = sorted(
        (match["worker"] or "worker", match["stamp"] or name, directory / name)
        for name in names
        if (match := pattern.fullmatch(name))
    )
    stamps = Counter((worker, stamp) for worker, stamp, _ in found)
    workers = [
        _worker(name, [(s if stamps[name, s] == 1 else p.name, p) for _, s, p in group])
        for name, group in groupby(found, key=lambda item: item[0])
    ]
    present = [worker for worker in workers if worker.traces]
    if not present:
        return None
    name = directory.relative_to(logdir).as_posix()
    return Run(name, tuple(sorted(present, key=lambda worker: natural(worker.name))))


def _worker(name: str, stamped: list[tuple[str, Path]]) -> Worker:
    traces = []
    for stamp, path in stamped:
        try:
            status = path.stat()
        except OSError:  # gone or unreadable since it was listed
            continue
        traces.append(TraceFile(stamp, path, status.st_size, status.st_mtime))
    return Worker(name, tuple(sorted(traces, key=lambda t: natural(t.id), reverse=True)))


def _stem(path: Path) -> str:
    match = _TRACE.fullmatch(path.name) or _JSON.fullmatch(path.name)
    return (match["worker"] if match else path.name) or path.name
