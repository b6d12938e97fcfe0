"""From a trace file to its analysis and its report, through the cache.

Two imports wait until they are needed: a cached report is loaded without numpy, rules and reader,
which take longer to import than it takes to read, and without processes of our own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import ref

from tb_hookview.cache import Cache, opened, source_of
from tb_hookview.errors import TraceError
from tb_hookview.loading import reports
from tb_hookview.progress import Count, Progress, uncounted
from tb_hookview.schema import COUNTED
from tb_hookview.trace.plan import SMALLEST_SHARE
from tb_hookview.trace.source.file import LocalFile, TraceFile
from tb_hookview.trace.source.limits import Limits, limits_from_environment
from tb_hookview.trace.source.size import estimated_size
from tb_hookview.workers.count import processes

if TYPE_CHECKING:
    from tb_hookview.analysis.analysis import Analysis
    from tb_hookview.analysis.selection import Selection
    from tb_hookview.loading.analyzer import Analyzer
    from tb_hookview.report.result import Report
    from tb_hookview.trace import Wanted
    from tb_hookview.workers.pool import Workers

_ANALYZER = "tb_hookview.loading.analyzer"


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
        self,
        file: TraceFile,
        progress: Progress | None = None,
        count: Count = uncounted,
        wanted: Wanted | None = None,
    ) -> Analysis:
        """Analyze a trace file, from its columns where these are cached.

        What `progress` or `count` raises ends the work. An analysis of what is `wanted` of the
        events, by default everything, answers only what needs no more of them.

        Raises:
            TraceError: the file cannot be read, or is no trace.
        """
        return self._analyzer.analysis(file, progress, count, wanted)

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
        source = source_of(file, self._cache)
        cached = reports.load(source, file.address, steps) if source else None
        if cached is None and _ANALYZER not in sys.modules:
            self.prepare(file)
        report = cached or self._analyzer.report(analyze(), steps, source)

        def load(chosen: Sequence[str] | None) -> Callable[[], Selection]:
            return lambda: self._analyzer.selection(analyze(), chosen)

        if steps or not report.data.per_step.marked:
            return report.loaded_by(load(steps))
        # Whoever stores the report holds it; then the cache has the other, or the analysis of
        # the caller makes it, who alone decides how many analyses are in memory.
        built: Callable[[], Report | None] = ref(report) if source or analysis else lambda: report

        def counted() -> Report:
            if cached is None and (made := built()):
                return made.counted.loaded_by(load([COUNTED]))
            return self.report(file, [COUNTED], progress, analysis)

        return report.loaded_by(load(steps), counted)

    def fill(self, file: TraceFile) -> bool:
        """Cache columns and report of a trace file, and be done only then.

        Returns:
            Whether anything was missing.

        Raises:
            TraceError: the file cannot be read, or is no trace.
            UsageError: it cannot be cached.
            OSError: the cache cannot be written.
        """
        return self._analyzer.fill(file)

    def prepare(self, file: TraceFile) -> None:
        """Start the other processes that reading a file is worth.

        What has to be imported first takes them as long as this one.
        """
        if others := self._others(file):
            self._workers.prepare(others)

    def _others(self, file: TraceFile) -> int:
        """Return the number of further processes that reading a file is worth."""
        if self._cache is None and not isinstance(file, LocalFile):
            return 0  # each would fetch it
        try:
            shares = estimated_size(file) // SMALLEST_SHARE if self._processes > 1 else 1
        except (OSError, TraceError):  # the reader says what is wrong with it
            return 0
        return max(0, min(shares, self._processes) - 1)

    @cached_property
    def _analyzer(self) -> Analyzer:
        from tb_hookview.loading.analyzer import Analyzer

        return Analyzer(
            self._limits, self._cache, lambda file: self._workers if self._others(file) else None
        )

    @cached_property
    def _workers(self) -> Workers:
        from tb_hookview.workers.pool import Workers

        return Workers(self._processes - 1, "tb_hookview.trace.shares")
