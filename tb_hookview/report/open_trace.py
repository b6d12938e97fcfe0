"""One open trace: its analysis, reports, tables, replays and timeline, on demand.

What a cached report needs is imported here; the rest waits until it is asked for, as numpy, rules
and reader take longer to import than such a report takes to load.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast
from weakref import WeakSet

from msgspec import Struct

from tb_hookview.errors import UsageError
from tb_hookview.report.result import Report
from tb_hookview.schema import COUNTED, ReportData

if TYPE_CHECKING:
    from tb_hookview.analysis.analysis import Analysis
    from tb_hookview.analysis.selection import Derived, Selection
    from tb_hookview.report.whatif import WhatIfs
    from tb_hookview.simulation.simulator import Simulator
    from tb_hookview.tables.model.columns import Arrays
    from tb_hookview.tables.table import Table
    from tb_hookview.timeline import Timeline
    from tb_hookview.timeline.replayed import ReplayedLanes


# One state of a source, with what is derived from it; and how much of that stays in memory.


BYTES = 2 << 30
"""Memory that everything open may take together. One that takes more is there alone."""

Value = TypeVar("Value")
_uses = count()


class Opened(Generic[Value]):
    """What was read of one state of a source, and what is derived from it, each made once.

    Safe to use from many threads: whoever asks for what another one makes waits for it.

    Args:
        read: returns what the source holds.
        size: bytes that this takes.
    """

    def __init__(self, read: Callable[[], Value], size: Callable[[Value], int]) -> None:
        self._read, self._size = read, size
        self._value: Value | None = None
        self._derived: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()
        self.bytes = 0
        """Memory that it takes, by estimate."""
        self.used = next(_uses)
        """Higher than that of all that were used earlier."""
        self.budget = Budget(BYTES)
        self.state: Any = None
        """Address and state of the source, where it may have another state later."""

    @property
    def is_read(self) -> bool:
        """Whether `value` is there already."""
        return self._value is not None

    @property
    def events(self) -> int | None:
        """Events that were read, where that is counted."""
        return None

    def __contains__(self, key: Hashable) -> bool:
        """Whether something was derived, and is still there."""
        return key in self._derived

    @property
    def value(self) -> Value:
        """What the source holds, which is read on first use."""
        self.used = next(_uses)
        found = self._value
        return self.hold(self._read()) if found is None else found

    def hold(self, value: Value) -> Value:
        """Keep what was read, and return it."""
        with self._lock:
            if self._value is None:
                self._value = value
                self.bytes += self._size(value)
        self.budget.grown(self)
        return value

    def derived(
        self, key: Hashable, make: Callable[[], Derived], size: Callable[[Derived], int] | int = 0
    ) -> Derived:
        """Return what `make` returns, from the second time on without calling it.

        Args:
            key: what it is.
            make: makes it, never None, from `value` or from what else is derived.
            size: bytes that it takes; 0 where the size of `value` counts them already. What takes
                more than a quarter of the budget is made each time.
        """
        with self._making.setdefault(key, Lock()):
            if (found := self.get(key)) is not None:
                return cast("Derived", found)
            made = make()
            self.keep(key, made, size if isinstance(size, int) else size(made))
            return made

    def get(self, key: Hashable) -> Any:
        """Return what was derived; None where it is not there (any more)."""
        with self._lock:
            if key not in self._derived:
                return None
            self._derived.move_to_end(key)
            return self._derived[key][0]

    def keep(self, key: Hashable, made: object, size: int) -> None:
        """Keep what somebody derived, as `derived` does."""
        if size > self.budget.most // 4:
            return
        with self._lock:
            if not size and self._value is None:
                return  # forgotten meanwhile, and nothing would count it
            self.bytes += size - self._derived.get(key, (None, 0))[1]
            self._derived[key] = made, size
        self.budget.grown(self)

    def made_of_value(self, key: Hashable, make: Callable[[Value], Derived]) -> Derived:
        """As `derived`, of what the source holds: whoever waits for that blocks nobody else."""
        value = self.value
        return self.derived(key, lambda: make(value))

    def shrink(self) -> bool:
        """Forget what of the derived was not used for longest; false if there is none."""
        with self._lock:
            key = next((key for key, (_, size) in self._derived.items() if size), None)
            if key is None:
                return False
            self.bytes -= self._derived.pop(key)[1]
            return True

    def clear(self) -> None:
        """Forget everything; it is read again when it is asked for."""
        with self._lock:
            self._value = None
            self._derived.clear()
            self._making.clear()
            self.bytes = 0


class Budget:
    """Bytes that what is open may take together: what was used longest ago is forgotten first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: WeakSet[Opened[Any]] = WeakSet()
        self._lock = Lock()

    def grown(self, newest: Opened[Any]) -> None:
        """Make room for what one of them took last."""
        with self._lock:
            self._open.add(newest)
            taken = sum(opened.bytes for opened in self._open)
            for opened in sorted(self._open, key=lambda opened: opened.used):
                if taken <= self.most:
                    return
                if opened is not newest:
                    taken -= opened.bytes
                    opened.clear()
        while newest.bytes > self.most and newest.shrink():
            pass


EVERYTHING_OPEN = Budget(BYTES)
"""Of a program that opens traces by itself."""


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

        what_ifs, without = self.what_ifs(names), tuple(without)

        def made() -> ReplayedLanes:
            if refused := what_ifs.simulator.refused or what_ifs.refusal(without, scale):
                raise UsageError(f"these steps are not replayed: {refused}")
            change = what_ifs.change(without, scale)
            return replayed_lanes(self.timeline, what_ifs.simulator, change)

        key = (_key("replayed", names), without, tuple(scale.items()))
        return self.derived(key, made, self.analysis.trace.nbytes)


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
