"""The analyzer: what a trace says about a training step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.kept import load
from tb_hookview.analysis.kept import report as kept_report
from tb_hookview.analysis.report import Report, build_report
from tb_hookview.analysis.sources import choose_trace
from tb_hookview.errors import UsageError
from tb_hookview.trace.progress import Progress

__all__ = ["Analysis", "Report", "analyze", "build_report", "choose_trace", "load"]


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
    chosen = choose_trace(Path(path), worker)
    report = kept_report(chosen.path, steps, lambda path: load(path, progress))
    return report.with_warnings(chosen.warnings)
