"""What rules ask a trace, answered once for all of them.

Masks are over forest rows (`rows`), device work (`work`) or waits; they are cut to the steps that
count. Times inside are nanoseconds, those "a step" microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Index, Int
from tb_hookview.rules.engine.rule import Rule
from tb_hookview.rules.engine.syncs import Waits
from tb_hookview.schema import KINDS
from tb_hookview.trace import EventCategory


class Context(Struct, frozen=True, dict=True):
    """One selection of a trace, as rules see it."""

    selection: Selection
    step_rows: list[schema.Step]
    """Rows of the report for the selection's steps, in order."""
    rules: tuple[Rule, ...]
    """In order of priority."""

    @property
    def analysis(self) -> Analysis:
        """The whole trace, attributed."""
        return self.selection.analysis

    @property
    def host(self) -> HostRows:
        """Host rows with their names and roles."""
        return self.analysis.host

    @property
    def call_tree(self) -> CallTree:
        """The nesting of the host rows."""
        return self.analysis.call_tree

    # Steps

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Steps that count: those selected; of a whole trace `Steps.counted`."""
        if self.selection.chosen is not None:
            return self.selection.chosen
        return tuple(np.flatnonzero(self.analysis.steps.counted).tolist())

    @cached_property
    def has_steps(self) -> bool:
        """Whether the trace marks steps; else its one step is the whole trace."""
        return self.analysis.steps.name[0].startswith("ProfilerStep#")

    @cached_property
    def counted(self) -> list[schema.Step]:
        """Rows of the report for the steps that count."""
        rows = dict(zip(self.selection.steps, self.step_rows, strict=True))
        return [rows[step] for step in self.steps]

    @cached_property
    def step_us(self) -> float:
        """Mean duration of a step."""
        return _mean([step.duration_us for step in self.counted]) or 0.0

    @cached_property
    def busy_us(self) -> float | None:
        """Mean busy time of the devices in a step; None without device work."""
        return _mean([step.device_busy_us for step in self.counted])

    @cached_property
    def idle_us(self) -> float | None:
        """Mean idle time of the devices in a step; None without device work."""
        return _mean([step.device_idle_us for step in self.counted])

    def in_steps(self, time: Int) -> Bool:
        """Which moments lie in a step that counts."""
        counts = np.zeros(len(self.analysis.steps.name) + 1, bool)  # the last is for "in no step"
        counts[list(self.steps)] = True
        return np.asarray(counts[self.analysis.steps.at(time)])

    def per_step(self, nanoseconds: float) -> float:
        """A total over the steps that count, as microseconds a step."""
        return float(nanoseconds) / 1000 / max(len(self.steps), 1)

    # Host rows

    @cached_property
    def rows(self) -> Bool:
        """Forest rows that start in a step that counts."""
        return self.in_steps(self.call_tree.start)

    def named(self, *names: str) -> Bool:
        """Forest rows of one of these names, in any step."""
        return self._among(self.numbers(*names), self.host.string)

    def numbers(self, *names: str) -> list[int]:
        """Those of these names that any forest row has, as strings of the trace by index."""
        return [self._numbers[name] for name in names if name in self._numbers]

    def beginning(self, *words: str) -> Bool:
        """Forest rows whose name begins with one of these words, in any step."""
        fitting = [string for string, text in self._row_names.items() if text.startswith(words)]
        return self._among(fitting, self.host.string)

    def ending(self, *words: str) -> Bool:
        """Forest rows whose name ends with one of these words, in any step."""
        fitting = [string for string, text in self._row_names.items() if text.endswith(words)]
        return self._among(fitting, self.host.string)

    def holding(self, *words: str) -> Bool:
        """Forest rows in whose name one of these words stands, in any step."""
        names = self._row_names.items()
        fitting = [string for word in words for string, text in names if word in text]
        return self._among(fitting, self.host.string)

    def matching(self, pattern: str) -> Bool:
        """Forest rows whose name a regular expression finds a match in, in any step.

        The three above are several times as quick.
        """
        return self._kept(pattern, self.host.string, self._row_names)

    def inside(self, wanted: Bool) -> Bool:
        """Forest rows that are, or lie in, one of the wanted rows."""
        return self.call_tree.inside(wanted)

    def inside_matching(self, pattern: str) -> Bool:
        """Forest rows that are, or lie in, one whose name a regular expression finds a match in."""
        if pattern not in self._insides:
            self._insides[pattern] = self.inside(self.matching(pattern))
        return self._insides[pattern].copy()  # the caller's to change

    @cached_property
    def _insides(self) -> dict[str, Bool]:
        return {}

    def strings(self, test: Callable[[str], bool]) -> list[int]:
        """Strings of the trace, by index, that name host rows or device work and pass a test."""
        names = {**self._row_names, **self._work_names}
        return [string for string, text in names.items() if test(text)]

    def _kept(self, pattern: str, column: Int, names: dict[int, str]) -> Bool:
        """Where a column of strings, which holds these `names`, has one that fits a pattern."""
        key = (pattern, id(names))
        if key not in self._patterns:
            search = re.compile(pattern).search
            fitting = [string for string, text in names.items() if search(text)]
            self._patterns[key] = self._among(fitting, column)
        return self._patterns[key].copy()  # the caller's to change

    def _among(self, strings: list[int], column: Int) -> Bool:
        """Where a column of strings has one of some."""
        if not strings:
            return np.zeros(len(column), bool)
        passes = np.zeros(len(self.analysis.trace.strings), bool)
        passes[strings] = True
        return np.asarray(passes[column])

    @cached_property
    def _patterns(self) -> dict[tuple[str, int], Bool]:
        return {}

    @cached_property
    def _row_names(self) -> dict[int, str]:
        return self._texts(self.host.string)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {text: string for string, text in self._row_names.items()}

    def _texts(self, column: Int | Index) -> dict[int, str]:
        """Distinct strings of a column, by index."""
        texts = self.analysis.trace.strings.texts
        held = np.zeros(len(texts), bool)
        held[column] = True
        return {string: texts[string] for string in np.flatnonzero(held).tolist()}

    @cached_property
    def _work_string(self) -> Int:
        return self.analysis.trace.events.name[self.analysis.device_events.event].astype(np.int64)

    @cached_property
    def _work_names(self) -> dict[int, str]:
        return self._texts(self._work_string)

    def module_path(self, row: int) -> str | None:
        """Path of the module to which work launched at a forest row belongs."""
        module = int(self.analysis.attribution.row_module[row])
        return self.analysis.modules.path[module] if module >= 0 else None

    def operator_of(self, rows: Int) -> Int:
        """Innermost operator around each of some forest rows (-1 for none); -1 for none."""
        return lookup(self.host.operator_around, rows)

    def outermost_operator_of(self, rows: Int) -> Int:
        """Outermost operator that is, or is around, each of some forest rows; -1 for none."""
        kind, role = self.host.kind, self.host.role
        found, at = np.full(len(rows), -1, np.int64), rows
        while (inside := at >= 0).any():
            operator = inside & (kind[at] == EventCategory.OPERATOR) & (role[at] == Role.NONE)
            found = np.where(operator, at, found)
            at = lookup(self.call_tree.parent, at)
        return found

    def common_module(self, rows: Int) -> str | None:
        """Path of the module that work launched at all of these forest rows belongs to, or None."""
        modules = unique(self.analysis.attribution.row_module[rows])
        return self.module_path(int(rows[0])) if len(modules) == 1 else None

    # Device work

    @cached_property
    def work(self) -> Bool:
        """Device work whose launch (or, without one, itself) starts in a step that counts."""
        work = self.analysis.device_events
        launched = np.where(work.launch >= 0, lookup(self.call_tree.start, work.launch), work.start)
        return self.in_steps(launched)

    @cached_property
    def devices(self) -> list[int]:
        """Devices, as the trace numbers them, that did work in steps that count."""
        return unique(self.analysis.device_events.device[self.work]).tolist()  # type: ignore[no-any-return]

    def work_matching(self, pattern: str) -> Bool:
        """Device work whose name a regular expression finds a match in, in any step."""
        return self._kept(pattern, self._work_string, self._work_names)

    def copies_matching(self, pattern: str) -> Bool:
        """Copies among device work whose name fits likewise, in any step."""
        return self._kept(pattern, self._work_string, self._copy_names) & self._is_copy

    @cached_property
    def _is_copy(self) -> Bool:
        return np.asarray(
            self.analysis.trace.events.kind[self.analysis.device_events.event] == EventCategory.COPY
        )

    @cached_property
    def _copy_names(self) -> dict[int, str]:
        return self._texts(self._work_string[self._is_copy])

    def work_launched(self, rows: Bool) -> Bool:
        """Device work launched by one of these forest rows (see `inside`)."""
        launch = self.analysis.device_events.launch
        return (
            np.asarray((launch >= 0) & rows[launch]) if len(rows) else np.zeros(len(launch), bool)
        )

    def of_kinds(self, *kinds: str) -> Bool:
        """Device work of these kinds (see `kinds.KINDS`), in any step."""
        wanted = np.zeros(len(KINDS), bool)
        wanted[[KINDS.index(kind) for kind in kinds]] = True
        return np.asarray(wanted[self.analysis.kinds.kind])

    def device_us(self, work: Bool) -> float:
        """Device time a step of some device work, each piece's own time summed."""
        return self.per_step(self.analysis.device_events.duration[work & self.work].sum())

    def device_share(self, work: Bool) -> float:
        """The same, as a share of the busy time of the devices."""
        return self.device_us(work) / self.busy_us if self.busy_us else 0.0

    def work_starts(self, work: Bool) -> Int:
        """Starts of some device work in the steps that count."""
        return self.analysis.device_events.start[work & self.work]

    # Waits and gaps

    @cached_property
    def waits(self) -> Waits:
        """Waits of the host, all of the trace, with questions about what is around them."""
        return Waits(self.analysis)

    @cached_property
    def explained(self) -> Int:
        """Which rule explains each wait: index into `rules`, -1 for the profiler's own."""
        explained = np.full(len(self.waits), -1, np.int64)
        left = ~self.analysis.syncs.by_profiler
        for number, rule in enumerate(self.rules):
            if rule.waits is not None and left.any():
                claimed = left & rule.waits(self)
                explained[claimed] = number
                left = left & ~claimed
        return explained

    def explained_by(self, rule: Rule) -> Bool:
        """Waits that this rule explains, shape (w,)."""
        number = next(number for number, each in enumerate(self.rules) if each is rule)
        return np.asarray(self.explained == number)

    @cached_property
    def own_waits(self) -> Bool:
        """Waits of the training in steps that count, shape (w,).

        The profiler's own is none, nor is one on a thread that launches no kernels and has no
        steps: a loader that pins memory, or a writer of checkpoints, may wait as it likes.
        """
        own = self.in_steps(self.waits.start) & ~self.analysis.syncs.by_profiler
        if not self.analysis.launches_known:
            return np.asarray(own)
        return np.asarray(own & self.on_busy_thread(self.waits.position))

    def on_busy_thread(self, rows: Int) -> Bool:
        """Which forest rows (given by position) lie on a thread that trains: see `own_waits`."""
        return np.asarray(self._busy_threads[self.call_tree.thread[rows]])

    @cached_property
    def _busy_threads(self) -> Bool:
        """Threads that launch kernels, or on which the steps are marked."""
        events, work = self.analysis.trace.events, self.analysis.device_events
        launched = work.launch[
            (work.launch >= 0) & (events.kind[work.event] == EventCategory.KERNEL)
        ]
        found = np.zeros(len(self.analysis.trace.threads), bool)
        found[self.call_tree.thread[launched]] = True
        marks = np.flatnonzero(events.kind == EventCategory.ANNOTATION)
        texts, steps = self._texts(events.name[marks]), set(self.analysis.steps.name)
        named = [string for string, text in texts.items() if text in steps]
        found[events.thread[marks[isin(events.name[marks], named)]]] = True
        return found

    def gaps_of_waits(self, waits: Int) -> Int:
        """Rows of `Analysis.gaps` that these waits (indices) caused."""
        sync = self.analysis.gaps.sync
        return np.flatnonzero((sync >= 0) & isin(sync, waits))

    def gaps_of(self, *causes: Cause) -> Int:
        """Rows of `Analysis.gaps` that began in a step that counts, of some causes."""
        gaps = self.analysis.gaps
        wanted = np.zeros(len(Cause), bool)
        wanted[list(causes)] = True
        return np.flatnonzero(wanted[gaps.cause] & self._counted_gaps)

    @cached_property
    def _counted_gaps(self) -> Bool:
        return self.in_steps(self.analysis.gaps.start)

    def gaps_at(self, rows: Bool, *causes: Cause) -> Int:
        """The same, of those whose row (see `Gaps.row`) is one of some forest rows."""
        gaps = self.gaps_of(*causes)
        row = self.analysis.gaps.row[gaps]
        return gaps[(row >= 0) & rows[row]] if len(rows) else gaps[:0]

    def gaps_within(self, spans: Int, *causes: Cause) -> Int:
        """The same, of those that lie within some time (a normal set) to nine tenths or more."""
        gaps, found = self.analysis.gaps, self.gaps_of(*causes)
        windows = np.stack([gaps.start[found], gaps.end[found]], axis=1)
        inside = intervals.lengths_within(spans, windows)
        return found[inside >= 0.9 * gaps.duration[found]]

    @cached_property
    def with_stacks(self) -> bool:
        """Whether Python frames were recorded, which slows the host."""
        return bool((self.analysis.trace.events.kind == EventCategory.PYTHON).any())

    @cached_property
    def with_shapes(self) -> bool:
        """Whether shapes of inputs were recorded, which slows the host, too."""
        return bool((self.analysis.trace.events.shapes > 0).any())


def _mean(values: list[float] | list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
