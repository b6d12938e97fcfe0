"""The report as `analyze` returns it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tb_hookview import schema
from tb_hookview.errors import UsageError
from tb_hookview.schema import ReportData

if TYPE_CHECKING:
    from tb_hookview.analysis.selection import Selection
    from tb_hookview.sql import Limits, Result
    from tb_hookview.tables.table import Table


class Report:
    """What a trace says: tables that convert to data frames, and the whole as JSON.

    Every table of the catalogue is an attribute; those that a type checker should know are below.
    """

    modules: Table[schema.Module]
    """Modules, parents before children."""
    syncs: Table[schema.Sync]
    """Times the host waited for a device, by start."""
    allocations: Table[schema.Allocation]
    """Calls that take or give back memory, by name, most expensive first."""
    findings: Table[schema.Finding]
    """What costs time and could be changed, most expensive first."""
    kernels: Table[schema.Kernel]
    """Kernels, copies and sets by name, most expensive first."""
    operators: Table[schema.Operator]
    """Operators and annotations by name."""
    breakdown: Table[schema.Breakdown]
    """Steps by torch_tb_profiler's categories."""
    devices: Table[schema.DeviceUse]
    """What each device did with its time."""
    streams: Table[schema.Stream]
    """Streams: device events, idle time between them, queue."""
    threads: Table[schema.Thread]
    """Threads of the host, busiest first."""
    memory_peaks: Table[schema.MemoryPeak]
    """Most bytes allocated on each device, in the trace and in each step."""
    memory_modules: Table[schema.MemoryModule]
    """Memory by module, at the peak and over time."""
    memory_operators: Table[schema.MemoryOperator]
    """Memory that operators allocated and freed, by name."""
    nodes: Table[schema.Node]
    """Autograd nodes by name."""
    steps: Table[schema.Step]
    """Steps, by start."""

    def __init__(
        self,
        data: ReportData,
        load: Callable[[], Selection] | None = None,
        counted: Callable[[], Report] | None = None,
    ) -> None:
        """Make a report.

        Args:
            data: its rows.
            load: returns what it was made of, for the tables at event level.
            counted: returns the report on the measured steps; None where this one is.
        """
        self.data = data
        self._load = load
        self._counted = cache(counted) if counted else None

    @property
    def counted(self) -> Report:
        """The report on the measured steps: its sums by the number of its steps are means.

        It is this one where steps were chosen, and of a trace that marks none.
        """
        return self if self._counted is None else self._counted()

    @property
    def verdict(self) -> schema.Verdict:
        """What decides the length of a step, by replays with one resource alone."""
        return self.data.verdict

    def tables(self) -> dict[str, Table[Any]]:
        """All tables by name; event-level tables are computed on first use."""
        selection = cache(self._selection)
        return {name: self._table(name, selection) for name in _names()}

    def table(self, name: str) -> Table[Any]:
        """One table.

        Raises:
            NotFoundError: there is none of that name.
        """
        return self._table(name, self._selection)

    def whatif(
        self, *, without: Iterable[str] = (), scale: Mapping[str, float] | None = None
    ) -> schema.WhatIf:
        """How long a step would take with something taken out or scaled, by a replay.

        Args:
            without: ids of findings that are to be gone, or of rules for all of theirs.
            scale: factors by what they are of: `host`, `launches`, `kernels`, `kind:KIND`,
                `kernel:NAME`, `module:PATH`, `communication`, `data`, `recomputation`, `syncs`.

        Raises:
            UsageError: there is nothing of that name, or a factor is none.
        """
        from tb_hookview.report.whatif import what_if

        return what_if(self._selection(), without, scale)

    def sql(self, query: str, limits: Limits | None = None) -> Result:
        """The answer to a query in SQL on the tables, read only; converts to data frames.

        Args:
            query: one query, in DuckDB's dialect.
            limits: most rows, seconds and megabytes.

        Raises:
            UsageError: duckdb or pyarrow is not installed, the query has a mistake, or it needs
                more than the limits allow.
        """
        from tb_hookview.sql import run, sources_of

        return run(query, sources_of(self.tables()), limits)

    @property
    def compiled(self) -> schema.CompiledGraphs | None:
        """Calls of compiled graphs and how many were placed on modules; None without the map."""
        return self.data.compiled

    def __getattr__(self, name: str) -> Table[Any]:
        """Return the table of that name."""
        if name not in _names():
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.table(name)

    def __dir__(self) -> list[str]:
        """Name the tables too."""
        return sorted({*super().__dir__(), *_names()})

    def _table(self, name: str, selection: Callable[[], Selection]) -> Table[Any]:
        from tb_hookview.tables.catalogue import entry, event_table, report_table

        computed = entry(name).computed
        return event_table(name, selection) if computed else report_table(name, self.data)

    def _selection(self) -> Selection:
        if self._load is None:
            raise UsageError("this report was made without its trace; analyze the trace again")
        return self._load()

    def with_warnings(self, warnings: Sequence[schema.TraceWarning]) -> Report:
        """The same report with more to say about its source."""
        if not warnings:
            return self
        trace = msgspec.structs.replace(
            self.data.trace, warnings=[*self.data.trace.warnings, *warnings]
        )
        return Report(msgspec.structs.replace(self.data, trace=trace), self._load, self._counted)

    def loaded_by(
        self, load: Callable[[], Selection], counted: Callable[[], Report] | None = None
    ) -> Report:
        """The same report without its analysis; `load` and `counted` return theirs on demand."""
        return Report(self.data, load, counted)

    def __repr__(self) -> str:
        """Summarize in one line."""
        data = self.data
        return (
            f"<Report of {data.trace.path}: {len(data.steps)} steps, {len(data.modules)} modules, "
            f"{len(data.syncs)} syncs, {len(data.findings)} findings>"
        )

    def __str__(self) -> str:
        """Summarize in some lines."""
        from tb_hookview.report.summary.plain import plain_summary

        return plain_summary(self.data, self.counted.data)

    def _repr_html_(self) -> str:
        """HTML that a notebook shows of the report: the tables of the summary."""
        from tb_hookview.report.summary.html import html_summary

        return html_summary(self.data, self.counted.data)

    def to_json(self) -> str:
        """The whole report as JSON."""
        return self.to_bytes().decode()

    def to_bytes(self) -> bytes:
        """The whole report as JSON in UTF-8."""
        return msgspec.json.encode(self.data)


def _names() -> Iterable[str]:
    """Return the names of all tables."""
    from tb_hookview.tables.catalogue import CATALOGUE

    return CATALOGUE


def path_as_text(path: str | Path) -> str:
    """A path as the report gives it: a file's name may not be text."""
    return str(path).encode("utf-8", "replace").decode()
