"""The report as `analyze` returns it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tb_hookview import schema
from tb_hookview.errors import UsageError
from tb_hookview.schema import ReportData
from tb_hookview.tables.catalogue import CATALOGUE, entry, event_table, report_table
from tb_hookview.tables.notebook import report_html
from tb_hookview.tables.table import Table

if TYPE_CHECKING:
    from tb_hookview.analysis.selection import Selection


class Report:
    """The analysis of a trace as tables that convert to data frames and JSON."""

    def __init__(self, data: ReportData, load: Callable[[], Selection] | None = None) -> None:
        """Make a report.

        Args:
            data: its rows.
            load: returns what it was made of, for the tables at event level.
        """
        self.data = data
        self._load = load

    def tables(self) -> dict[str, Table[Any]]:
        """All tables by name; event-level tables are computed on first use."""
        selection = cache(self._selection)
        return {name: self._table(name, selection) for name in CATALOGUE}

    def table(self, name: str) -> Table[Any]:
        """One table.

        Raises:
            NotFoundError: there is none of that name.
        """
        return self._table(name, self._selection)

    def _table(self, name: str, selection: Callable[[], Selection]) -> Table[Any]:
        computed = entry(name).computed
        return event_table(name, selection) if computed else report_table(name, self.data)

    def _selection(self) -> Selection:
        if self._load is None:
            raise UsageError("this report was made without its trace; analyze the trace again")
        return self._load()

    @property
    def modules(self) -> Table[schema.Module]:
        """Modules, parents before children."""
        return self.table("modules")

    @property
    def syncs(self) -> Table[schema.Sync]:
        """Times the host waited for a device, by start."""
        return self.table("syncs")

    @property
    def allocations(self) -> Table[schema.Allocation]:
        """Calls that take or give back memory, by name, most expensive first."""
        return self.table("allocations")

    @property
    def findings(self) -> Table[schema.Finding]:
        """Findings of the rules, most expensive first."""
        return self.table("findings")

    @property
    def kernels(self) -> Table[schema.Kernel]:
        """Kernels, copies and sets by name, most expensive first."""
        return self.table("kernels")

    @property
    def operators(self) -> Table[schema.Operator]:
        """Operators and annotations by name."""
        return self.table("operators")

    @property
    def breakdown(self) -> Table[schema.Breakdown]:
        """Steps by torch_tb_profiler's categories."""
        return self.table("breakdown")

    @property
    def devices(self) -> Table[schema.DeviceUse]:
        """Devices: busy time by use, and how well their kernels fit."""
        return self.table("devices")

    @property
    def streams(self) -> Table[schema.Stream]:
        """Streams: device events, idle time between them, queue."""
        return self.table("streams")

    @property
    def threads(self) -> Table[schema.Thread]:
        """Threads of the host, busiest first."""
        return self.table("threads")

    @property
    def nodes(self) -> Table[schema.Node]:
        """Autograd nodes by name."""
        return self.table("nodes")

    @property
    def steps(self) -> Table[schema.Step]:
        """Steps, by start."""
        return self.table("steps")

    def with_warnings(self, warnings: Sequence[schema.TraceWarning]) -> Report:
        """The same report with more to say about its source."""
        if not warnings:
            return self
        trace = msgspec.structs.replace(
            self.data.trace, warnings=[*self.data.trace.warnings, *warnings]
        )
        return Report(msgspec.structs.replace(self.data, trace=trace), self._load)

    def loaded_by(self, load: Callable[[], Selection]) -> Report:
        """The same report without its analysis; `load` returns one on demand."""
        return Report(self.data, load)

    def __repr__(self) -> str:
        """Summarize in one line."""
        data = self.data
        return (
            f"<Report of {data.trace.path}: {len(data.steps)} steps, {len(data.modules)} modules, "
            f"{len(data.syncs)} syncs, {len(data.findings)} findings>"
        )

    def _repr_html_(self) -> str:
        """HTML that a notebook shows of the report."""
        return report_html(self.data)

    def to_json(self) -> str:
        """The whole report as JSON."""
        return self.to_bytes().decode()

    def to_bytes(self) -> bytes:
        """The whole report as JSON in UTF-8."""
        return msgspec.json.encode(self.data)


def path_as_text(path: str | Path) -> str:
    """A path as the report gives it: a file's name may not be text."""
    return str(path).encode("utf-8", "replace").decode()
