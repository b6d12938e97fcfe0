"""The report as it is handed out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tb_hookview import schema
from tb_hookview.schema import ReportData
from tb_hookview.tables.notebook import report_html
from tb_hookview.tables.table import Table


class Report:
    """What a trace says: tables that convert to pandas and polars, and the whole as JSON."""

    def __init__(self, data: ReportData) -> None:
        self.data = data

    @property
    def modules(self) -> Table[schema.Module]:
        """Modules, parents before children."""
        return Table(schema.Module, self.data.modules)

    @property
    def syncs(self) -> Table[schema.Sync]:
        """Waits of the host, by start."""
        return Table(schema.Sync, self.data.syncs)

    @property
    def allocations(self) -> Table[schema.Allocation]:
        """Calls that take or give back memory, by name, dearest first."""
        return Table(schema.Allocation, self.data.allocations)

    @property
    def findings(self) -> Table[schema.Finding]:
        """What costs time and could be changed, dearest first."""
        return Table(schema.Finding, self.data.findings)

    @property
    def kernels(self) -> Table[schema.Kernel]:
        """Device work by name, dearest first."""
        return Table(schema.Kernel, self.data.kernels)

    @property
    def operators(self) -> Table[schema.Operator]:
        """Operators and annotations by name."""
        return Table(schema.Operator, self.data.operators)

    @property
    def breakdown(self) -> Table[schema.Breakdown]:
        """Steps by torch_tb_profiler's categories."""
        return Table(schema.Breakdown, self.data.breakdown)

    @property
    def devices(self) -> Table[schema.DeviceUse]:
        """What each device did with its time."""
        return Table(schema.DeviceUse, self.data.devices)

    @property
    def streams(self) -> Table[schema.Stream]:
        """Streams: work, pauses, queue."""
        return Table(schema.Stream, self.data.streams)

    @property
    def threads(self) -> Table[schema.Thread]:
        """Threads of the host, busiest first."""
        return Table(schema.Thread, self.data.threads)

    @property
    def nodes(self) -> Table[schema.Node]:
        """Autograd nodes by name."""
        return Table(schema.Node, self.data.nodes)

    @property
    def steps(self) -> Table[schema.Step]:
        """Steps, by start."""
        return Table(schema.Step, self.data.steps)

    def with_warnings(self, warnings: Sequence[schema.TraceWarning]) -> Report:
        """The same report with more to say about its source."""
        if not warnings:
            return self
        trace = msgspec.structs.replace(
            self.data.trace, warnings=[*self.data.trace.warnings, *warnings]
        )
        return Report(msgspec.structs.replace(self.data, trace=trace))

    def _repr_html_(self) -> str:
        """What a notebook shows of the report."""
        return report_html(self.data)

    def to_json(self) -> str:
        """The whole report as JSON."""
        return self.to_bytes().decode()

    def to_bytes(self) -> bytes:
        """The whole report as JSON in UTF-8."""
        return msgspec.json.encode(self.data)


def path_as_text(path: str | Path) -> str:
    """A path as the report tells it: a file's name may be no text."""
    return str(path).encode("utf-8", "replace").decode()
