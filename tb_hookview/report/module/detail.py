"""One module by itself: its kernels, autograd nodes, parameters and calls over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.compiled.attribution import CompiledTime
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE, RECOMPUTE, Parts
from tb_hookview.analysis.selection import Selection, select
from tb_hookview.arrays.joins import grouped, index_of, mask_of, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup, nearest
from tb_hookview.arrays.sums import greatest_by, least_by, sum_by
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
    to_us,
)
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.report.tables.kernels import EVENTS
from tb_hookview.report.tables.modules import Calls
from tb_hookview.tables.events.names import first_events, numbered_kernels
from tb_hookview.trace import EventCategory

# One module's calls over time, with the forward and backward cost of each.
#
# A node belongs to the call in which the operator that made it ran. A node that no operator of that
# call made (`AccumulateGrad`, one made by a recomputation) belongs to the last call before it, if
# that is the only one it can be: when no backward of the module ran since the call before, several
# calls share what follows. Such time, and what the module's parts did outside its calls, is placed
# in no call, and counted.


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


def calls_over_time(selection: Selection, module: int) -> schema.CallsOverTime:
    """The calls of one module (an index into `Modules`) in the selection."""
    times = _times(selection, Calls(selection), module)
    count, known = len(times.start), selection.analysis.launches_known
    every = np.arange(count + 1)
    binned = count > MOST_SINGLE
    edges = np.linspace(0, count, BINS + 1).astype(np.int64) if binned else every
    return schema.CallsOverTime(
        count=count,
        binned=binned,
        rows=_rows(times, edges[:-1], edges[1:], known),
        unplaced=schema.Unplaced(**_amounts(times.unplaced, known)),
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
        place = np.where(lookup(chosen, call) == 1, call, size)
        np.add.at(time[:, measure], place, nanoseconds)

    mine = placed.owns(calls.module) & ~calls.again
    add(FORWARD_HOST, placed.around(calls.rows[mine]), calls.self_host[mine])
    moved = calls.moved(again=False)
    mine = placed.owns(moved.module)
    add(FORWARD_HOST, placed.around(moved.row[mine]), moved.time[mine])
    nodes = analysis.node_parts.of(selection.nodes)
    nodes = nodes.where(placed.owns(nodes.module))
    evaluated = placed.of_node_parts(nodes)
    add(BACKWARD_HOST, evaluated, nodes.time)
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
        backward=_spans(analysis, nodes.index, evaluated, size)[chosen],
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

    def of_node_parts(self, parts: Parts) -> Int:
        """The call whose backward, or recomputation, each part of a node's host time is."""
        call = self.of_node[parts.index]
        again = (call < 0) & (parts.evidence == RECOMPUTE)
        row = self._analysis.nodes.row[parts.index[again]]
        call[again] = self._last_before(self._analysis.call_tree.start[row])
        return call

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
    start = least_by(call, analysis.call_tree.start[rows], size)
    end = greatest_by(call, analysis.call_tree.end[rows], size, -1)
    start[end < 0] = -1
    return np.stack([start, end], axis=1)


def _slowest(times: _Times, known: bool) -> dict[str, schema.CallRow]:
    found = {}
    for measure, name in enumerate(MEASURES):
        column = times.time[:, measure]
        if len(column) and column.max() > 0 and (known or measure not in _DEVICE):
            first = np.array([int(column.argmax())])
            (found[name],) = _rows(times, first, first + 1, known)
    return found


def _rows(times: _Times, first: Int, end: Int, known: bool) -> list[schema.CallRow]:
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
            schema.CallRow(
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


MOST_KERNELS = 200
MOST_NODES = 200
MOST_PATHS = 100
"""Modules whose calls are asked for at a time: what a table shows."""


def module_detail(
    analysis: Analysis, path: str, steps: Sequence[str] | None = None
) -> schema.ModuleDetail:
    """Sum up one module, over the whole trace or over the steps named.

    Kernels sum to the module's device time in the report, nodes to its host time, calls to both.

    Raises:
        NotFoundError: the trace has no module, or no step, of that name.
    """
    selection = select(analysis, steps)
    subtree = _Subtree(analysis, _module(analysis, path))
    kernels, kernels_omitted = _kernels(selection, subtree)
    nodes, nodes_omitted = _nodes(selection, subtree)
    return schema.ModuleDetail(
        path=path,
        kernels=kernels,
        kernels_omitted=kernels_omitted,
        nodes=nodes,
        nodes_omitted=nodes_omitted,
        parameters=_parameters(analysis, subtree),
        calls=calls_over_time(selection, subtree.module),
        backward_by_evidence=_by_evidence(selection, subtree.module),
        forward_by_evidence=_forward_by_evidence(selection, subtree.module),
    )


def module_bars(
    analysis: Analysis, paths: Sequence[str], measure: str, steps: Sequence[str] | None = None
) -> dict[str, list[float]]:
    """Cost of these modules' calls over time, by path; see `call_bars`.

    Raises:
        NotFoundError: the trace has no module, or no step, of that name.
        UsageError: there is no such measure, or more paths than `MOST_PATHS`.
    """
    if measure not in MEASURES:
        raise UsageError(f"measure is one of {', '.join(MEASURES)}")
    if len(paths) > MOST_PATHS:
        raise UsageError(f"no more than {MOST_PATHS} modules at a time")
    modules = [_module(analysis, path) for path in paths]
    bars = call_bars(select(analysis, steps), modules, measure)
    return dict(zip(paths, bars, strict=True))


def _module(analysis: Analysis, path: str) -> int:
    if path not in analysis.modules.path:
        raise NotFoundError(f"{analysis.trace.path}: no module {path[:200]!r}")
    return analysis.modules.path.index(path)


class _Subtree:
    """A module and those below it."""

    def __init__(self, analysis: Analysis, module: int) -> None:
        self.module = module
        self._end = int(analysis.modules.end[module])
        self.paths = analysis.modules.path[module : self._end]

    def holds(self, module: ModuleIndex) -> Bool:
        """Whether each of these modules is the one or below it."""
        return (module >= self.module) & (module < self._end)


class _Groups(Struct, frozen=True):
    """Device events by name, event and kind; times in nanoseconds."""

    id: Int
    """Of the kernel in the report, shape (g,)."""
    first: DeviceEventIndex
    """One device event of each group, shape (g,)."""
    amount: Int
    """Shape (g, 3 directions, 4 fields of `Amount`)."""

    def most_expensive(self) -> Int:
        """Groups by time, forward and backward together."""
        time = self.amount[:, :2, 1].sum(axis=1)
        return np.lexsort((np.arange(len(time)), -time))


def _kernels(
    selection: Selection, subtree: _Subtree
) -> tuple[list[schema.KernelUse], schema.KernelUseOmitted | None]:
    groups = _device_events_by_name(selection, subtree)
    order = groups.most_expensive()
    rows = [_kernel(selection.analysis, groups, g) for g in order[:MOST_KERNELS].tolist()]
    rest = order[MOST_KERNELS:]
    if not len(rest):
        return rows, None
    return rows, schema.KernelUseOmitted(len(rest), *_directions(groups.amount[rest].sum(axis=0)))


def _device_events_by_name(selection: Selection, subtree: _Subtree) -> _Groups:
    analysis = selection.analysis
    attribution = analysis.device_attribution
    parts = analysis.device_parts.of(selection.device_events)
    parts = parts.where(subtree.holds(parts.module))
    mine, number = parts.index, numbered_kernels(analysis)
    distinct, first, group = grouped(number[0][mine])
    own = parts.module == subtree.module
    backward = attribution.node[mine] >= 0
    amount = np.zeros((len(first), 3, 4), np.int64)
    for direction, inside in enumerate((~backward, backward, attribution.recompute[mine])):
        count, time = inside & parts.main, parts.time * inside
        for field, values in enumerate((count, time, count & own, time * own)):
            np.add.at(amount[:, direction, field], group, values.astype(np.int64))
    return _Groups(number[1][distinct], mine[first], amount)


def _kernel(analysis: Analysis, groups: _Groups, group: int) -> schema.KernelUse:
    example = int(groups.first[group])
    events, event = analysis.trace.events, analysis.device_events.event[example]
    core = int(analysis.kinds.tensor_core[example])
    return schema.KernelUse(
        int(groups.id[group]),
        analysis.trace.strings[events.name[event]],
        schema.KINDS[analysis.kinds.kind[example]],
        EVENTS[EventCategory(events.kind[event])],
        None if core < 0 else bool(core),
        *_directions(groups.amount[group]),
    )


def _directions(amount: Int) -> Iterable[schema.Amount]:
    """Forward, backward, recompute; from shape (3, 4)."""
    for count, time, self_count, self_time in amount.tolist():
        yield schema.Amount(count, to_us(time), self_count, to_us(self_time))


def _nodes(
    selection: Selection, subtree: _Subtree
) -> tuple[list[schema.NodeUse], schema.NodeUseOmitted | None]:
    analysis = selection.analysis
    nodes, attribution = analysis.nodes, analysis.device_attribution
    strings, group = unique_inverse(analysis.host.string[nodes.row])
    ids = first_events(group, analysis.call_tree.event[nodes.row])
    sums = np.zeros((len(strings), 6), np.int64)

    def add(first_field: int, index: Int, module: ModuleIndex, values: Int) -> None:
        np.add.at(sums[:, first_field], index, values)
        own = module == subtree.module
        np.add.at(sums[:, first_field + 3], index[own], values[own])

    parts = analysis.node_parts.of(selection.nodes)
    parts = parts.where(subtree.holds(parts.module))
    add(0, group[parts.index], parts.module, parts.main.astype(np.int64))
    add(1, group[parts.index], parts.module, parts.time)
    launched = analysis.device_parts.of(selection.device_events & (attribution.node >= 0))
    launched = launched.where(subtree.holds(launched.module))
    add(2, group[attribution.node[launched.index]], launched.module, launched.time)
    order = np.lexsort((strings, -sums[:, 1], -sums[:, 2]))
    order = order[(sums[order] > 0).any(axis=1)]
    names, known = analysis.trace.strings, analysis.launches_known
    rows = [
        schema.NodeUse(
            int(ids[g]), node_name(names[int(strings[g])]), *_node_fields(sums[g], known)
        )
        for g in order[:MOST_NODES].tolist()
    ]
    rest = order[MOST_NODES:]
    if not len(rest):
        return rows, None
    return rows, schema.NodeUseOmitted(len(rest), *_node_fields(sums[rest].sum(axis=0), known))


def _node_fields(sums: Int, known: bool) -> Iterable[Any]:
    """Count, host and device time, including children and without."""
    for count, host, device in sums.reshape(2, 3).tolist():
        yield from (count, to_us(host), to_us(device) if known else None)


def _by_evidence(selection: Selection, module: int) -> dict[str, float]:
    analysis = selection.analysis
    backward = selection.device_events & (analysis.device_attribution.node >= 0)
    parts = analysis.device_parts.of(backward)
    if not parts.time.any():
        parts = analysis.node_parts.of(selection.nodes)
    return _sums(parts.evidence[parts.module == module], parts.time[parts.module == module])


def _forward_by_evidence(selection: Selection, module: int) -> dict[str, float]:
    analysis = selection.analysis
    forward = selection.device_events & (analysis.device_attribution.node < 0)
    parts: Parts | CompiledTime = analysis.device_parts.of(forward)
    if not parts.time.any():
        parts = Calls(selection).moved(again=False)
    return _sums(parts.evidence[parts.module == module], parts.time[parts.module == module])


def _sums(evidence: Int, time: Nanoseconds) -> dict[str, float]:
    """Microseconds by name of the evidence, without what has none."""
    sums = sum_by(evidence, time, len(EVIDENCE))
    return {name: to_us(ns) for name, ns in zip(EVIDENCE, sums.tolist(), strict=True) if ns}


def _parameters(analysis: Analysis, subtree: _Subtree) -> schema.Parameters | None:
    manifest = analysis.trace.manifest
    below = frozenset(subtree.paths)
    listed = {m.path: m for m in (manifest.modules if manifest else ()) if m.path in below}
    path = subtree.paths[0]
    own = listed.get(path)
    if manifest is None or own is None or own.parameters is None:
        return None
    return schema.Parameters(
        count=sum(module.parameters or 0 for module in listed.values()),
        bytes=sum(module.bytes for module in listed.values()),
        self_count=own.parameters,
        self_bytes=own.bytes,
        trainable=own.trainable,
        shared=[
            schema.SharedParameter(entry.parameter, entry.owner, entry.owner_parameter)
            for entry in manifest.shared
            if entry.path == path
        ],
    )


MOST_TEXT = 200
"""Characters of a text that is looked for."""
MOST_FOUND = 2000
"""Modules in an answer."""


def search_kernels(
    analysis: Analysis, text: str, steps: Sequence[str] | None = None
) -> schema.KernelSearch:
    """Find modules by the names of their own device events, whatever the text's case.

    Raises:
        NotFoundError: the trace has no step of that name.
        UsageError: the text is empty, or longer than `MOST_TEXT`.
    """
    wanted = text.strip().lower()
    if not wanted or len(wanted) > MOST_TEXT:
        raise UsageError(f"the query needs q=TEXT, of at most {MOST_TEXT} characters")
    chosen = np.flatnonzero(select(analysis, steps).device_events)
    name = analysis.trace.events.name[analysis.device_events.event[chosen]]
    holds = analysis.trace.strings.map(name, lambda text: wanted in text.lower(), bool)
    matching = mask_of(chosen[holds], len(analysis.device_events))
    module = analysis.device_parts.of(matching).module
    found = unique(module[module >= 0]).tolist()
    paths = list(dict.fromkeys(analysis.modules.path[index] for index in found))
    return schema.KernelSearch(
        int(holds.sum()), paths[:MOST_FOUND], max(0, len(paths) - MOST_FOUND)
    )
