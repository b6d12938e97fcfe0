"""Finds the trace files in a folder by their names; opens none of them."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tb_hookview.errors import TraceError
from tb_hookview.trace.source.file import LocalFile, TraceFile

_TRACE = re.compile(r"(?P<worker>.*?)(?:\.(?P<stamp>\d+))?\.pt\.trace\.json(?:\.gz)?")
_GZIPPED = re.compile(r"(?P<worker>.*?)(?P<stamp>)\.json\.gz")
_JSON = re.compile(r"(?P<worker>.*?)(?P<stamp>)\.json(?:\.gz)?")
_ENDINGS = (".json", ".json.gz")

FOLLOW_LINKS = "HOOKVIEW_FOLLOW_LINKS"
"""Environment variable: 1 to follow links out of the log directory."""

FOLDERS_LOOKED_AT = 2000
"""Folders that `has_trace` searches at most."""


class TraceEntry(NamedTuple):
    """One trace of a worker; `size` in bytes, `modified` in seconds since 1970."""

    id: str
    path: Path
    size: int
    modified: float

    @property
    def file(self) -> TraceFile:
        """The trace itself."""
        return LocalFile(self.path)


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


def find_runs(logdir: Path) -> list[Run]:
    """List the runs below a log directory, as `list_runs`.

    Raises:
        TraceError: no such file or directory, or it cannot be listed.
    """
    return list_runs(logdir).runs


def list_runs(logdir: Path) -> Listing:
    """List the runs below a log directory (or the single trace file it is).

    Files called `<worker>.<stamp>.pt.trace.json[.gz]` are traces. A folder without one may hold
    traces under other names, so there every `.json.gz` is offered; and where the whole tree has
    none of these, every `.json`. Symbolic links that leave the log directory are not followed,
    unless `FOLLOW_LINKS` says so.

    Raises:
        TraceError: no such file or directory, or it cannot be listed.
    """
    if logdir.is_file():
        return Listing([Run(".", (_worker(_stem(logdir), [(logdir.name, logdir)]),))])
    if not logdir.is_dir():
        raise TraceError(logdir, "no such file or folder", "check the path")
    tree = Tree(logdir)
    folders = list(tree.walk())
    for patterns in ((_TRACE, _GZIPPED), (_JSON,)):
        runs = [run for folder in folders if (run := _first_run(logdir, folder, patterns))]
        if runs:
            runs.sort(key=lambda run: natural(run.name))
            return Listing(runs, tree.links_left_out, tree.folders_left_out)
    return Listing([], tree.links_left_out, tree.folders_left_out)


def is_trace_name(name: str) -> bool:
    """Whether a file of this name is offered as a trace wherever it lies."""
    return any(pattern.fullmatch(name) for pattern in (_TRACE, _GZIPPED))


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key under which `rank2` comes before `rank10`."""
    parts = re.findall(r"\d+|\D+", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


class Tree:
    """Folders below a log directory, except hidden ones and targets of links outside."""

    def __init__(self, logdir: Path) -> None:
        self._logdir = logdir
        self._follow = os.environ.get(FOLLOW_LINKS) == "1"
        self._walked = [_real(logdir)]
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
            yield folder, [n for n in files if n.endswith(_ENDINGS) and self._admits(folder / n)]

    def _fail(self, error: OSError) -> None:
        if Path(error.filename) == self._logdir:
            reason = f"cannot be listed ({error.strerror})"
            raise TraceError(self._logdir, reason, "check its permissions") from error
        self.folders_left_out += 1

    def _enters(self, folder: Path) -> bool:
        if not folder.is_symlink():
            return True
        target = _real(folder)
        if self._is_inside(target):
            return False  # it is walked anyway, under its own name
        if self._follow and not self._walked[0].is_relative_to(target):
            self._walked.append(target)
            return True
        self.links_left_out += 1
        return False

    def _admits(self, file: Path) -> bool:
        if not file.is_symlink() or self._follow or self._is_inside(_real(file)):
            return True
        self.links_left_out += 1
        return False

    def _is_inside(self, target: Path) -> bool:
        return any(target.is_relative_to(walked) for walked in self._walked)


def is_offered(logdir: Path, path: Path) -> bool:
    """Return whether a file of a listing may still be read.

    The folders and links on the way to it may have changed since.
    """
    if path == logdir or os.environ.get(FOLLOW_LINKS) == "1":
        return True
    return _real(path).is_relative_to(_real(logdir))


def _real(path: Path) -> Path:
    # Path.resolve raises where links go round in a circle.
    return Path(os.path.realpath(path))


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
        if not stat.S_ISREG(status.st_mode):  # opening a pipe waits for somebody to write
            continue
        traces.append(TraceEntry(stamp, path, status.st_size, status.st_mtime))
    return Worker(name, tuple(sorted(traces, key=lambda t: natural(t.id), reverse=True)))


def _stem(path: Path) -> str:
    match = _TRACE.fullmatch(path.name) or _JSON.fullmatch(path.name)
    return (match["worker"] if match else path.name) or path.name


def has_trace(logdir: Path) -> bool:
    """Return whether a log directory holds a file named as traces are, at little cost."""
    try:
        for looked_at, (_, files) in enumerate(Tree(logdir).walk()):
            if any(map(is_trace_name, files)):
                return True
            if looked_at >= FOLDERS_LOOKED_AT:
                return False
    except TraceError:
        pass  # no log directory yet, or none that can be listed
    return False
