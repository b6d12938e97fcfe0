"""Lanes of the trace's own rows: host threads, streams of devices, the rest.

Every row of `Events` is in exactly one of them.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.backward_spans import spans_of_nodes
from tb_hookview.analysis.device.events import queue_length
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.memory.blocks import AllocatorEvents
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, grouped, unique
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.types import (
    Bool,
    EventRow,
    Int,
    ModuleIndex,
    Nanoseconds,
    ThreadIndex,
    TreeRow,
)
from tb_hookview.schema import Phase
from tb_hookview.timeline.lanes.lane import (
    OF_CAUSE,
    OF_PHASE,
    Colour,
    Colours,
    LaneItems,
    LaneNames,
)
from tb_hookview.trace import EventCategory
from tb_hookview.trace.format.vocabulary import DEVICE_CATEGORIES

# Lanes of devices: streams and what is drawn as curves.


class Curve:
    """Steps of a number: at each moment the value that holds until the next.

    Args:
        time: nanoseconds, ascending, shape (n,).
        value: shape (n,).
        origin: where cells are counted from.
    """

    def __init__(self, time: Nanoseconds, value: Int, origin: int) -> None:
        last = np.append(time[1:] != time[:-1], True) if len(time) else np.zeros(0, bool)
        self._time, self._value, self._origin = time[last], value[last], origin

    @property
    def points(self) -> int:
        """Moments at which the number changes."""
        return len(self._time)

    def within(self, start: int, end: int, resolution: int) -> tuple[Nanoseconds, Int]:
        """Moments and values that draw the curve in [start, end).

        The value that holds at the start comes first. Of the points in a cell of `resolution` (a
        power of two of nanoseconds) the first, the least, the greatest and the last remain.
        """
        low = max(int(np.searchsorted(self._time, start, side="right")) - 1, 0)
        high = int(np.searchsorted(self._time, end, side="left"))
        level = resolution.bit_length() - 1
        return _thinned(self._time[low:high], self._value[low:high], self._origin, level)


def _thinned(time: Nanoseconds, value: Int, origin: int, level: int) -> tuple[Nanoseconds, Int]:
    """First, least, greatest and last point of each cell of 2**level nanoseconds."""
    if not len(time):
        return time, value
    cell = (time - origin) >> level
    opens = np.concatenate([[True], cell[1:] != cell[:-1]])
    first = np.flatnonzero(opens)
    group = np.cumsum(opens) - 1
    chosen = opens | np.append(opens[1:], True)
    for extreme in (np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)):
        reaches = np.flatnonzero(value == extreme[group])
        chosen[reaches[np.diff(group[reaches], prepend=-1) > 0]] = True
    return time[chosen], value[chosen]


def idle_items(analysis: Analysis, names: LaneNames, device: int) -> LaneItems:
    """Idle time of a device by cause.

    The source of an item is its row of `Gaps`.
    """
    gaps = analysis.gaps
    rows = np.flatnonzero(gaps.device == device)
    cause = gaps.cause[rows]
    return LaneItems(gaps.start[rows], gaps.end[rows], names.cause + cause, OF_CAUSE[cause], rows)


def queue_curve(analysis: Analysis, device: int) -> Curve:
    """Number of device events that were launched and have not begun."""
    queue = queue_length(
        analysis.call_tree, analysis.device_events, analysis.device_events.device == device
    )
    return Curve(queue.time, queue.length, analysis.bounds[0])


def memory_curve(analysis: Analysis, events: AllocatorEvents, total: Int, device: int) -> Curve:
    """One total of a device, where the trace knows it.

    Args:
        analysis: the trace.
        events: of its allocators.
        total: bytes after each event, -1 for unknown.
        device: index into `events.devices`.
    """
    mine = np.arange(len(events))[events.of(device)]
    known = mine[total[mine] >= 0]
    return Curve(events.time[known], total[known], analysis.bounds[0])


# The lane of steps, and below each the phases it went through.
#
#     exact      [fw] [fw][fw]           [fw]  [bw][bw] [bw]   [opt]
#     lane       [- forward -]           [fw]  [ backward -]   [opt]
#
# A phase goes on over short gaps, in which the host is in no phase: up to a hundredth of the step.
# They are not in the report's `forward_us` and its like.


GAP_SHARE = 100
"""A gap within a phase may take one part in this many of its step."""


def step_items(analysis: Analysis, names: LaneNames) -> LaneItems:
    """Steps, and the spans of their phases.

    The source of an item is its step, -1 for that of a phase.
    """
    window = analysis.steps.window
    start, end, phase = phase_spans(analysis)
    steps = np.arange(len(window))
    return LaneItems(
        start=np.concatenate([window[:, 0], start]),
        end=np.concatenate([window[:, 1], end]),
        name=np.concatenate([names.step + steps, names.phase + phase]),
        colour=np.concatenate([np.full(len(window), Colour.OTHER, np.uint8), OF_PHASE[phase]]),
        source=np.concatenate([steps, np.full(len(phase), -1)]),
    )


def phase_spans(analysis: Analysis) -> tuple[Nanoseconds, Nanoseconds, Int]:
    """Start, end and phase of each span, in order, cut at bounds of steps."""
    times = [intervals.cut(time, unique(analysis.steps.window)) for time in analysis.phases.time]
    numbers = [np.full(len(time), number) for number, time in enumerate(times)]
    spans, phase = np.concatenate(times), np.concatenate(numbers)
    order = np.argsort(spans[:, 0], kind="stable")
    spans, phase = spans[order], phase[order]
    step = analysis.steps.at((spans[:, 0] + spans[:, 1]) // 2)
    goes_on = (phase[1:] == phase[:-1]) & (step[1:] == step[:-1]) & (step[1:] >= 0)
    window = analysis.steps.window[step[1:]]
    goes_on &= (spans[1:, 0] - spans[:-1, 1]) * GAP_SHARE <= window[:, 1] - window[:, 0]
    edge = np.ones(min(len(phase), 1), bool)
    opens, closes = np.concatenate([edge, ~goes_on]), np.concatenate([~goes_on, edge])
    return spans[opens, 0], spans[closes, 1], phase[opens]


# Lanes of modules: their calls, and their spans of the backward pass.
#
#     nodes      [a.1 ][a.1 ][a.0 ]   [a.1 ][?]           module of each
#     lane       [------- a ------]   [- a-]
#                [--- 1 -----][-0-]   [--1-]
#
# In the backward pass a module's span lasts from the first to the last of the nodes that follow
# each other within its part of the tree. It ends where a node of another part, or of no module,
# comes between, and where forward, optimizer or data time or a step's bound lies between.
#
# A call or span in which the host waited for at least half of the time, in that module itself and
# not in one below, has the colour of syncs.


SHARE = 0.01
"""Least part of a mean step that a sync costs; `HIGHLIGHT_THRESHOLD` of the page."""


def costly_syncs(analysis: Analysis) -> Bool:
    """Whether each sync made the device idle for that part of a step.

    A host that waits for a device at work loses nothing. Where idle time is unknown, the time of
    the sync itself counts; the profiler's own sync never does.
    """
    syncs, idle = analysis.syncs, analysis.sync_idle
    lost = syncs.duration if idle is None else np.minimum(syncs.duration, idle)
    steps = analysis.steps.window[list(Selection(analysis, None).averaged.steps)]
    step = float((steps[:, 1] - steps[:, 0]).mean()) if len(steps) else 0.0
    return np.asarray(~syncs.by_profiler & (lost > 0) & (lost >= SHARE * step))


MOST_LEVELS = 200
"""Modules below each other that have a row; further down there is none."""


def forward_rows(analysis: Analysis) -> TreeRow:
    """Rows of the call tree that are calls of modules outside the backward pass."""
    return np.flatnonzero((analysis.module_calls.module >= 0) & (analysis.row_node < 0))


def forward_items(analysis: Analysis, names: LaneNames, thread: int) -> LaneItems:
    """Calls of modules on a thread; the source of an item is its host row."""
    call_tree, module_calls = analysis.call_tree, analysis.module_calls
    rows = forward_rows(analysis)
    rows = rows[call_tree.thread[rows] == thread]
    start, end, module = call_tree.start[rows], call_tree.end[rows], module_calls.module[rows]
    owner = lookup(module_calls.module, module_calls.innermost(call_tree))
    syncs = _syncs(analysis, thread, owner, False)
    blocked = _mostly_blocked(start, end, module, syncs)
    colour = np.where(blocked, Colour.WAIT, OF_PHASE[analysis.phases.row[rows]])
    return LaneItems(start, end, names.module + module, colour.astype(np.uint8), rows)


def backward_threads(analysis: Analysis) -> ThreadIndex:
    """Threads on which nodes ran that belong to a module."""
    annotation = analysis.modules.annotation.astype(np.int64)
    owned = lookup(annotation, analysis.attribution.node_module) == 0
    return unique(analysis.call_tree.thread[analysis.nodes.row[owned]])


def backward_items(analysis: Analysis, names: LaneNames, thread: int) -> LaneItems:
    """Spans of modules on a thread, and calls of modules within nodes.

    The source of an item is the host row of its first node, or of the call.
    """
    call_tree, module_calls = analysis.call_tree, analysis.module_calls
    nodes = np.flatnonzero(call_tree.thread[analysis.nodes.row] == thread)
    spans = spans_of_nodes(analysis, nodes, MOST_LEVELS)
    start, end, module = spans.start, spans.end, spans.module
    again = np.flatnonzero((module_calls.module >= 0) & (analysis.row_node >= 0))
    again = again[call_tree.thread[again] == thread]
    recomputed = names.recomputed + module_calls.module[again]
    syncs = _syncs(analysis, thread, analysis.attribution.row_module, True)
    blocked = np.append(_mostly_blocked(start, end, module, syncs), np.zeros(len(again), bool))
    return LaneItems(
        start=np.concatenate([start, call_tree.start[again]]),
        end=np.concatenate([end, call_tree.end[again]]),
        name=np.concatenate([names.module + module, recomputed]),
        colour=np.where(blocked, Colour.WAIT, Colour.BACKWARD).astype(np.uint8),
        source=np.concatenate([analysis.nodes.row[nodes[spans.first]], again]),
    )


class _Syncs(NamedTuple):
    """Syncs of a thread, with the module of each."""

    start: Nanoseconds
    length: Nanoseconds
    module: ModuleIndex


def _syncs(analysis: Analysis, thread: int, module: ModuleIndex, backward: bool) -> _Syncs:
    """Costly syncs of a thread inside or outside of nodes.

    Args:
        analysis: of the trace.
        thread: the thread.
        module: the module of each row of the call tree.
        backward: whether inside.
    """
    syncs = analysis.syncs
    mine = costly_syncs(analysis) & (analysis.call_tree.thread[syncs.row] == thread)
    mine &= (analysis.row_node[syncs.row] >= 0) == backward
    start = syncs.start[mine]
    return _Syncs(start, syncs.end[mine] - start, module[syncs.row[mine]])


def _mostly_blocked(
    start: Nanoseconds, end: Nanoseconds, module: ModuleIndex, syncs: _Syncs
) -> Bool:
    """Items during half of which or more the host was in costly syncs of the module itself."""
    held = asof(module, start, syncs.module, syncs.start)
    inside = (held >= 0) & (syncs.module >= 0)
    inside &= lookup(end, held) > syncs.start
    waited = np.bincount(held[inside], syncs.length[inside], minlength=len(start))
    return np.asarray((waited > 0) & (2 * waited >= end - start))


class RowGroup(IntEnum):
    """Lanes of a thread, by the category of their rows."""

    HOST = 0
    PYTHON = 1
    DEVICE = 2
    REST = 3


_GROUPS = {
    EventCategory.OPERATOR: RowGroup.HOST,
    EventCategory.ANNOTATION: RowGroup.HOST,
    EventCategory.RUNTIME: RowGroup.HOST,
    EventCategory.PYTHON: RowGroup.PYTHON,
    **dict.fromkeys(DEVICE_CATEGORIES, RowGroup.DEVICE),
}
_GROUP_OF_CATEGORY = np.array(
    [_GROUPS.get(kind, RowGroup.REST) for kind in EventCategory], np.int64
)


class TraceRows:
    """The rows of a trace by thread and group, with their colours."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        events = analysis.trace.events
        key = events.thread.astype(np.int64) * len(RowGroup) + _GROUP_OF_CATEGORY[events.kind]
        self._order = np.argsort(key, kind="stable")
        present, first, _ = grouped(key[self._order])
        last = np.append(first, len(key))[1:]
        self._span = {
            (int(k) // len(RowGroup), RowGroup(int(k) % len(RowGroup))): (int(a), int(b))
            for k, a, b in zip(present, first, last, strict=True)
        }

    def groups(self, group: RowGroup) -> dict[int, int]:
        """Number of rows of a group, by thread."""
        return {t: b - a for (t, g), (a, b) in self._span.items() if g is group}

    def rows(self, thread: int, group: RowGroup) -> EventRow:
        """Rows of `Events` of one thread and group, ascending."""
        first, last = self._span[thread, group]
        return self._order[first:last]

    def items(self, thread: int, group: RowGroup) -> LaneItems:
        """Items of the lane of a thread and group.

        The source of an item is its row.
        """
        rows, events = self.rows(thread, group), self._analysis.trace.events
        colour = self.colour[rows]
        if group is RowGroup.PYTHON:
            colour = self._colour_of_frames(thread, events.start[rows])
        start = events.start[rows]
        name = events.name[rows].astype(np.int64)
        return LaneItems(start, start + events.duration[rows], name, colour, rows)

    @cached_property
    def colour(self) -> Colours:
        """Colour of each row of `Events` but Python frames."""
        analysis = self._analysis
        device_events = analysis.device_events
        colour = np.full(len(analysis.trace.events), Colour.OTHER, np.uint8)
        of_row = OF_PHASE[analysis.phases.row]
        of_row[analysis.syncs.row] = np.where(costly_syncs(analysis), Colour.WAIT, Colour.IDLE)
        colour[analysis.call_tree.event] = of_row
        phase = lookup(analysis.phases.row, device_events.launch)
        of_device_event = OF_PHASE[np.where(phase < 0, Phase.OTHER, phase)]
        of_device_event[analysis.kinds.kind == COMMUNICATION] = Colour.COMMUNICATION
        colour[device_events.event] = of_device_event
        return colour

    def _colour_of_frames(self, thread: int, moment: Nanoseconds) -> Colours:
        """Colour of the phase in which each moment of a thread lies."""
        row = innermost_at(self._analysis.call_tree, np.full(len(moment), thread), moment)
        phase = lookup(self._analysis.phases.row, row)
        return OF_PHASE[np.where(phase < 0, Phase.OTHER, phase)]
