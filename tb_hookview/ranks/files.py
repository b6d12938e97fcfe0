"""The traces of a run: one for each rank, the newest."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tb_hookview.addresses.text import shown
from tb_hookview.errors import TraceError
from tb_hookview.trace import Run, TraceEntry, find_runs


class RunFiles(NamedTuple):
    """Traces of one run in natural order of their workers' names, and what was left out."""

    workers: tuple[str, ...]
    traces: tuple[TraceEntry, ...]
    warnings: tuple[str, ...]


def run_files(path: str | Path) -> RunFiles:
    """Choose the traces of a run: those of the newest run in a folder, the newest of each worker.

    Raises:
        TraceError: nothing there, or a folder without traces.
    """
    runs = find_runs(path)
    if not runs:
        raise TraceError(shown(path), "no traces in this folder", "name the folder of a run")
    run = max(runs, key=_newest)
    warnings = []
    if len(runs) > 1:
        warnings.append(f"{len(runs) - 1} other runs in {shown(path)}, not read; name one of them")
    older = sum(len(worker.traces) - 1 for worker in run.workers)
    if older:
        warnings.append(f"{older} older traces of the same workers, not read")
    names = tuple(worker.name for worker in run.workers)
    traces = tuple(worker.traces[0] for worker in run.workers)
    return RunFiles(names, traces, tuple(warnings))


def _newest(run: Run) -> float:
    return max(worker.traces[0].modified for worker in run.workers)
