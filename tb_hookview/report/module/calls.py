"""One module's calls over time, with the forward and backward cost of each.

A node belongs to the call in which the operator that made it ran. A node that no operator of that
call made (`AccumulateGrad`, one made by a recomputation) belongs to the last call before it, if
that is the only one it can be: when no backward of the module ran since the call before, several
calls share what follows. Such time, and what the module's parts did outside its calls, is placed
in no call, and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import index_of
from tb_hookview.arrays.nesting import lookup, nearest
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    EventRow,
    Int,
    Intervals,
    ModuleIndex,
    Nanoseconds,
    NodeIndex,
    TreeRow,
)
from tb_hookview.arrays.units import to_us
from tb_hookview.report.tables.modules import Calls
from tb_hookview.schema.module import CallRow, CallsOverTime, Unplaced

MOST_SINGLE = 2000
"""Calls that have a row each; more are put into bins."""
BINS = 500
MOST_BARS = 24
MEASURES = (
    *("forward_host_us", "forward_compute_us", "backward_host_us", "backward_compute_us"),
    "communication_us",
)
FORWARD_HOST, FORWARD_COMPUTE, BACKWARD_HOST, BACKWARD_COMPUTE, COLLECTIVES = range(len(MEASURES))
_DEVICE = (FORWARD_COMPUTE, BACKWARD_COMPUTE, COLLECTIVES)


class _Times(Struct, frozen=True):
    """Cost of each of a module's calls, nanoseconds; calls by start, shape (c,)."""

    event: EventRow
    """Row of the trace."""
    start: Nanoseconds
    end: Nanoseconds
    time: Nanoseconds
    """Shape (c, measures)."""
    backward: Intervals
    """Start of the first and end of the last node of each call, shape (c, 2); -1 for none."""
    unplaced: Nanoseconds
    """Shape (measures,)."""


def calls_over_time(selection: Selection, module: int) -> CallsOverTime:
    """The calls of one module (an index into `Modules`) in the selection."""
    times = _times(selection, Calls(selection), module)
    count, known = len(times.start), selection.analysis.launches_known
    every = np.arange(count + 1)
    binned = count > MOST_SINGLE
    edges = np.linspace(0, count, BINS + 1).astype(np.int64) if binned else every
    return CallsOverTime(
        count=count,
        binned=binned,
        rows=_rows(times, edges[:-1], edges[1:], known),
        unplaced=Unplaced(**_amounts(times.unplaced, known)),
        slowest=_slowest(times, known),
    )


def call_bars(selection: Selection, modules: Sequence[int], measure: str) -> list[list[float]]:
    """Cost of each module's calls over time, by one of `MEASURES`, microseconds.

    A bar is one call; where there are more than `MOST_BARS`, the mean of consecutive ones. Modules
    without calls have none, as have all by device time where the trace has no launches.
    """
    column = MEASURES.index(measure)
    if column in _DEVICE and not selection.analysis.launches_known:
        return [[] for _ in modules]
    calls = Calls(selection)
    return [_bars(_times(selection, calls, module).time[:, column]) for module in modules]


def _bars(time: Nanoseconds) -> list[float]:
    if not len(time):
        return []
    edges = np.linspace(0, len(time), min(len(time), MOST_BARS) + 1).astype(np.int64)
    mean = np.add.reduceat(time, edges[:-1]) / np.diff(edges)
    return [round(bar / 1000, 3) for bar in mean.tolist()]


def _times(selection: Selection, calls: Calls, module: int) -> _Times:
    analysis = selection.analysis
    placed = _Placement(analysis, module)
    chosen = selection.rows[placed.calls]
    size = len(placed.calls)
    time = np.zeros((size + 1, len(MEASURES)), np.int64)  # the last row takes what has no call

    def add(measure: int, call: Int, nanoseconds: Nanoseconds) -> None:
        place = np.where(lookup(chosen.astype(np.int64), call) == 1, call, size)
        np.add.at(time[:, measure], place, nanoseconds)

    mine = placed.owns(calls.module) & ~calls.again
    add(FORWARD_HOST, placed.around(calls.rows[mine]), calls.self_host[mine])
    moved = calls.moved(again=False)
    mine = placed.owns(moved.module)
    add(FORWARD_HOST, placed.around(moved.row[mine]), moved.time[mine])
    nodes = analysis.node_parts.of(selection.nodes)
    nodes = nodes.where(placed.owns(nodes.module))
    add(BACKWARD_HOST, placed.of_node[nodes.index], nodes.time)
    events = analysis.device_parts.of(selection.device_events)
    events = events.where(placed.owns(events.module))
    back = analysis.device_attribution.node[events.index] >= 0
    call = placed.around(analysis.device_events.launch[events.index])
    call[back] = placed.of_backward_events(events.index[back])
    measure = np.where(back, BACKWARD_COMPUTE, FORWARD_COMPUTE)
    measure[analysis.kinds.kind[events.index] == COMMUNICATION] = COLLECTIVES
    for each in _DEVICE:
        add(each, call[measure == each], events.time[measure == each])
    call_tree = analysis.call_tree
    return _Times(
        event=call_tree.event[placed.calls][chosen],
        start=call_tree.start[placed.calls][chosen],
        end=call_tree.end[placed.calls][chosen],
        time=time[:size][chosen],
        backward=_spans(analysis, nodes.index, placed.of_node[nodes.index], size)[chosen],
        unplaced=time[size],
    )


class _Placement:
    """Assigns one module's nodes and device events to its calls."""

    def __init__(self, analysis: Analysis, module: int) -> None:
        self._analysis = analysis
        self._first, self._end = module, int(analysis.modules.end[module])
        call_tree, again = analysis.call_tree, analysis.attribution.row_recompute
        is_call = analysis.module_calls.module == module
        if analysis.compiled is not None:
            row, ran = analysis.compiled.ran.T
            is_call[row[ran == module]] = True
        calls = np.flatnonzero(is_call & ~again)
        self.calls: TreeRow = calls[np.argsort(call_tree.start[calls], kind="stable")]
        """Host rows by start, without recomputed calls."""
        self._start = call_tree.start[self.calls]
        self._nearest = nearest(call_tree.parent, is_call)
        self._index = index_of(self.calls, len(call_tree))
        self._alone = self._only_candidate()
        self.of_node: Int = self._node_calls()
        """Per autograd node of the trace."""

    def owns(self, module: ModuleIndex) -> Bool:
        """Whether each module is this one or below it."""
        return (module >= self._first) & (module < self._end)

    def around(self, row: TreeRow) -> Int:
        """The call around each host row, the row itself included."""
        return lookup(self._index, lookup(self._nearest, row))

    def of_backward_events(self, events: DeviceEventIndex) -> Int:
        """The call whose backward launched each of this module's device events."""
        analysis = self._analysis
        call = lookup(self.of_node, analysis.device_attribution.node[events])
        again = (call < 0) & analysis.device_attribution.recompute[events]
        launched = analysis.call_tree.start[analysis.device_events.launch[events[again]]]
        call[again] = self._last_before(launched)
        return call

    def _node_calls(self) -> Int:
        analysis = self._analysis
        nodes = analysis.nodes
        forward_op = nodes.forward_op
        call = self.around(forward_op)
        unknown = (call < 0) & ((forward_op < 0) | (lookup(analysis.row_node, forward_op) >= 0))
        call[unknown] = self._last_before(analysis.call_tree.start[nodes.row[unknown]])
        return call

    def _last_before(self, time: Nanoseconds) -> Int:
        last = np.searchsorted(self._start, time, side="right") - 1
        return np.where(lookup(self._alone, last) == 1, last, -1)

    def _only_candidate(self) -> Int:
        """1 for each call with some backward between it and the call before."""
        analysis = self._analysis
        mine = analysis.nodes.row[self.owns(analysis.attribution.node_module)]
        ran = np.searchsorted(np.sort(analysis.call_tree.start[mine]), self._start)
        return np.concatenate([[1], np.diff(ran) > 0]).astype(np.int64)[: len(ran)]


def _spans(analysis: Analysis, nodes: NodeIndex, call: Int, size: int) -> Intervals:
    """Span from the first to the last given node of each call."""
    nodes, call = nodes[call >= 0], call[call >= 0]
    rows = analysis.nodes.row[nodes]
    never = np.iinfo(np.int64).max
    start, end = np.full(size, never, np.int64), np.full(size, -1, np.int64)
    np.minimum.at(start, call, analysis.call_tree.start[rows])
    np.maximum.at(end, call, analysis.call_tree.end[rows])
    start[start == never] = -1
    return np.stack([start, end], axis=1)


def _slowest(times: _Times, known: bool) -> dict[str, CallRow]:
    found = {}
    for measure, name in enumerate(MEASURES):
        column = times.time[:, measure]
        if len(column) and column.max() > 0 and (known or measure not in _DEVICE):
            first = np.array([int(column.argmax())])
            (found[name],) = _rows(times, first, first + 1, known)
    return found


def _rows(times: _Times, first: Int, end: Int, known: bool) -> list[CallRow]:
    """One row for the calls from each `first` to the one before each `end`."""
    if not len(first):
        return []
    sums = np.concatenate([np.zeros_like(times.time[:1]), np.cumsum(times.time, axis=0)])
    total = sums[end] - sums[first]
    rows = []
    for a, b, time in zip(first.tolist(), end.tolist(), total, strict=True):
        start, ran = int(times.start[a]), times.backward[a:b][times.backward[a:b, 0] >= 0]
        begun = int(ran[:, 0].min()) if len(ran) else None
        rows.append(
            CallRow(
                id=int(times.event[a]),
                calls=b - a,
                start_us=to_us(start),
                duration_us=to_us(int(times.end[a:b].max()) - start),
                backward_start_us=None if begun is None else to_us(begun),
                backward_duration_us=(
                    None if begun is None else to_us(int(ran[:, 1].max()) - begun)
                ),
                **_amounts(time, known),
            )
        )
    return rows


def _amounts(time: Nanoseconds, known: bool) -> dict[str, Any]:
    """The measures in microseconds; device time None where the trace has no launches."""
    return {
        name: None if measure in _DEVICE and not known else to_us(time[measure])
        for measure, name in enumerate(MEASURES)
    }
