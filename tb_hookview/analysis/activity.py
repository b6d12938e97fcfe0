"""What the training thread, and the devices, were doing at each moment, module by module.

    main      [ a.forward [ b.forward ]  ]                       [optimizer]
    autograd                                 [node b] [node a]
    host      |--- a -----|---- b ----|a-|....|--- b --|-- a --|..|optimizer|

A moment has the innermost module whose forward is open, or the module whose nodes the autograd
engine evaluates; Python between operators counts for the module that it runs in.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.backward_spans import spans_of_nodes
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals, nesting
from tb_hookview.arrays.joins import unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import ranges, sum_by
from tb_hookview.arrays.types import Bool, Float, Int, Nanoseconds, TimeSet
from tb_hookview.schema import Phase

OTHER, DATA, OPTIMIZER, WAIT, PEERS = -1, -2, -3, -4, -5
"""Codes of what is no module: other host work, the loader, the optimizer, waits for the device, and
for other ranks."""


class Activity(Struct, frozen=True):
    """Spans of time by what ran, shape (k,); nanoseconds."""

    start: Nanoseconds
    end: Nanoseconds
    code: Int
    """`ModuleIndex`, or one of the codes above."""
    backward: Bool
    """Whether a module's span is of its backward."""


def host_activity(analysis: Analysis) -> Activity:
    """What the host was doing: disjoint spans in order of time.

    A wait for a device that runs nothing but collectives is one for other ranks.
    """
    waits = device_waits(analysis)
    layers = [
        _of_sets(analysis.communication_waits, PEERS),
        _of_sets(intervals.intersect(waits, _exposed(analysis)), PEERS),
        _of_sets(analysis.phases.time[Phase.DATA], DATA),
        _of_sets(analysis.phases.time[Phase.OPTIMIZER], OPTIMIZER),
        _of_sets(waits, WAIT),
        _backward(analysis),
        _forward(analysis),
    ]
    return _painted(layers, analysis.bounds)


def device_activity(analysis: Analysis) -> Activity:
    """What ran on the devices, collectives left out; spans of several streams overlap."""
    events = analysis.device_events
    wanted = analysis.kinds.kind != COMMUNICATION
    attribution = analysis.device_attribution
    backward = attribution.node[wanted] >= 0
    return Activity(events.start[wanted], events.end[wanted], attribution.module[wanted], backward)


def in_windows(activity: Activity, edges: Nanoseconds) -> tuple[Int, Int, Nanoseconds]:
    """Time of each code in each window between consecutive edges.

    Args:
        activity: spans.
        edges: ascending moments, shape (e,).

    Returns:
        Window (its index among e - 1), code and time of each pair that occurs.
    """
    first = np.maximum(np.searchsorted(edges, activity.start, side="right") - 1, 0)
    last = np.minimum(np.searchsorted(edges, activity.end, side="left"), len(edges) - 1)
    window, span = ranges(first, np.maximum(last, first))
    time = np.minimum(activity.end[span], edges[window + 1])
    time -= np.maximum(activity.start[span], edges[window])
    codes, code = unique_inverse(activity.code[span])
    pairs, place = unique_inverse(window * len(codes) + code)
    of_window, of_code = np.divmod(pairs, max(1, len(codes)))
    return of_window, codes[of_code], sum_by(place, np.maximum(time, 0), len(pairs))


def device_waits(analysis: Analysis) -> TimeSet:
    """Time in which the host waits for a device: in syncs, and before it frees memory."""
    syncs, retries = analysis.syncs, analysis.retries
    return intervals.of(
        np.concatenate([syncs.start, retries.start]), np.concatenate([syncs.end, retries.end])
    )


def _exposed(analysis: Analysis) -> TimeSet:
    """Time in which devices run nothing but collectives."""
    events, is_collective = analysis.device_events, analysis.kinds.kind == COMMUNICATION
    return intervals.subtract(events.time_of(is_collective), events.time_of(~is_collective))


def _of_sets(time: TimeSet, code: int) -> Activity:
    return _same(time[:, 0], time[:, 1], np.full(len(time), code, np.int64), backward=False)


def _same(start: Nanoseconds, end: Nanoseconds, code: Int, *, backward: bool) -> Activity:
    return Activity(start, end, code, np.full(len(start), backward, bool))


def _forward(analysis: Analysis) -> Activity:
    """Calls of modules outside of the backward pass; inner ones come after those around them."""
    rows = np.flatnonzero((analysis.module_calls.module >= 0) & (analysis.row_node < 0))
    tree = analysis.call_tree
    modules = analysis.module_calls.module[rows]
    return _same(tree.start[rows], tree.end[rows], modules, backward=False)


def _backward(analysis: Analysis) -> Activity:
    """Spans of modules in the backward pass; inner modules come after outer ones.

    An annotation has no span there: of the nodes that were made right in it, each has its own.
    """
    tree, nodes = analysis.call_tree, analysis.nodes.row
    thread, owner = tree.thread[nodes], analysis.attribution.node_module
    annotated = np.flatnonzero(lookup(analysis.modules.annotation, owner) > 0)
    rows = nodes[annotated]
    found = [(tree.start[rows], tree.end[rows], owner[annotated])]
    for each in unique(thread).tolist():
        spans = spans_of_nodes(analysis, np.flatnonzero(thread == each))
        found.append((spans.start, spans.end, spans.module))
    start, end, module = (np.concatenate(column) for column in zip(*found, strict=True))
    return _same(start, end, module, backward=True)


def _painted(layers: list[Activity], bounds: tuple[int, int]) -> Activity:
    """Disjoint spans: a moment has the first layer that holds it, in it the last begun span."""
    edges = [np.array(bounds, np.int64)]
    edges += [column for layer in layers for column in (layer.start, layer.end)]
    edge = unique(np.concatenate(edges))
    start, end = edge[:-1], edge[1:]
    painted = _same(start, end, np.full(len(start), OTHER, np.int64), backward=False)
    for layer in reversed(layers):
        inner = _innermost(layer, start)
        painted.code[inner >= 0] = layer.code[inner[inner >= 0]]
        painted.backward[inner >= 0] = layer.backward[inner[inner >= 0]]
    return _joined(painted)


def _innermost(layer: Activity, time: Nanoseconds) -> Int:
    """Innermost span open at each moment, -1 for none."""
    spans, thread = np.arange(len(layer.start)), np.zeros(len(layer.start), np.int64)
    tree = nesting.build(spans, thread, layer.start, layer.end - layer.start)
    found = nesting.innermost_at(tree, np.zeros(len(time), np.int64), time)
    return nesting.lookup(tree.event, found)


def _joined(spans: Activity) -> Activity:
    if not len(spans.start):
        return spans
    code, backward = spans.code, spans.backward
    changes = (code[1:] != code[:-1]) | (backward[1:] != backward[:-1])
    opens, closes = np.concatenate([[True], changes]), np.concatenate([changes, [True]])
    return Activity(spans.start[opens], spans.end[closes], code[opens], backward[opens])


# FLOPs and utilization of the parts of a trace: steps, or modules.


class Utilization(Struct, frozen=True):
    """Sums over the parts, shape (p,); times in nanoseconds."""

    device: Float
    flops: Float
    recomputed: Float
    """The part of `flops` that was recomputed."""
    spent: Float
    """Time of the calls of known FLOPs: on the device, or without one on the host."""
    unknown: Float
    """Device time of products, convolutions and attention of unknown FLOPs."""
    moved: Float
    """Bytes of these calls; NaN where those of one are unknown."""
    at_peak: Float
    """Time that the FLOPs take at the peak; NaN where that of one is unknown."""
    model_at_peak: Float
    """The same of those that were not recomputed."""


def utilization(selection: Selection, row_part: Int, event_part: Int, size: int) -> Utilization:
    """Sum up what belongs to each of `size` parts.

    Args:
        selection: what counts.
        row_part: part of each row of the call tree, -1 for none.
        event_part: part of each device event, -1 for none.
        size: number of parts.
    """
    analysis = selection.analysis
    work, events = analysis.device_work, analysis.device_events
    call = analysis.counted_calls & selection.rows & (row_part >= 0)
    event = selection.device_events & (event_part >= 0)
    again, rerun = analysis.attribution.row_recompute, analysis.device_attribution.recompute

    def of_calls(values: Float | Int, wanted: Bool = call) -> Float:
        return _sums(row_part[wanted], values[wanted], size)

    def of_events(values: Float | Int, wanted: Bool) -> Float:
        return _sums(event_part[wanted & event], values[wanted & event], size)

    known = work.call >= 0
    spent = of_events(events.duration, known)  # 0 where a device ran that is not in the trace
    on_host = not (len(events) or analysis.device_unseen)
    return Utilization(
        device=of_events(events.duration, event),
        flops=of_calls(analysis.call_work.flops),
        recomputed=of_calls(analysis.call_work.flops, call & again),
        spent=of_calls(analysis.call_tree.duration) if on_host else spent,
        unknown=of_events(events.duration, work.works & ~known),
        moved=of_calls(analysis.call_work.bytes),
        at_peak=of_events(analysis.time_at_peak, known),
        model_at_peak=of_events(analysis.time_at_peak, known & ~rerun),
    )


def _sums(part: Int, values: Float | Int, size: int) -> Float:
    return np.bincount(part, values, minlength=size).astype(np.float64)


# Role of each thread of the host: forward, backward, data or other.


_DATA_NAMES = ("pt_data_worker", "pt_data_pin")
"""Part of torch's names for threads of its `DataLoader`."""


def thread_role(analysis: Analysis, thread: int) -> str:
    """`schema.Thread.role` of a thread, by all of the trace."""
    first, end = np.searchsorted(analysis.call_tree.thread, [thread, thread + 1])
    phases = set(unique(analysis.phases.row[first:end]).tolist())
    if thread in analysis.steps.thread or Phase.FORWARD in phases:
        return "forward"
    if Phase.BACKWARD in phases:
        return "backward"
    name = analysis.trace.threads[thread].name
    if Phase.DATA in phases or any(known in name for known in _DATA_NAMES):
        return "data"
    return "other"
