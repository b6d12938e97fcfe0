"""Parts of what rules ask a trace: its steps, rows by name, device events and gaps."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.events import of_graph
from tb_hookview.analysis.host.activity import activity_events
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.analysis.idle.causes import profiler_time
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, mask_of, pair_key, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    GapIndex,
    Int,
    Intervals,
    Nanoseconds,
    StringIndex,
    SyncIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.formats import format_count, format_step, source_name
from tb_hookview.rules.engine.rule import HostTime
from tb_hookview.schema import KINDS
from tb_hookview.trace import EventCategory
from tb_hookview.trace.columns.trace import StringTable

# The measured steps, and quantities of a mean step.


SET_UP_NS = 1_000_000
"""Length from which gaps of a trace without steps may be of its set-up."""
_UNKNOWN_SET_UP_NS = 10_000_000
"""That of gaps of unknown cause: before its first launch a host works for a few ms in any step."""
_SET_UP = [int(Cause.ALLOCATOR), int(Cause.LAUNCH), int(Cause.PROFILER)]


_PART = 0.1
"""Part of some time that a quarter of the trace has where it recurs."""


def recur(start: Nanoseconds, duration: Nanoseconds, window: Nanoseconds) -> bool:
    """Whether each quarter of a window has a tenth of some times, unlike those of a set-up.

    Each counts where it starts.

    Args:
        start: of each, in the window.
        duration: of each.
        window: its start and end, shape (2,).
    """
    ends = np.linspace(window[0], window[1], 5)
    each = np.bincount(np.searchsorted(ends[1:-1], start), duration, len(ends) - 1)
    return bool(0 < _PART * each.sum() <= each.min())


class StepContext(Struct, frozen=True, dict=True):
    """Measured steps; figures "a step" are means over them, in microseconds."""

    selection: Selection

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def _analysis(self) -> Analysis:
        return self.selection.analysis

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """Measured steps."""
        return self.selection.counted

    @cached_property
    def marked(self) -> bool:
        """Whether the trace shows steps; else its one step is the whole trace."""
        return self._analysis.steps.marked

    @cached_property
    def report_rows(self) -> list[schema.Step]:
        """Rows of the report for the measured steps."""
        rows = dict(zip(self.selection.steps, self.selection.step_rows, strict=True))
        return [rows[step] for step in self.indices]

    @cached_property
    def duration_us(self) -> float:
        """Mean duration of a step."""
        return _mean([step.duration_us for step in self.report_rows]) or 0.0

    @cached_property
    def measured_us(self) -> float:
        """What a cost is a share of: a step, or a trace without steps less its set-up.

        Both are as long as their device work takes, where the host runs ahead.

        Set-up is taken to be what happens once (`Analysis.idle_once`), and idle time of 1 ms and
        more at a time in which memory is allocated, the host does other things that do not recur,
        or the profiler works, and of 10 ms and more whose cause is unknown.
        """
        if self.marked:
            return max(self.duration_us, *self._work_us, 0.0)
        gaps, devices = self._analysis.gaps, len(self._analysis.device_events.busy)
        long = isin(gaps.cause, _SET_UP) & (gaps.duration > SET_UP_NS)
        long |= (gaps.cause == Cause.UNKNOWN) & (gaps.duration > _UNKNOWN_SET_UP_NS)
        long &= ~self._recurring(np.flatnonzero(long & (gaps.cause == Cause.LAUNCH)))
        left_out = (long | self._analysis.idle_once) & isin(self._analysis.gap_step, self.indices)
        idle = float(gaps.duration[left_out].sum()) / 1000 / max(devices, 1)
        return max(self.duration_us - idle, *self._work_us, 0.0)

    def _recurring(self, rows: GapIndex) -> Bool:
        """Those of some gaps of the cause LAUNCH that recur, by what the host is in; shape (g,)."""
        gaps, found = self._analysis.gaps, np.zeros(len(self._analysis.gaps), bool)
        launch = gaps.launch_after(self._analysis.device_events, rows)
        thread = lookup(self._analysis.call_tree.thread, launch)
        spans = np.stack([gaps.start[rows], gaps.end[rows]], axis=1)
        event = activity_events(self._analysis.host, thread, spans)
        name = lookup(self._analysis.trace.events.name, event)
        for each in unique(name):
            mine = rows[name == each]
            found[mine] = recur(gaps.start[mine], gaps.duration[mine], self.windows[0])
        return found

    @cached_property
    def busy_us(self) -> float | None:
        """Mean busy time of the devices in a step; None without device events."""
        return _mean([step.device_busy_us for step in self.report_rows])

    @cached_property
    def _work_us(self) -> list[float]:
        """Mean time of each device in events of a step, also those that run after its end."""
        analysis, events = self._analysis, self._analysis.device_events
        mine = isin(analysis.device_event_step, self.indices)
        devices = (mine & (events.device == device) for device in unique(events.device[mine]))
        return [self.us_per_step(intervals.length(events.time_of(one))) for one in devices]

    @cached_property
    def idle_us(self) -> float | None:
        """Mean idle time of the devices in a step; None without device events."""
        return _mean([step.device_idle_us for step in self.report_rows])

    @cached_property
    def text(self) -> str:
        """How many steps count, next to a number that is of all of them."""
        return format_count(len(self), "step") if self.marked else "the trace"

    @property
    def one(self) -> str:
        """What a mean is of."""
        return "a step" if self.marked else "the trace"

    @property
    def whole(self) -> str:
        """Place of what is in no part of a step more than in the others."""
        return f"the whole {format_step(self.marked)}"

    @property
    def each(self) -> str:
        """What follows a mean over the steps; nothing where the one step is the whole trace."""
        return " per step" if self.marked else ""

    def contain(self, time: Nanoseconds) -> Bool:
        """Whether each of some times lies in a measured step."""
        counts = np.zeros(len(self._analysis.steps.name) + 1, bool)  # the last is for "in no step"
        counts[list(self.indices)] = True
        return np.asarray(counts[self._analysis.steps.at(time)])

    @cached_property
    def windows(self) -> Intervals:
        """Start and end of each measured step, in order."""
        return self._analysis.steps.window[list(self.indices)]

    def cut(self, time: TimeSet) -> TimeSet:
        """That part of a time which lies in measured steps."""
        return intervals.intersect(time, intervals.normal(self.windows))

    def us_per_step(self, nanoseconds: float) -> float:
        """A total over the measured steps, as microseconds per step."""
        return float(nanoseconds) / 1000 / max(len(self), 1)


def _mean(values: list[float] | list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


# Rows of a table by their names.


class NamedRows(Struct, frozen=True, dict=True):
    """Rows of a table with names. Each method gives a mask over all of them, in any step."""

    strings: StringTable
    """Strings of the trace."""
    name: StringIndex
    """Index of each row's name in `strings`, shape (n,)."""

    def named(self, *names: str) -> Bool:
        """Rows of one of these names."""
        return self._with(self.name_indices(*names))

    def beginning(self, *words: str) -> Bool:
        """Rows whose name begins with one of these words."""
        texts, names = self._in_order
        found = []
        for word in words:
            first = last = bisect_left(texts, word)
            while last < len(texts) and texts[last].startswith(word):
                last += 1
            found += names[first:last]
        return self._with(found)

    def ending(self, *words: str) -> Bool:
        """Rows whose name ends with one of these words."""
        return self._with([name for name, text in self.texts.items() if text.endswith(words)])

    def containing(self, *words: str) -> Bool:
        """Rows whose name contains one of these words."""
        texts = self.texts.items()
        return self._with([name for word in words for name, text in texts if word in text])

    def matching(self, pattern: str, having: str = "") -> Bool:
        """Rows in whose name a regular expression finds a match.

        The methods above are several times as quick. `having` is in every name that matches: no
        other is searched.
        """
        texts = [(name, text) for name, text in self.texts.items() if having in text]
        search = re.compile(pattern).search if texts else None
        return self._with([name for name, text in texts if search and search(text)])

    def passing(self, test: Callable[[str], bool]) -> Bool:
        """Rows whose name passes a test."""
        return self._with([name for name, text in self.texts.items() if test(text)])

    def name_indices(self, *names: str) -> list[int]:
        """Those of these names that any row has, as indices into `strings`."""
        return [self._indices[name] for name in names if name in self._indices]

    def any_name(self, test: Callable[[str], bool]) -> bool:
        """Whether the name of any row passes a test."""
        return any(test(text) for text in self.texts.values())

    @cached_property
    def texts(self) -> dict[int, str]:
        """Distinct names, by index; mangled ones as `source_name` has them."""
        texts = self.strings.texts
        present = mask_of(self.name, len(texts))
        return {name: source_name(texts[name]) for name in np.flatnonzero(present).tolist()}

    @cached_property
    def _in_order(self) -> tuple[list[str], list[int]]:
        """Distinct names in ascending order, with their indices."""
        pairs = sorted((text, name) for name, text in self.texts.items())
        return [text for text, _ in pairs], [name for _, name in pairs]

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {text: name for name, text in self.texts.items()}

    def _with(self, names: list[int]) -> Bool:
        if not names:
            return np.zeros(len(self.name), bool)
        passes = mask_of(names, len(self.strings))
        return np.asarray(passes[self.name])


# Queries of rules about host rows: counted, nesting, module.


class RowContext(NamedRows, frozen=True):
    """Rows of the call tree; masks are over all of them, shape (n,)."""

    analysis: Analysis
    steps: StepContext

    @cached_property
    def counted(self) -> Bool:
        """Rows that start in a measured step."""
        return self.steps.contain(self.analysis.call_tree.start)

    def inside(self, wanted: Bool) -> Bool:
        """Rows that are, or lie in, one of the wanted rows."""
        return self.analysis.call_tree.inside(wanted)

    def nodes_of(self, wanted: Bool) -> Bool:
        """Rows of the nodes that operators inside of some rows made."""
        nodes = self.analysis.nodes
        made = lookup(self.inside(wanted), nodes.forward_op) == 1
        return mask_of(nodes.row[made], len(wanted))

    def operator_of(self, rows: TreeRow) -> TreeRow:
        """Innermost operator around each of some rows (-1 for none); -1 for none."""
        return lookup(self.analysis.host.operator_around, rows)

    def outermost_operator_of(self, rows: TreeRow) -> TreeRow:
        """Outermost operator that is, or is around, each of some rows; -1 for none."""
        return self.outermost_of(self.analysis.host.operators, rows)

    def siblings(self, rows: TreeRow) -> Int:
        """Number of what is around each of some rows, or of its thread, and of its step: equal for
        siblings in one step."""
        call_tree, threads = self.analysis.call_tree, len(self.analysis.trace.threads)
        parent = call_tree.parent[rows]
        around = np.where(parent >= 0, parent + threads, call_tree.thread[rows])
        windows = self.steps.windows
        step = np.searchsorted(windows[:, 0], call_tree.start[rows], side="right")
        return unique_inverse(pair_key(around, step))[1]

    @cached_property
    def outermost_operators(self) -> TreeRow:
        """Operators that lie in no other; ascending."""
        operators = self.analysis.host.operators
        above = lookup(self.inside(operators), self.analysis.call_tree.parent)
        return np.flatnonzero(operators & (above != 1))

    def outermost_of(self, wanted: Bool, rows: TreeRow) -> TreeRow:
        """Outermost wanted row that is, or is around, each of some rows; -1 for none."""
        found, at = np.full(len(rows), -1, np.int64), rows
        while (inside := at >= 0).any():
            found = np.where(inside & wanted[at], at, found)
            at = lookup(self.analysis.call_tree.parent, at)
        return found

    def host_time(self, wanted: Bool) -> tuple[HostTime, ...]:
        """Time within some rows, by thread, as far as it lies in measured steps.

        What the profiler takes meanwhile is not in it.
        """
        tree, rows = self.analysis.call_tree, np.flatnonzero(wanted)
        thread, others = tree.thread[rows], profiler_time(self.analysis.timing)
        return tuple(
            HostTime(each, intervals.subtract(self.steps.cut(tree.time_of(mine)), others))
            for each in unique(thread).tolist()
            for mine in (rows[thread == each],)
        )

    def host_us(self, wanted: Bool) -> float:
        """Length of `host_time`, microseconds per step."""
        held = sum(intervals.length(each.time) for each in self.host_time(wanted))
        return self.steps.us_per_step(held)

    def times_by_name(self, rows: TreeRow | Bool) -> list[tuple[str, float]]:
        """Time of some rows by the name of their operator, nanoseconds, most first."""
        names, place = unique_inverse(self.analysis.host.string[rows])
        time = np.bincount(place, self.analysis.call_tree.duration[rows])
        texts = self.analysis.trace.strings
        return [(node_name(texts[int(names[i])]), float(time[i])) for i in np.argsort(-time)]

    def module_of(self, row: int) -> int:
        """Module to which device events launched at a row belong, -1 for none."""
        return int(self.analysis.attribution.row_module[row])

    def common_module(self, rows: TreeRow) -> int:
        """Module that all of these rows launch for, -1 for none."""
        modules = unique(self.analysis.attribution.row_module[rows])
        return int(modules[0]) if len(modules) == 1 else -1

    def on_training_thread(self, rows: TreeRow) -> Bool:
        """Whether each of some rows is on a thread that launches kernels or marks steps."""
        return np.asarray(self._training_threads[self.analysis.call_tree.thread[rows]])

    @cached_property
    def _training_threads(self) -> Bool:
        events, device_events = self.analysis.trace.events, self.analysis.device_events
        launched = device_events.launch[(device_events.launch >= 0) & device_events.is_kernel]
        found = mask_of(self.analysis.call_tree.thread[launched], len(self.analysis.trace.threads))
        marks = np.flatnonzero(events.kind == EventCategory.ANNOTATION)
        annotations = NamedRows(self.strings, events.name[marks].astype(np.int64))
        named = annotations.name_indices(*self.analysis.steps.name)
        found[events.thread[marks[isin(annotations.name, named)]]] = True
        return found


# Queries of rules about device events: counted, launched by, time.


class DeviceEventContext(NamedRows, frozen=True):
    """Kernels, copies and memsets; masks are over all of them, shape (d,)."""

    analysis: Analysis
    steps: StepContext

    @cached_property
    def counted(self) -> Bool:
        """Device events of measured steps, by `Analysis.device_event_step`."""
        return isin(self.analysis.device_event_step, self.steps.indices)

    def name_of(self, event: int) -> str:
        """Name of a device event."""
        return self.strings[int(self.name[event])]

    @cached_property
    def devices(self) -> list[int]:
        """Devices, as the trace numbers them, that ran an event in measured steps."""
        return unique(self.analysis.device_events.device[self.counted]).tolist()  # type: ignore[no-any-return]

    def copies_containing(self, *words: str) -> Bool:
        """Copies whose name contains one of these words."""
        rows, names = self._copies
        found = np.zeros(len(self.name), bool)
        found[rows] = names.containing(*words)
        return found

    @cached_property
    def _copies(self) -> tuple[DeviceEventIndex, NamedRows]:
        rows = np.flatnonzero(self.analysis.device_events.is_copy)
        return rows, NamedRows(self.strings, self.name[rows])

    @cached_property
    def of_graph(self) -> Bool:
        """Device events of CUDA and HIP graphs: the trace lacks the operators in these."""
        events = self.analysis.device_events
        return of_graph(self.analysis.host, events, np.arange(len(events)))

    def launched_by(self, rows: Bool) -> Bool:
        """Device events launched by one of some call tree rows (see `RowContext.inside`)."""
        launch = self.analysis.device_events.launch
        if not len(rows):
            return np.zeros(len(launch), bool)
        return np.asarray((launch >= 0) & rows[launch])

    def of_kinds(self, *kinds: str) -> Bool:
        """Device events of these kinds (see `schema.KINDS`)."""
        wanted = mask_of([KINDS.index(kind) for kind in kinds], len(KINDS))
        return np.asarray(wanted[self.analysis.kinds.kind])

    def us_per_step(self, chosen: Bool) -> float:
        """Durations of those of some device events that count, summed, microseconds per step."""
        duration = self.analysis.device_events.duration[chosen & self.counted]
        return self.steps.us_per_step(duration.sum())

    @cached_property
    def work_us(self) -> float:
        """Durations of all of them, summed, but for collectives, which wait for other ranks."""
        return self.us_per_step(~self.of_kinds("communication"))

    def share(self, chosen: Bool) -> float:
        """Their durations as a share of `work_us`; collectives are in neither."""
        mine = chosen & ~self.of_kinds("communication")
        return self.us_per_step(mine) / self.work_us if self.work_us else 0.0

    def starts(self, chosen: Bool) -> Nanoseconds:
        """Starts of those of some device events that count, nanoseconds."""
        return self.analysis.device_events.start[chosen & self.counted]


# Idle time of the devices, for rules: which gaps have which cause.


_WITHIN = 0.9
"""Share of a gap from which it lies within some time."""
NO_STEPS = (
    "The trace marks no steps; gaps of more than 1 ms are left out, as they may be of its set-up."
)


class GapContext(Struct, frozen=True, dict=True):
    """Gaps of the devices; methods give rows of `Analysis.gaps`."""

    analysis: Analysis
    steps: StepContext

    def of(self, *causes: Cause) -> GapIndex:
        """Gaps of some causes in measured steps."""
        wanted = mask_of(list(causes), len(Cause))
        return np.flatnonzero(wanted[self.analysis.gaps.cause] & self._counted)

    def in_steps(self, *causes: Cause) -> GapIndex:
        """Gaps of some causes, without those that may be of the set-up (see `NO_STEPS`), and of
        what happens once (`Analysis.idle_once`)."""
        gaps = self.of(*causes)
        gaps = gaps[~self.analysis.idle_once[gaps]]
        if self.steps.marked:
            return gaps
        return gaps[self.analysis.idle_around[gaps] <= SET_UP_NS]

    @cached_property
    def _counted(self) -> Bool:
        return self._measured & ~self.analysis.idle_compiling

    @cached_property
    def _measured(self) -> Bool:
        return isin(self.analysis.gap_step, self.steps.indices)

    def of_first_compilation(self) -> GapIndex:
        """Gaps in which code is compiled, where no step is marked: no other method gives these."""
        return np.flatnonzero(self._measured & self.analysis.idle_compiling)

    def of_syncs(self, syncs: SyncIndex) -> GapIndex:
        """Gaps in measured steps that some syncs (by index) caused."""
        gaps = self.of(Cause.SYNC)
        return gaps[isin(self.analysis.gaps.sync[gaps], syncs)]

    def at(self, rows: Bool, *causes: Cause) -> GapIndex:
        """Gaps of some causes whose row (see `Gaps.row`) is one of some call tree rows."""
        gaps = self.of(*causes)
        row = self.analysis.gaps.row[gaps]
        return gaps[(row >= 0) & rows[row]] if len(rows) else gaps[:0]

    def within(self, spans: TimeSet, *causes: Cause) -> GapIndex:
        """Gaps of some causes of which nine tenths or more lie within some time.

        Those that only the bounds of steps part are one.
        """
        gaps, found = self.analysis.gaps, self.of(*causes)
        windows = np.stack([gaps.start[found], gaps.end[found]], axis=1)
        time, (_, place) = gaps.duration[found], unique_inverse(gaps.uncut[found])
        lengths = (intervals.lengths_within(spans, windows), _WITHIN * time)
        inside, least = (np.bincount(place, length, len(found)) for length in lengths)
        return found[(inside >= least)[place]]

    def us_per_step(self, gaps: GapIndex) -> float:
        """Durations of some gaps, summed, microseconds per step."""
        return self.steps.us_per_step(self.analysis.gaps.duration[gaps].sum())
