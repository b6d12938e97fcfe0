"""From a path to an open trace, its analysis or its report, through the cache.

Must not be here: what a trace means.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tb_hookview.errors import UsageError
from tb_hookview.loading.cached_reader import CachedReader
from tb_hookview.loading.choose import choose_trace
from tb_hookview.progress import Count, Progress, uncounted
from tb_hookview.report.open_trace import EVERYTHING_OPEN, OpenTrace
from tb_hookview.report.result import Report
from tb_hookview.trace.source.file import TraceFile, trace_file

if TYPE_CHECKING:
    from tb_hookview.analysis.analysis import Analysis

__all__ = ["CachedReader", "analyze", "load", "open_trace"]


def analyze(
    path: str | Path,
    *,
    worker: str | None = None,
    steps: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Read a trace and report on it.

    Args:
        path: a trace file, or a folder of them, or the address (`s3://...`) of either; of a folder
            the newest trace (of `worker`, where one is named) is read, and the report says what
            was left out.
        worker: name of the worker, the part of the file's name before its time stamp.
        steps: names (or numbers) of the steps to report on; all steps by default.
        progress: called with the stage of the work and the fraction of it done.

    Raises:
        TraceError: the file cannot be read, or is not a trace.
        NotFoundError: no such worker or step.
        UsageError: an empty path.
    """
    if not str(path):
        raise UsageError("the path is empty; name a trace file, or a folder of them")
    chosen = choose_trace(path, worker)
    return open_trace(chosen.file, progress).report(steps).with_warnings(chosen.warnings)


def open_trace(path: str | Path | TraceFile, progress: Progress | None = None) -> OpenTrace:
    """Open a trace file: what is asked of it is loaded from the cache, or computed.

    All that a program has open takes `BYTES` of memory at most; what it used longest ago is
    computed again.
    """
    opened = CachedReader.from_environment().open(trace_file(path), progress)
    opened.budget = EVERYTHING_OPEN
    return opened


def load(
    path: str | Path | TraceFile, progress: Progress | None = None, count: Count = uncounted
) -> Analysis:
    """Analyze a trace file, as `CachedReader.analysis`.

    Raises:
        TraceError: the file cannot be read, or is no trace.
    """
    return CachedReader.from_environment().analysis(trace_file(path), progress, count)
