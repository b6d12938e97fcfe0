"""Traces below a root; the last ones analyzed are cached."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.errors import TraceError
from tb_hookview.loading import Loader
from tb_hookview.loading.choose import choose_trace
from tb_hookview.mcp.root import Root
from tb_hookview.report.markdown.rows import TracePath
from tb_hookview.report.result import Report
from tb_hookview.timeline.timeline import Timeline
from tb_hookview.trace import find_runs
from tb_hookview.trace.source.file import TraceFile

_KEPT = 2


class Traces:
    """Reports and timelines of the traces below a root.

    Args:
        root: the folder.
    """

    def __init__(self, root: Root) -> None:
        self.root = root
        self._loader = Loader.from_environment()
        self._analysis = lru_cache(_KEPT)(self._analyze)
        self._report = lru_cache(_KEPT)(self._report_on)
        self._timeline = lru_cache(1)(self._lanes)

    def listed(self) -> list[TracePath]:
        """All traces below the root, by run and worker."""
        return [
            TracePath(self._relative(trace.file.address), run.name, worker.name, trace.size)
            for run in find_runs(str(self.root.folder))
            for worker in run.workers
            for trace in worker.traces
        ]

    def report(self, path: str, worker: str = "") -> Report:
        """The report on a trace; of a folder on its newest.

        Raises:
            UsageError: the path is none below the root.
            NotFoundError: no such file or worker.
            TraceError: it cannot be read as a trace.
        """
        chosen = choose_trace(str(self.root.place(path)), worker or None)
        report = self._report(chosen.file, _stamp(chosen.file))
        return report.with_warnings(chosen.warnings)

    def timeline(self, path: str, worker: str = "") -> Timeline:
        """The timeline of a trace; raises as `report`."""
        chosen = choose_trace(str(self.root.place(path)), worker or None)
        return self._timeline(chosen.file, _stamp(chosen.file))

    def _analyze(self, file: TraceFile, _stamp: tuple[int, int]) -> Analysis:
        return self._loader.analysis(file)

    def _report_on(self, file: TraceFile, stamp: tuple[int, int]) -> Report:
        return self._loader.report(file, analysis=partial(self._analysis, file, stamp))

    def _lanes(self, file: TraceFile, stamp: tuple[int, int]) -> Timeline:
        return Timeline(self._analysis(file, stamp))

    def _relative(self, address: str) -> str:
        return Path(address).resolve().relative_to(self.root.folder).as_posix()


def _stamp(file: TraceFile) -> tuple[int, int]:
    """What changes when a file does."""
    try:
        found = Path(file.address).stat()
    except OSError as error:
        raise TraceError(file.address, f"cannot be read ({error.strerror})") from None
    return found.st_mtime_ns, found.st_size
