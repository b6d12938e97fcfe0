"""Analyses of traces that were read before, by means of the cache."""

from __future__ import annotations

from pathlib import Path

from tb_hookview.analysis.analysis import Analysis, analyze_trace
from tb_hookview.analysis.analysis import load as read_anew
from tb_hookview.cache import Source, about, later
from tb_hookview.errors import UsageError
from tb_hookview.loading import cached_columns as columns
from tb_hookview.loading.cached_report import keep, recall
from tb_hookview.progress import Count, Progress, silent, uncounted
from tb_hookview.report.build import build_report


def load(path: str | Path, progress: Progress | None = None, count: Count = uncounted) -> Analysis:
    """Analyze a trace file, from its columns where these are kept; they are kept for the next time.

    What `progress` or `count` raises ends the work.

    Raises:
        TraceError: the file cannot be read, or is no trace.
    """
    source = _of_columns(Path(path))
    if source is None:
        return read_anew(path, progress, count)
    say = progress or silent
    found = columns.recall(source, str(path))
    if found is None:
        analysis = read_anew(path, progress, count)
        later(lambda: columns.keep(source, analysis.trace))
        return analysis
    count(found.event_count)
    say("attribution", None)
    return analyze_trace(found)


def fill(path: Path) -> bool:
    """Keep columns and report of a trace file for later, and be done only then.

    Returns:
        Whether anything was missing.

    Raises:
        TraceError: the file cannot be read, or is no trace.
        UsageError: it cannot be kept.
        OSError: the cache cannot be written.
    """
    source = about(path)
    if source is None:
        read_anew(path)  # and so say what is wrong with it
        raise UsageError(f"{path}: cannot be kept; it is no ordinary file, or caching is off")
    of_columns = _of_columns(path)
    trace = columns.recall(of_columns, str(path)) if of_columns else None
    complete = trace is not None or of_columns is None
    if complete and recall(source, None):
        return False
    analysis = analyze_trace(trace) if trace else read_anew(path)
    if of_columns and not trace:
        complete = columns.keep(of_columns, analysis.trace)
    if not (keep(source, None, build_report(analysis)) and complete):
        reason = "it was written to meanwhile, or is larger than the cache may be"
        raise UsageError(f"{path}: cannot be kept; {reason}")
    return True


def _of_columns(path: Path) -> Source | None:
    """The file as a source of columns; None where it is as quickly read itself."""
    try:
        small = path.stat().st_size < columns.SMALLEST
    except (OSError, ValueError):  # the reader says what is wrong with it
        return None
    return None if small else about(path)
