"""One open trace: its analysis, reports, tables, replays and timeline, on demand.

What a cached report needs is imported here; the rest waits until it is asked for, as numpy, rules
and reader take longer to import than such a report takes to load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from tb_hookview.errors import UsageError
from tb_hookview.report.opened import Opened
from tb_hookview.report.result import Report
from tb_hookview.schema import COUNTED, ReportData

if TYPE_CHECKING:
    from tb_hookview.analysis.analysis import Analysis
    from tb_hookview.analysis.selection import Selection
    from tb_hookview.report.whatif import WhatIfs
    from tb_hookview.simulation.simulator import Simulator
    from tb_hookview.tables.model.columns import Arrays
    from tb_hookview.tables.table import Table
    from tb_hookview.timeline import Timeline
    from tb_hookview.timeline.replayed import ReplayedLanes

Names = Sequence[str] | None
"""Names of steps. `COUNTED` alone: the measured steps. None: all of the trace."""

PER_COLUMNS = 3
"""Memory of an analysis with its timeline and the graph of its replays, in multiples of its
columns; measured: 2 to 3."""
_PER_FIELD = 32
"""Bytes of a field of a row, on average."""


class Reports(Protocol):
    """Reports on one trace, from one program to the next."""

    def load(self, steps: Names) -> ReportData | None:
        """The report on some steps; None where there is none."""

    def store(self, steps: Names, report: Callable[[], ReportData]) -> None:
        """Store such a report, later."""


class OpenTrace(Opened["Analysis"]):
    """One state of one trace, and everything derived from it, each computed once and on demand.

    Args:
        read: reads the trace.
        reports: returns where reports on it are stored; None for nowhere.
    """

    def __init__(
        self, read: Callable[[], Analysis], reports: Callable[[], Reports | None] = lambda: None
    ) -> None:
        super().__init__(read, analysis_bytes)
        self._find_reports = reports

    @cached_property
    def _reports(self) -> Reports | None:
        return self._find_reports()

    @property
    def events(self) -> int | None:
        """Events of the trace, once it was read."""
        return None if self._value is None else self._value.trace.event_count

    @property
    def analysis(self) -> Analysis:
        """The analysis, of columns from the cache, or read.

        Raises:
            TraceError: the file cannot be read, or is no trace.
        """
        return self.value

    def steps(self, names: Names = None) -> Selection:
        """The rows of some steps.

        Raises:
            NotFoundError: the trace has no step of that name.
        """
        analysis = self.analysis  # first: what it starts takes as long as the import
        from tb_hookview.analysis.selection import select

        if _is_counted(names):
            return self.steps().averaged
        found = select(analysis, names)
        size = analysis.trace.nbytes if names else 0
        return self.derived(("steps", found.chosen, found.by_name), lambda: found, size)

    def simulator(self, names: Names = None) -> Simulator:
        """Replays of some steps, with one graph of each choice."""
        return self.what_ifs(names).simulator

    def what_ifs(self, names: Names = None) -> WhatIfs:
        """Questions about replays of some steps."""
        from tb_hookview.report.whatif import WhatIfs

        return self.steps(names).derived(WhatIfs)

    @property
    def timeline(self) -> Timeline:
        """The timeline; its critical path and links are of the replay of the measured steps."""
        from tb_hookview.timeline import Timeline

        simulator = self.simulator()
        return self.derived("timeline", lambda: Timeline(simulator.analysis, simulator))

    def report(self, names: Names = None) -> Report:
        """The report on some steps; built only where it is not stored.

        Raises:
            NotFoundError: the trace has no step of that name.
            TraceError: the file cannot be read, or is no trace.
        """
        return Report(self.data(names), self, names)

    def data(self, names: Names = None) -> ReportData:
        """The rows of a report; raises as `report`."""
        key = _key("report", names)
        stored = None if self._reports is None or key in self else self._reports.load(names)
        if stored is not None:
            return self.derived(key, lambda: stored, rows_bytes)
        # First: whoever waits for the reading blocks nobody else who wants the report.
        chosen = None if key in self else self.steps(None if _is_counted(names) else names)
        return self.derived(key, lambda: self._build(names, chosen), rows_bytes)

    def _build(self, names: Names, chosen: Selection | None) -> ReportData:
        from tb_hookview.report.build import build_data, decide

        about = chosen or self.steps(None if _is_counted(names) else names)
        decided = self.derived(("decided", about.chosen), lambda: decide(about))
        data = build_data(about.averaged if _is_counted(names) else about, decided)
        if self._reports is not None:
            self._reports.store(names, lambda: data)
            if not names and data.per_step.marked:
                self._reports.store([COUNTED], lambda: self.data([COUNTED]))
        return data

    def table(self, name: str, names: Names = None) -> Table[Any]:
        """A table by its name; one at event level is computed when its rows are first needed.

        Raises:
            NotFoundError: there is none of that name.
        """
        from tb_hookview.tables.catalogue import named_table

        return named_table(name, lambda: self.data(names), lambda of: self.rows(of, names))

    def rows(self, name: str, names: Names = None) -> Arrays:
        """Rows of a table at event level."""
        from tb_hookview.tables.catalogue import event_rows

        selection = self.steps(names)
        return self.derived(
            _key(f"rows of {name}", names),
            lambda: event_rows(name, selection),
            lambda rows: _PER_FIELD * len(rows) * len(rows.columns),
        )

    def arrow(self, name: str, names: Names = None) -> Any:
        """A table as Arrow's.

        Raises:
            NotFoundError: there is none of that name.
            UsageError: pyarrow is not installed.
        """
        table = self.table(name, names)
        return self.derived(
            _key(f"arrow of {name}", names), table.to_arrow, lambda rows: int(rows.nbytes)
        )

    def replayed(
        self, names: Names, without: Iterable[str], scale: Mapping[str, float]
    ) -> ReplayedLanes:
        """Some steps as recorded and as predicted, as lanes over time.

        Raises:
            UsageError: the steps are not replayed, or there is nothing of that name to change.
        """
        from tb_hookview.timeline.replayed import replayed_lanes

        what_ifs, timeline = self.what_ifs(names), self.timeline
        if (refused := what_ifs.simulator.refused) is not None:
            raise UsageError(f"these steps are not replayed: {refused}")
        key = (_key("replayed", names), tuple(without), tuple(scale.items()))
        return self.derived(
            key,
            lambda: replayed_lanes(timeline, what_ifs.simulator, what_ifs.change(without, scale)),
            self.analysis.trace.nbytes,
        )


def _is_counted(names: Names) -> bool:
    """Whether the measured steps are meant, which what is decided about all of the trace is of."""
    return names is not None and list(names) == [COUNTED]


def _key(what: str, names: Names) -> tuple[str, ...]:
    return (what, *(names or ()))


def analysis_bytes(analysis: Analysis) -> int:
    """Return about how many bytes an analysis takes, with its timeline and its replays' graph."""
    return PER_COLUMNS * analysis.trace.nbytes


def rows_bytes(data: Struct) -> int:
    """Return about how many bytes the rows of all tables of an answer take."""
    tables = (getattr(data, name) for name in data.__struct_fields__)
    rows = (table for table in tables if isinstance(table, list) and table)
    sizes = (len(table) * len(getattr(table[0], "__struct_fields__", " ")) for table in rows)
    return _PER_FIELD * sum(sizes)
