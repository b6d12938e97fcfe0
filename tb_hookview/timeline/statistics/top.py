"""Kernels, operators and modules that took the most time of a window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tb_hookview.arrays.joins import index_of
from tb_hookview.arrays.nesting import lookup, nearest_above
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, Nanoseconds
from tb_hookview.arrays.units import to_us
from tb_hookview.schema.timeline import Measure, TopEntry, TopKind
from tb_hookview.timeline.lanes.names import label
from tb_hookview.timeline.statistics.clipping import clip, sums
from tb_hookview.timeline.timeline import Timeline

MOST = 20
Bounds = tuple[int, int]


@dataclass(frozen=True)
class Ranking:
    """Sums by name; arrays of shape (n,), times in nanoseconds."""

    kind: TopKind
    """Kind of the lanes that show it."""
    measure: Measure
    """Whose time it is."""
    names: Callable[[int], str]
    count: Int
    total: Nanoseconds
    own: Nanoseconds | None

    def top(self) -> list[TopEntry]:
        """The most expensive of them."""
        rank = self.total if self.own is None else self.own
        present = np.flatnonzero(self.count)
        order = present[np.lexsort((-self.total[present], -rank[present]))][:MOST]
        return [
            TopEntry(
                kind=self.kind,
                measure=self.measure,
                name=label(self.names(row)),
                count=int(self.count[row]),
                total_us=to_us(self.total[row]),
                self_us=None if self.own is None else to_us(self.own[row]),
            )
            for row in order.tolist()
        ]

    @property
    def omitted(self) -> int:
        """Number of names that `top` leaves out."""
        return max(int(np.count_nonzero(self.count)) - MOST, 0)


def rankings(timeline: Timeline, window: Bounds) -> Iterator[Ranking]:
    """Device events, operators, modules forward and backward."""
    yield _device_events(timeline, window)
    yield _operators(timeline, window)
    known = timeline.analysis.launches_known
    yield from (_device_modules if known else _host_modules)(timeline, window)


def _device_events(timeline: Timeline, window: Bounds) -> Ranking:
    analysis = timeline.analysis
    inside = clip(analysis.device_events.start, analysis.device_events.end, window)
    name = analysis.trace.events.name[analysis.device_events.event[inside.row]].astype(np.int64)
    size = len(analysis.trace.strings)
    names = analysis.trace.strings.__getitem__
    count = np.bincount(name, minlength=size)
    return Ranking("device", "device", names, count, sums(name, inside.time, size), None)


def _operators(timeline: Timeline, window: Bounds) -> Ranking:
    analysis, rows = timeline.analysis, timeline.analysis.operators
    host, size = analysis.host, len(analysis.trace.strings)
    inside = clip(analysis.call_tree.start, analysis.call_tree.end, window)
    own_time = inside.own_time(rows.above)
    named = rows.named[inside.row]
    calls = named & ~rows.repeats[inside.row]
    string = host.string[inside.row]
    outer = np.flatnonzero(calls)
    outer = outer[analysis.call_tree.outermost(inside.row[outer], string[outer])]
    return Ranking(
        kind="host",
        measure="host",
        names=analysis.trace.strings.__getitem__,
        count=np.bincount(string[calls], minlength=size),
        total=sums(string[outer], inside.time[outer], size),
        own=sums(string[named], own_time[named], size),
    )


def _device_modules(timeline: Timeline, window: Bounds) -> Iterator[Ranking]:
    analysis = timeline.analysis
    inside = clip(analysis.device_events.start, analysis.device_events.end, window)
    module, node = (
        analysis.device_attribution.module[inside.row],
        analysis.device_attribution.node[inside.row],
    )
    forward, backward = (node < 0) & (module >= 0), (node >= 0) & (module >= 0)
    yield _modules(timeline, "forward", "device", module[forward], inside.time[forward])
    yield _modules(timeline, "backward", "device", module[backward], inside.time[backward])


def _host_modules(timeline: Timeline, window: Bounds) -> Iterator[Ranking]:
    analysis = timeline.analysis
    call_tree, nodes, attribution = analysis.call_tree, analysis.nodes, analysis.attribution
    is_call: Bool = analysis.module_calls.module >= 0
    calls = np.flatnonzero(is_call)
    number = index_of(calls, len(call_tree))
    inside = clip(call_tree.start[calls], call_tree.end[calls], window)
    own = inside.own_time(lookup(number, nearest_above(call_tree.parent, is_call)[calls]))
    row = calls[inside.row]
    mine = ~attribution.row_recompute[row]
    yield _modules(timeline, "forward", "host", analysis.module_calls.module[row[mine]], own[mine])
    inside = clip(call_tree.start[nodes.row], call_tree.end[nodes.row], window)
    module, own = attribution.node_module[inside.row], inside.own_time(nodes.around)
    yield _modules(timeline, "backward", "host", module[module >= 0], own[module >= 0])


def _modules(
    timeline: Timeline, kind: TopKind, measure: Measure, module: ModuleIndex, time: Nanoseconds
) -> Ranking:
    modules, first = timeline.analysis.modules, timeline.names.module
    count = np.bincount(module, minlength=len(modules))
    own = sums(module, time, len(modules))
    return Ranking(
        kind=kind,
        measure=measure,
        names=lambda row: timeline.names.texts[first + row],
        count=count,
        total=modules.rolled_up(own),
        own=own,
    )
