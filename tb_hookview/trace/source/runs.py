"""Runs, workers and traces, by the names of the files in a folder; and their search."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tb_hookview.addresses.text import is_address
from tb_hookview.errors import TraceError
from tb_hookview.trace.source.file import LocalFile, TraceFile

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
        found = ([_run(folder, pattern) for pattern in patterns] for folder in folders)
        runs = [run for each in found if (run := next(filter(None, each), None))]
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


# Finds the trace files in a folder by their names; opens none of them.


FOLLOW_LINKS = "HOOKVIEW_FOLLOW_LINKS"
"""Environment variable: 1 to follow links out of the log directory."""

FOLDERS_LOOKED_AT = 2000
"""Folders that `has_trace` searches at most."""


def find_runs(logdir: str | Path) -> list[Run]:
    """List the runs below a log directory, as `list_runs`.

    Raises:
        TraceError: no such file or directory, or it cannot be listed.
    """
    return list_runs(logdir).runs


def list_runs(logdir: str | Path) -> Listing:
    """List the runs below a log directory (or the single trace file it is), by `runs_in`.

    Symbolic links that leave the log directory are not followed, unless `FOLLOW_LINKS` says so.

    Args:
        logdir: its path or its address.

    Raises:
        TraceError: no such file or directory, or it cannot be listed.
    """
    if is_address(logdir):
        from tb_hookview.trace.source.remote_listing import list_remote

        return list_remote(str(logdir))
    logdir = Path(logdir)
    if logdir.is_file():
        return Listing([single_run(logdir.name, _status(logdir.parent, logdir.name))])
    if not logdir.is_dir():
        if logdir.exists():
            remedy = "a trace is read more than once, so write it to a file first"
            raise TraceError(logdir, "neither a file nor a folder", remedy)
        raise TraceError(logdir, "no such file or folder", "check the path")
    tree = Tree(logdir)
    folders = [
        Folder(folder.relative_to(logdir).as_posix(), names, partial(_status, folder))
        for folder, names in tree.walk()
    ]
    return Listing(runs_in(folders), tree.links_left_out, tree.folders_left_out)


class Tree:
    """Folders below a log directory, except hidden ones and targets of links outside."""

    def __init__(self, logdir: Path) -> None:
        self._logdir = logdir
        self._follow = os.environ.get(FOLLOW_LINKS) == "1"
        self._walked = [real_path(logdir)]
        """The log directory, and the folders outside that links led to."""
        self.links_left_out = 0
        self.folders_left_out = 0

    def walk(self) -> Iterator[tuple[Path, list[str]]]:
        """Yield each folder with the names in it that may be traces. Nothing is opened.

        Raises:
            TraceError: the log directory itself cannot be listed.
        """
        for name, subfolders, files in os.walk(self._logdir, onerror=self._fail, followlinks=True):
            folder = Path(name)
            subfolders[:] = [
                sub for sub in subfolders if not sub.startswith(".") and self._enters(folder / sub)
            ]
            yield folder, [n for n in files if n.endswith(ENDINGS) and self._admits(folder / n)]

    def _fail(self, error: OSError) -> None:
        if Path(error.filename) == self._logdir:
            reason = f"cannot be listed ({error.strerror})"
            raise TraceError(self._logdir, reason, "check its permissions") from error
        self.folders_left_out += 1

    def _enters(self, folder: Path) -> bool:
        if not folder.is_symlink():
            return True
        target = real_path(folder)
        if self._is_inside(target):
            return False  # it is walked anyway, under its own name
        if self._follow and not self._walked[0].is_relative_to(target):
            self._walked.append(target)
            return True
        self.links_left_out += 1
        return False

    def _admits(self, file: Path) -> bool:
        if not file.is_symlink() or self._follow or self._is_inside(real_path(file)):
            return True
        self.links_left_out += 1
        return False

    def _is_inside(self, target: Path) -> bool:
        return any(target.is_relative_to(walked) for walked in self._walked)


def is_offered(
    logdir: str | Path, file: TraceFile, real: Callable[[Path], Path] | None = None
) -> bool:
    """Return whether a file of a listing may still be read.

    The folders and links on the way to it may have changed since.

    Args:
        logdir: the log directory.
        file: a file below it.
        real: resolves folders; `real_path` without, the same with a cache for many files.
    """
    real = real or real_path
    if not isinstance(file, LocalFile) or is_address(logdir):
        return True  # links are on this machine only
    path = file.path
    if path == Path(logdir) or os.environ.get(FOLLOW_LINKS) == "1":
        return True
    found = real_path(path) if path.is_symlink() else real(path.parent) / path.name
    return found.is_relative_to(real(Path(logdir)))


def real_path(path: Path) -> Path:
    """A path without links; as far as it goes where they go round in a circle."""
    # Path.resolve raises where links go round in a circle.
    return Path(os.path.realpath(path))


def _status(folder: Path, name: str) -> Status | None:
    path = folder / name
    try:
        status = path.stat()
    except OSError:  # gone or unreadable since it was listed
        return None
    if not stat.S_ISREG(status.st_mode):  # opening a pipe waits for somebody to write
        return None
    return Status(LocalFile(path), status.st_size, status.st_mtime)


def has_trace(logdir: str | Path) -> bool:
    """Return whether a log directory holds a file named as traces are, at little cost."""
    try:
        if is_address(logdir):
            from tb_hookview.trace.source.remote_listing import has_remote_trace

            return has_remote_trace(str(logdir))
        for looked_at, (_, files) in enumerate(Tree(Path(logdir)).walk()):
            if any(map(is_trace_name, files)):
                return True
            if looked_at >= FOLDERS_LOOKED_AT:
                return False
    except TraceError:
        pass  # no log directory yet, or none that can be listed
    return False
