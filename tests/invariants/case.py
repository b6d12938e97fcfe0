"""A trace and what is made of it: each thing once, when an invariant first asks for it."""

from __future__ import annotations

import gzip
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import gallery
import msgspec

from tb_hookview.analysis.analysis import Analysis, analyze_trace
from tb_hookview.analysis.selection import Selection
from tb_hookview.errors import TraceError
from tb_hookview.ranks.map.summary import Mapped, summarize
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.schema import ReportData
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.timeline import Timeline
from tb_hookview.trace import Trace, read_trace

SMALL = 1_200_000
"""Bytes of a file that a slow, obvious reading gets through quickly; every era is among them."""


class Case:
    """One trace for the invariants.

    Args:
        source: a trace, or the file to read it from.
    """

    def __init__(self, source: Trace | Path) -> None:
        self.file = source if isinstance(source, Path) else None
        self._given = source if isinstance(source, Trace) else None
        self._of_steps: dict[str, Report] = {}
        self._columns: dict[str, dict[str, list[Any]]] = {}

    @property
    def path(self) -> Path:
        """The file; only invariants of files ask for it."""
        assert self.file is not None
        return self.file

    @property
    def name(self) -> str:
        """What a failure calls it."""
        return gallery.label(self.file) if self.file else "the trace"

    @property
    def small(self) -> bool:
        """Whether slow ways to the same answer are worth their time."""
        return self.file is None or self.file.stat().st_size < SMALL

    @cached_property
    def read(self) -> Trace | str:
        """The trace, or why its file cannot be read."""
        if self._given is not None:
            return self._given
        try:
            return read_trace(self.path)
        except TraceError as error:
            return str(error)

    @property
    def is_readable(self) -> bool:
        return isinstance(self.read, Trace)

    @property
    def trace(self) -> Trace:
        assert isinstance(self.read, Trace), f"unreadable: {self.read}"
        return self.read

    @cached_property
    def analysis(self) -> Analysis:
        return analyze_trace(self.trace)

    @property
    def clock_jumps(self) -> bool:
        """Whether its events lie so far apart that no number holds twice its length."""
        return "clock-jump" in {fault.code for fault in self.analysis.faults}

    @cached_property
    def report(self) -> Report:
        return build_report(self.analysis)

    def report_of(self, step: str) -> Report:
        """The report on one step."""
        if step not in self._of_steps:
            self._of_steps[step] = build_report(self.analysis, [step])
        return self._of_steps[step]

    def columns(self, table: str) -> dict[str, list[Any]]:
        """A table of the report by column."""
        if table not in self._columns:
            self._columns[table] = self.report.table(table).to_columns()
        return self._columns[table]

    @property
    def data(self) -> ReportData:
        return self.report.data

    @cached_property
    def timeline(self) -> Timeline:
        return Timeline(self.analysis)

    @cached_property
    def simulator(self) -> Simulator:
        return Selection(self.analysis, None).derived(Simulator)

    @cached_property
    def summary(self) -> Mapped:
        """What a run needs to know of it as one of its ranks."""
        return summarize(self.analysis)

    @cached_property
    def text(self) -> bytes:
        """The file's JSON."""
        content = self.path.read_bytes()
        return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content

    @cached_property
    def events(self) -> list[Any]:
        """The file's events but for frames of Python, of which large files have most."""
        root = msgspec.json.decode(self.text)
        rows = root["traceEvents"] if isinstance(root, dict) else root
        return [row for row in rows if row and row.get("cat") != "python_function"]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The file's events by the standard library, fractions as they are written."""
        root = json.loads(self.text, parse_float=str)
        return root["traceEvents"] if isinstance(root, dict) else root
