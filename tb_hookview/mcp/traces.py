"""Traces and runs that may be asked for, below one folder."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath

from tb_hookview.addresses.text import is_address
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.formats import printable
from tb_hookview.loading import CachedReader
from tb_hookview.loading.choose import choose_trace
from tb_hookview.loading.store import trace_store
from tb_hookview.mcp.lists import TracePath
from tb_hookview.report.open_trace import BYTES, Budget
from tb_hookview.report.result import Report
from tb_hookview.timeline.timeline import Timeline
from tb_hookview.trace import find_runs


class RootFolder:
    """A folder of this machine.

    Args:
        folder: its path.

    Raises:
        UsageError: there is no such folder.
    """

    def __init__(self, folder: str) -> None:
        if is_address(folder) or not Path(folder).is_dir():
            raise UsageError(f"{folder}: no folder of this machine; name one with --root")
        self.folder = Path(folder).resolve()

    def place(self, path: str) -> Path:
        """The file or folder of a path relative to the root; "" or "." is the root itself.

        Raises:
            UsageError: it is no such path, or leads out of the root, by a link too.
            NotFoundError: nothing is there.
        """
        said = printable(path[:200])
        if is_address(path) or not path.isprintable() or _is_absolute(path):
            raise UsageError(f"{said}: give a path relative to the root, as `runs` lists them")
        full = (self.folder / path).resolve()
        if not full.is_relative_to(self.folder):
            raise UsageError(f"{said}: outside of the root; `runs` lists what is below it")
        if not full.exists():
            raise NotFoundError(f"{said}: nothing there; `runs` lists what is below the root")
        return full

    def without(self, text: str) -> str:
        """The text with paths below the root relative to it."""
        return text.replace(f"{self.folder}/", "").replace(str(self.folder), ".")


def _is_absolute(path: str) -> bool:
    windows = PureWindowsPath(path)
    return path.startswith(("/", "\\", "~")) or bool(windows.drive or windows.root)


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
