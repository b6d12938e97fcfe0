"""From a trace file to its analysis and its report: what is not cached is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tb_hookview.analysis.analysis import Analysis, analyze_trace
from tb_hookview.analysis.selection import Selection, select
from tb_hookview.cache import Cache, Source, later, source_of
from tb_hookview.errors import TraceError, UsageError
from tb_hookview.loading import columns, reports
from tb_hookview.progress import Count, Progress, silent, uncounted
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.schema import COUNTED
from tb_hookview.trace import Trace, Wanted, reader
from tb_hookview.trace.format.wanted import EVERYTHING
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.trace.source.limits import Limits

if TYPE_CHECKING:
    from tb_hookview.workers.pool import Workers

CACHED_FROM = 1 << 15
"""Traces of fewer bytes as stored are read as quickly as their columns are."""


class Analyzer:
    """Computes what a `Loader` finds no cached report for.

    Args:
        limits: how much is read of a file.
        cache: where columns and reports are stored; None for nowhere.
        workers: returns the other processes that reading a file is worth, None for none.
    """

    def __init__(
        self, limits: Limits, cache: Cache | None, workers: Callable[[TraceFile], Workers | None]
    ) -> None:
        self._limits, self._cache, self._workers = limits, cache, workers

    def analysis(
        self,
        file: TraceFile,
        progress: Progress | None,
        count: Count,
        wanted: Wanted | None = None,
    ) -> Analysis:
        """As `Loader.analysis`."""
        say = progress or silent
        source = self._source_of_columns(file)
        trace = columns.load(source, file) if source else None
        if trace is None:
            trace = self._read(file, say, count, wanted or EVERYTHING)
            if source and wanted is None:
                read, missing = trace, source
                later(lambda: columns.store(missing, read))
        else:
            count(trace.event_count)
        say("attribution", None)
        return analyze_trace(trace)

    def report(
        self, analysis: Analysis, steps: Sequence[str] | None, source: Source | None
    ) -> Report:
        """Build a report, and store it for the next time with that on the measured steps."""
        report = build_report(analysis, steps)
        if source:
            later(lambda: _store(source, steps, report))
        return report

    def selection(self, analysis: Analysis, steps: Sequence[str] | None) -> Selection:
        """The rows that a report on some steps is about."""
        return select(analysis, steps)

    def fill(self, file: TraceFile) -> bool:
        """As `Loader.fill`."""
        source = source_of(file, self._cache)
        if source is None:
            self._read(file, silent, uncounted)  # and so say what is wrong with it
            reason = "it is no ordinary file, or caching is off"
            raise UsageError(f"{file.address}: cannot be cached; {reason}")
        of_columns = self._source_of_columns(file)
        trace = columns.load(of_columns, file) if of_columns else None
        complete = trace is not None or of_columns is None
        if complete and reports.load(source, file.address, None):
            return False
        trace = trace or self._read(file, silent, uncounted)
        if not complete and of_columns:
            complete = columns.store(of_columns, trace)
        if not (_store(source, None, build_report(analyze_trace(trace))) and complete):
            reason = "it was written to meanwhile, or is larger than the cache may be"
            raise UsageError(f"{file.address}: cannot be cached; {reason}")
        return True

    def _read(
        self, file: TraceFile, say: Progress, count: Count, wanted: Wanted = EVERYTHING
    ) -> Trace:
        workers = self._workers(file)
        if workers and not file.bring(say):
            workers = None
        return reader.read_trace(
            file, say, count, limits=self._limits, workers=workers, wanted=wanted
        )

    def _source_of_columns(self, file: TraceFile) -> Source | None:
        """What is cached of a file; None where that is as quickly read itself."""
        try:
            small = file.size < CACHED_FROM
        except (OSError, ValueError, TraceError):  # the reader says what is wrong with it
            return None
        return None if small else source_of(file, self._cache)


def _store(source: Source, steps: Sequence[str] | None, report: Report) -> bool:
    stored = reports.store(source, steps, report)
    counted = report.counted
    return stored and (counted is report or reports.store(source, [COUNTED], counted))
