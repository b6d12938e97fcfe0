"""From a trace file to its analysis and its report, through the cache.

What makes them is imported as it is needed: a cached report is loaded without numpy, rules and
reader, which take longer to import than it takes to read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tb_hookview.cache import Cache, Source, later, opened, source_of
from tb_hookview.errors import TraceError, UsageError
from tb_hookview.loading import reports
from tb_hookview.progress import Count, Progress, silent, uncounted
from tb_hookview.trace.plan import SMALLEST_SHARE
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.trace.source.limits import Limits, limits_from_environment
from tb_hookview.trace.source.size import estimated_size
from tb_hookview.workers.count import processes

if TYPE_CHECKING:
    from tb_hookview.analysis.analysis import Analysis
    from tb_hookview.analysis.selection import Selection
    from tb_hookview.report.result import Report
    from tb_hookview.trace import Trace
    from tb_hookview.workers.pool import Workers

CACHED_FROM = 1 << 15
"""Traces of fewer bytes as stored are read as quickly as their columns are."""


class Loader:
    """Reads trace files, or loads what is cached of them. Safe to use from many threads.

    Args:
        limits: how much is read of a file.
        cache: where columns and reports are stored; None for nowhere.
        processes: how many read one file at most, this one included.
    """

    def __init__(self, limits: Limits, cache: Cache | None, processes: int) -> None:
        self._limits, self._cache, self._processes = limits, cache, processes

    @classmethod
    def from_environment(cls) -> Loader:
        """Return a loader as the environment variables say.

        Raises:
            UsageError: one of them has no such value.
        """
        return cls(limits_from_environment(), opened(), processes())

    def analysis(
        self, file: TraceFile, progress: Progress | None = None, count: Count = uncounted
    ) -> Analysis:
        """Analyze a trace file, from its columns where these are cached.

        What `progress` or `count` raises ends the work.

        Raises:
            TraceError: the file cannot be read, or is no trace.
        """
        from tb_hookview.analysis.analysis import analyze_trace
        from tb_hookview.loading import columns

        say = progress or silent
        source = self._source_of_columns(file)
        trace = columns.load(source, file.address) if source else None
        if trace is None:
            trace = self._read(file, say, count)
            if source:
                read, missing = trace, source
                later(lambda: columns.store(missing, read))
        else:
            count(trace.event_count)
        say("attribution", None)
        return analyze_trace(trace)

    def report(
        self,
        file: TraceFile,
        steps: Sequence[str] | None = None,
        progress: Progress | None = None,
        analysis: Callable[[], Analysis] | None = None,
    ) -> Report:
        """Report on a trace file, on all of it or on some steps.

        Args:
            file: the file.
            steps: names of the steps.
            progress: called with the stage of the work and the fraction of it done.
            analysis: returns the analysis where no report is cached; by default that of `analysis`.

        Raises:
            NotFoundError: the trace has no step of that name.
            TraceError: the file cannot be read, or is no trace.
        """
        analyze = analysis or (lambda: self.analysis(file, progress))

        def selection() -> Selection:
            from tb_hookview.analysis.selection import select

            return select(analyze(), steps)

        source = source_of(file, self._cache)
        report = reports.load(source, file.address, steps) if source else None
        if report is None:
            report = self._build(file, analyze, source, steps)
        return report.loaded_by(selection)

    def _build(
        self,
        file: TraceFile,
        analyze: Callable[[], Analysis],
        source: Source | None,
        steps: Sequence[str] | None,
    ) -> Report:
        """Build a report, and store it for the next time."""
        if "tb_hookview.report.build" not in sys.modules:
            self.prepare(file)
        from tb_hookview.report.build import build_report

        report = build_report(analyze(), steps)
        if source:
            later(lambda: reports.store(source, steps, report))
        return report

    def fill(self, file: TraceFile) -> bool:
        """Cache columns and report of a trace file, and be done only then.

        Returns:
            Whether anything was missing.

        Raises:
            TraceError: the file cannot be read, or is no trace.
            UsageError: it cannot be cached.
            OSError: the cache cannot be written.
        """
        from tb_hookview.analysis.analysis import analyze_trace
        from tb_hookview.loading import columns
        from tb_hookview.report.build import build_report

        source = source_of(file, self._cache)
        if source is None:
            self._read(file, silent, uncounted)  # and so say what is wrong with it
            reason = "it is no ordinary file, or caching is off"
            raise UsageError(f"{file.address}: cannot be cached; {reason}")
        of_columns = self._source_of_columns(file)
        trace = columns.load(of_columns, file.address) if of_columns else None
        complete = trace is not None or of_columns is None
        if complete and reports.load(source, file.address, None):
            return False
        trace = trace or self._read(file, silent, uncounted)
        if not complete and of_columns:
            complete = columns.store(of_columns, trace)
        if not (reports.store(source, None, build_report(analyze_trace(trace))) and complete):
            reason = "it was written to meanwhile, or is larger than the cache may be"
            raise UsageError(f"{file.address}: cannot be cached; {reason}")
        return True

    def prepare(self, file: TraceFile) -> None:
        """Start the other processes that reading a file is worth.

        What has to be imported first takes them as long as this one.
        """
        if others := self._others(file):
            self._workers.prepare(others)

    def _others(self, file: TraceFile) -> int:
        """Return the number of further processes that reading a file is worth."""
        try:
            shares = estimated_size(file) // SMALLEST_SHARE if self._processes > 1 else 1
        except (OSError, TraceError):  # the reader says what is wrong with it
            return 0
        return max(0, min(shares, self._processes) - 1)

    def _read(self, file: TraceFile, say: Progress, count: Count) -> Trace:
        from tb_hookview.trace.reader import read_trace

        workers = self._workers if self._others(file) else None
        return read_trace(file, say, count, limits=self._limits, workers=workers)

    @cached_property
    def _workers(self) -> Workers:
        from tb_hookview.workers.pool import Workers

        return Workers(self._processes - 1, "tb_hookview.trace.shares")

    def _source_of_columns(self, file: TraceFile) -> Source | None:
        """Return the cache of a file; None for one read as quickly without."""
        try:
            small = file.size < CACHED_FROM
        except (OSError, ValueError):  # the reader says what is wrong with it
            return None
        return None if small else source_of(file, self._cache)
