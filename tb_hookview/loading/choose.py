"""The choice of one trace in a folder."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from tb_hookview.errors import NotFoundError, TraceError
from tb_hookview.schema import TraceWarning
from tb_hookview.trace import find_runs
from tb_hookview.trace.source.file import LocalFile, TraceFile
from tb_hookview.trace.source.perfetto import SUFFIX, perfetto_error


class Choice(Struct, frozen=True):
    """The trace to read, and what to say about those next to it."""

    path: Path
    warnings: tuple[TraceWarning, ...] = ()

    @property
    def file(self) -> TraceFile:
        """The trace itself."""
        return LocalFile(self.path)


def choose_trace(path: Path, worker: str | None = None) -> Choice:
    """Choose the trace a user means by a file or a folder.

    Raises:
        TraceError: nothing there, or a folder without traces.
        NotFoundError: the folder has traces, but none of that worker.
    """
    if not path.is_dir():
        own = find_runs(path)[0].workers[0].name if path.exists() else worker
        if worker not in (None, own):
            raise NotFoundError(f"{path}: no worker {worker!r}; the file is {own!r}'s")
        return Choice(path)
    workers = [listed for run in find_runs(path) for listed in run.workers]
    if not workers:
        if perfetto := next(path.glob(f"*{SUFFIX}"), None):
            raise perfetto_error(str(perfetto))
        remedy = "record one with hookview.profile, or name another folder"
        raise TraceError(path, "no traces (*.pt.trace.json, *.json.gz) in this folder", remedy)
    wanted = [listed for listed in workers if worker in (None, listed.name)]
    if not wanted:
        names = ", ".join(dict.fromkeys(listed.name for listed in workers))
        raise NotFoundError(f"{path}: no worker {worker!r}; there are {names}")
    left = sum(len(listed.traces) for listed in workers) - 1
    message = f"other traces in {path}, not read; name a file or a worker to see them"
    warning = TraceWarning("other-traces", "other-traces", message, left)
    newest = max((listed.traces[0] for listed in wanted), key=lambda trace: trace.modified)
    return Choice(newest.path, (warning,) if left else ())
