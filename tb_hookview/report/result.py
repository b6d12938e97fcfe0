"""The report as `analyze` returns it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tb_hookview import schema
from tb_hookview.errors import UsageError
from tb_hookview.schema import ReportData

if TYPE_CHECKING:
    from tb_hookview.document.document import Document
    from tb_hookview.report.open_trace import OpenTrace
    from tb_hookview.sql import Limits, Result
    from tb_hookview.tables.table import Table

_NOTEBOOK_ROWS = 10
"""Rows of each table in a notebook."""


class Report:
    """What a trace says: tables that convert to data frames, and the whole as JSON.

    Every table of the catalogue is an attribute; those that a type checker should know are below.
    """

    modules: Table[schema.Module]
    """Modules, parents before children."""
    syncs: Table[schema.Sync]
    """Times the host waited for a device, by start."""
    allocations: Table[schema.Allocation]
    """Calls that allocate or free device memory, by name, most expensive first."""
    findings: Table[schema.Finding]
    """What costs time and how to fix it, by estimated saving."""
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
        self, data: ReportData, source: OpenTrace | None = None, steps: Sequence[str] | None = None
    ) -> None:
        """Make a report.

        Args:
            data: its rows.
            source: the trace; None if there are only rows.
            steps: names of the steps that the report covers; all steps by default.
        """
        self.data = data
        self.source = source
        """The trace that it is on, for its other reports and tables."""
        self._steps = steps

    @property
    def counted(self) -> Report:
        """The report on the measured steps: its sums over the number of its steps are means.

        The same report if steps were chosen, or the trace marks none.
        """
        if self._steps or not self.data.per_step.marked or self.source is None:
            return self
        return self.source.report([schema.COUNTED])

    @property
    def verdict(self) -> schema.Verdict:
        """The bottleneck of a step, by replays with one resource alone."""
        return self.data.verdict

    def tables(self) -> dict[str, Table[Any]]:
        """All tables by name; event-level tables are computed on first use."""
        return {name: self.table(name) for name in _names()}

    def table(self, name: str) -> Table[Any]:
        """One table; raises as `OpenTrace.table`."""
        from tb_hookview.tables.catalogue import named_table

        return named_table(name, lambda: self.data, lambda of: self._trace.rows(of, self._steps))

    def whatif(
        self, *, without: Iterable[str] = (), scale: Mapping[str, float] | None = None
    ) -> schema.WhatIf:
        """How long a step would take with something taken out or scaled, by a replay.

        Args:
            without: ids of findings to remove, or of rules to remove all of theirs.
            scale: factors by what they multiply: `host`, `launches`, `kernels`, `kind:KIND`,
                `kernel:NAME`, `module:PATH`, `communication`, `data`, `kernel_loading`,
                `recomputation`, `syncs`.

        Raises:
            UsageError: an unknown name, or an invalid factor.
        """
        return self._trace.what_ifs(self._steps).answer(without, scale)

    def sql(self, query: str, limits: Limits | None = None) -> Result:
        """The answer to a query in SQL on the tables, read only; converts to data frames.

        Args:
            query: one query, in DuckDB's dialect.
            limits: limits on rows, seconds and megabytes.

        Raises:
            UsageError: duckdb or pyarrow is not installed, the query has an error, or it needs
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

    @property
    def _trace(self) -> OpenTrace:
        if self.source is None:
            raise UsageError("this report was made without its trace; analyze the trace again")
        return self.source

    def with_warnings(self, warnings: Sequence[schema.TraceWarning]) -> Report:
        """The same report with further warnings about its source."""
        if not warnings:
            return self
        trace = msgspec.structs.replace(
            self.data.trace, warnings=[*self.data.trace.warnings, *warnings]
        )
        return Report(msgspec.structs.replace(self.data, trace=trace), self.source, self._steps)

    def __repr__(self) -> str:
        """Summarize in one line."""
        data = self.data
        return (
            f"<Report of {data.trace.path}: {len(data.steps)} steps, {len(data.modules)} modules, "
            f"{len(data.syncs)} syncs, {len(data.findings)} findings>"
        )

    def brief(self, more: str = "") -> Document:
        """The bottleneck, the first findings and the top classes of modules."""
        from tb_hookview.report.summary.brief import brief_document

        return brief_document(self.data, self.counted.data, more)

    def summary(self, rows: int) -> Document:
        """The full summary, with at most `rows` rows per table."""
        from tb_hookview.report.summary.brief import whole_document

        return whole_document(self.data, self.counted.data, rows)

    def __str__(self) -> str:
        """Summarize in some lines."""
        from tb_hookview.document.plain import plain_text

        return plain_text(self.brief())

    def _repr_html_(self) -> str:
        """HTML that a notebook shows of the report: the summary."""
        from tb_hookview.document.html import document_html

        return document_html(self.summary(_NOTEBOOK_ROWS))

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
