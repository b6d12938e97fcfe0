"""Which trace of a folder is meant."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tb_hookview.analysis.schema import Warning
from tb_hookview.errors import NotFoundError, TraceError
from tb_hookview.trace import Run, TraceFile, find_runs


@dataclass(frozen=True)
class Choice:
    """The trace to read, and what to say about those beside it."""

    path: Path
    warnings: tuple[Warning, ...] = ()


def choose_trace(path: Path, worker: str | None = None) -> Choice:
    """Choose the trace a user means by a file or a folder.

    Raises:
        TraceError: nothing there, or a folder without traces.
        NotFoundError: the folder has traces, but none of that worker.
    """
    if not path.is_dir():
        return Choice(path)
    runs = find_runs(path)
    if not runs:
        remedy = "record one with hookview.profile, or name another folder"
        raise TraceError(path, "no traces (*.pt.trace.json, *.json.gz) in this folder", remedy)
    found = [
        (run, name.name, trace) for run in runs for name in run.workers for trace in name.traces
    ]
    wanted = [trace for _, name, trace in found if worker in (None, name)]
    if not wanted:
        names = ", ".join(dict.fromkeys(name for _, name, _ in found))
        raise NotFoundError(f"{path}: no worker {worker!r}; there are {names}")
    left = len(found) - 1
    message = f"other traces in {path}, not read; name a file or a worker to see them"
    return Choice(_first(runs, worker).path, (Warning("other-traces", message, left),) * bool(left))


def _first(runs: list[Run], worker: str | None) -> TraceFile:
    return next(w.traces[0] for run in runs for w in run.workers if worker in (None, w.name))
