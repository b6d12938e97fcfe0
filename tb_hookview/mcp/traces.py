"""Traces below a root, with what is open of them."""

from __future__ import annotations

from pathlib import Path

from tb_hookview.loading import CachedReader
from tb_hookview.loading.choose import choose_trace
from tb_hookview.loading.store import trace_store
from tb_hookview.mcp.root import RootFolder
from tb_hookview.mcp.rows import TracePath
from tb_hookview.report.opened import BYTES, Budget
from tb_hookview.report.result import Report
from tb_hookview.timeline.timeline import Timeline
from tb_hookview.trace import find_runs


class Traces:
    """Reports and timelines of the traces below a root.

    Args:
        root: the folder.
    """

    def __init__(self, root: RootFolder) -> None:
        self.root = root
        reader = CachedReader.from_environment()
        self._store = trace_store(lambda: reader, Budget(BYTES))

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
        report = self._store.ask(chosen.file, lambda opened: opened.report())
        return report.with_warnings(chosen.warnings)

    def timeline(self, path: str, worker: str = "") -> Timeline:
        """The timeline of a trace; raises as `report`."""
        chosen = choose_trace(str(self.root.place(path)), worker or None)
        return self._store.ask(chosen.file, lambda opened: opened.timeline)

    def _relative(self, address: str) -> str:
        return Path(address).resolve().relative_to(self.root.folder).as_posix()
