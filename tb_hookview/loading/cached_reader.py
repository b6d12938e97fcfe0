"""Reads trace files, or loads what is cached of them: columns and reports.

What a cached report does not need is imported when it is needed: numpy, rules and reader take
longer to import than such a report takes to load.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from tb_hookview.cache import Cache, File, FileState, Source, later, opened, source_of
from tb_hookview.decoders import decoder
from tb_hookview.errors import TraceError, UsageError
from tb_hookview.progress import Count, Progress, silent, uncounted
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.report.result import path_as_text
from tb_hookview.schema import COUNTED, ReportData, whole_step_us
from tb_hookview.schema.findings import Bound
from tb_hookview.schema.terms import Us
from tb_hookview.trace.format.vocabulary import EVERYTHING
from tb_hookview.trace.source.file import LocalFile, TraceFile
from tb_hookview.trace.source.inflate import (
    SMALLEST_SHARE,
    Limits,
    estimated_size,
    limits_from_environment,
)
from tb_hookview.workers.limits import processes

if TYPE_CHECKING:
    from tb_hookview.analysis.analysis import Analysis
    from tb_hookview.trace import Trace, Wanted
    from tb_hookview.workers.pool import Workers


# Reports in the cache, as JSON.


OUTLINE = "outline"


class Outline(Struct, frozen=True):
    """What a list shows of a trace."""

    step_us: Us | None
    devices: list[str]
    bound: Bound
    sentence: str


def store_outline(cache: Cache, file: File, state: FileState, data: ReportData) -> None:
    """Cache the outline of a report on the measured steps of a file in some state.

    Raises:
        OSError: it cannot be written.
    """
    outline = Outline(
        step_us=whole_step_us(data),
        devices=list(dict.fromkeys(device.name or device.kind for device in data.trace.devices)),
        bound=data.verdict.bound,
        sentence=data.verdict.sentence,
    )
    cache.put(OUTLINE, [msgspec.json.encode(outline)], repr(file), repr(state))


def outline_of(cache: Cache, file: File) -> Outline | None:
    """Return the cached outline of a file as it is now; None where there is none."""
    try:
        content = cache.get(OUTLINE, repr(file), repr(file.state()))
        return None if content is None else decoder(Outline).decode(content)
    except (OSError, msgspec.DecodeError):
        return None


KIND = "report"


class CachedReports(NamedTuple):
    """Reports on one state of a file, each on all of its trace or on some steps."""

    source: Source
    path: str
    """Address of the file now: content that was moved is the same."""

    def load(self, steps: Sequence[str] | None) -> ReportData | None:
        """Return a report; None where none is cached."""
        content = self.source.get(KIND, *(steps or ()))
        if content is None:
            return None
        try:
            data = decoder(ReportData).decode(content)
        except (msgspec.DecodeError, ValueError):
            self.source.drop(KIND, *(steps or ()))
            return None
        if outline_of(self.source.cache, self.source.file) is None:  # it was moved, or touched
            later(lambda: self._outline(steps, data, self.source.file.state()))
        return _at(data, path_as_text(self.path))

    def store(self, steps: Sequence[str] | None, report: Callable[[], ReportData]) -> None:
        """Cache what is returned, on another thread."""
        later(lambda: self.put(steps, report()))

    def put(self, steps: Sequence[str] | None, data: ReportData) -> bool:
        """Cache a report.

        Returns:
            Whether it is cached.

        Raises:
            OSError: it cannot be written.
        """
        state = self.source.file.state()
        stored = self.source.put(KIND, [msgspec.json.encode(_at(data, ""))], *(steps or ()))
        if stored:
            self._outline(steps, data, state)
        return stored

    def _outline(self, steps: Sequence[str] | None, data: ReportData, state: FileState) -> None:
        if not steps or list(steps) == [COUNTED]:
            store_outline(self.source.cache, self.source.file, state, data)


def _at(data: ReportData, path: str) -> ReportData:
    trace = msgspec.structs.replace(data.trace, path=path)
    return msgspec.structs.replace(data, trace=trace)


CACHED_FROM = 1 << 15
"""Traces of fewer bytes as stored are read as quickly as their columns are."""


class CachedReader:
    """Reads trace files, or loads what is cached of them. Safe to use from many threads.

    Args:
        limits: how much is read of a file.
        cache: where columns and reports are stored; None for nowhere.
        processes: how many read one file at most, this one included.
    """

    def __init__(self, limits: Limits, cache: Cache | None, processes: int) -> None:
        self._limits, self._cache, self._processes = limits, cache, processes

    @classmethod
    def from_environment(cls) -> CachedReader:
        """Return a reader as the environment variables say.

        Raises:
            UsageError: one of them has no such value.
        """
        return cls(limits_from_environment(), opened(), processes())

    def open(self, file: TraceFile, progress: Progress | None = None) -> OpenTrace:
        """Return a trace that is read, in this thread, when its analysis is first needed."""

        def read() -> Analysis:
            if "tb_hookview.trace.reader" not in sys.modules:
                self.prepare(file)
            return self.analysis(file, progress)

        return OpenTrace(read, lambda: self.reports(file))

    def reports(self, file: TraceFile) -> CachedReports | None:
        """Return the cached reports on a file as it is now; None where caching is off."""
        source = source_of(file, self._cache)
        return CachedReports(source, file.address) if source else None

    def outline(self, file: TraceFile) -> Outline | None:
        """Return what is known of a file of this machine without reading it; None for nothing."""
        if self._cache is None or not isinstance(file, LocalFile):
            return None  # of a store even the state costs a request each
        return outline_of(self._cache, file)

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
        from tb_hookview.analysis.analysis import analyze_trace
        from tb_hookview.loading import columns

        say = progress or silent
        source = self._source_of_columns(file)
        trace = columns.load(source, file) if source else None
        if trace is None:
            trace = self._read(file, say, count, wanted or EVERYTHING)
            if source and wanted is None:
                later(partial(columns.store, source, trace))
        else:
            count(trace.event_count)
        say("attribution", None)
        return analyze_trace(trace)

    def fill(self, file: TraceFile) -> bool:
        """Cache columns and reports of a trace file, and be done only then.

        Returns:
            Whether anything was missing.

        Raises:
            TraceError: the file cannot be read, or is no trace.
            UsageError: it cannot be cached.
            OSError: the cache cannot be written.
        """
        from tb_hookview.analysis.analysis import analyze_trace
        from tb_hookview.loading import columns

        reports = self.reports(file)
        if reports is None:
            self._read(file)  # and so say what is wrong with it
            reason = "it is no ordinary file, or caching is off"
            raise UsageError(f"{file.address}: cannot be cached; {reason}")
        source = self._source_of_columns(file)
        trace = columns.load(source, file) if source else None
        complete = trace is not None or source is None
        if complete and reports.load(None):
            return False
        read = trace or self._read(file)
        complete = complete or (source is not None and columns.store(source, read))
        built = OpenTrace(lambda: analyze_trace(read))
        stored = reports.put(None, built.data())
        if built.data().per_step.marked:
            stored = reports.put([COUNTED], built.data([COUNTED])) and stored
        if not (stored and complete):
            reason = "it was written to meanwhile, or is larger than the cache may be"
            raise UsageError(f"{file.address}: cannot be cached; {reason}")
        return True

    def prepare(self, file: TraceFile) -> None:
        """Start the other processes that reading a file is worth.

        What has to be imported first takes them as long as this one.
        """
        if others := self._others(file):
            self._workers.prepare(others)

    def _read(
        self,
        file: TraceFile,
        say: Progress = silent,
        count: Count = uncounted,
        wanted: Wanted = EVERYTHING,
    ) -> Trace:
        from tb_hookview.trace.reader import read_trace

        workers = self._workers if self._others(file) else None
        if workers and not file.bring(say):
            workers = None
        return read_trace(file, say, count, limits=self._limits, workers=workers, wanted=wanted)

    def _source_of_columns(self, file: TraceFile) -> Source | None:
        """What is cached of a file; None where that is as quickly read itself."""
        try:
            small = file.size < CACHED_FROM
        except (OSError, ValueError, TraceError):  # the reader says what is wrong with it
            return None
        return None if small else source_of(file, self._cache)

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
    def _workers(self) -> Workers:
        from tb_hookview.workers.pool import Workers

        return Workers(self._processes - 1, "tb_hookview.trace.reader")
