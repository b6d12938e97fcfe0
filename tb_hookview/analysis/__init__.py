"""The analyzer: what a trace says about a training step.

Most names are loaded on first use, so that a report that is kept is told without what would make
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tb_hookview.analysis import kept_report
from tb_hookview.analysis.result import Report
from tb_hookview.analysis.sources import choose_trace
from tb_hookview.errors import UsageError
from tb_hookview.trace.progress import Progress

if TYPE_CHECKING:
    from tb_hookview.analysis.analysis import Analysis
    from tb_hookview.analysis.kept import load
    from tb_hookview.analysis.report import build_report

__all__ = ["Analysis", "Report", "analyze", "build_report", "choose_trace", "load"]

_HOMES = {
    "Analysis": "tb_hookview.analysis.analysis",
    "build_report": "tb_hookview.analysis.report",
    "load": "tb_hookview.analysis.kept",
}


def analyze(
    path: str | Path,
    *,
    worker: str | None = None,
    steps: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Read a trace and say what it holds.

    Args:
        path: a trace file, or a folder of them; of a folder the newest trace (of `worker`, where
            one is named) is read, and the report says what was left out.
        worker: name of the worker, the part of the file's name before its time stamp.
        steps: names (or numbers) of the steps to report on; all of the trace by default.
        progress: called with the stage of the work and the fraction of it done.

    Raises:
        TraceError: the file cannot be read, or is no trace.
        NotFoundError: no such worker or step.
        UsageError: an empty path.
    """
    if not str(path):
        raise UsageError("the path is empty; name a trace file, or a folder of them")

    def read(path: Path) -> Analysis:
        from tb_hookview.analysis.kept import load

        return load(path, progress)

    chosen = choose_trace(Path(path), worker)
    return kept_report.report(chosen.path, steps, read).with_warnings(chosen.warnings)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
