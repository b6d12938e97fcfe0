"""What is changed in a replay: device events, host time, syncs, pauses, recording's cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.graph import EdgeKind, Graph
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, mask_of, scatter, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import ranges
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    Float,
    Int,
    Intervals,
    ModuleIndex,
    Nanoseconds,
    SyncIndex,
    ThreadIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.simulation.replay import NEVER, Lengths, Quiet, recorded


class DeviceChange(Struct, frozen=True):
    """Durations of some device events."""

    events: DeviceEventIndex
    factor: float = 0.0
    ns: Nanoseconds | None = None
    """Nanoseconds of each that `factor` applies to; None for all of it."""


class HostChange(Struct, frozen=True):
    """Time of one host thread, or of all (-1)."""

    thread: int
    time: TimeSet | None
    """On the trace's clock; None for all of it."""
    factor: float = 0.0


class HostCost(NamedTuple):
    """Time that is taken off one host thread: an amount at each of some moments."""

    moment: Nanoseconds
    """On the trace's clock, ascending, shape (k,)."""
    total: Float
    """Sum of the amounts before each moment, and of all, nanoseconds; shape (k + 1,)."""
    quiet: Quiet
    """Time of the thread of which nothing is taken off."""


class Change(Struct, frozen=True):
    """Anything that can be changed, together."""

    device: tuple[DeviceChange, ...] = ()
    host: tuple[HostChange, ...] = ()
    syncs: SyncIndex = field(default_factory=lambda: np.zeros(0, np.int64))
    """Syncs that are not there: they neither wait nor take time by themselves, but launches."""
    pauses: DeviceEventIndex = field(default_factory=lambda: np.zeros(0, np.int64))
    """Device events before which there is no unexplained pause."""
    less: tuple[HostCost, ...] = ()
    """Host time that is taken off first; factors apply to what is left."""


def together(changes: Iterable[Change]) -> Change:
    """One change of several."""
    listed = list(changes)
    none = np.zeros(0, np.int64)
    return Change(
        device=tuple(each for change in listed for each in change.device),
        host=tuple(each for change in listed for each in change.host),
        syncs=unique(np.concatenate([none, *(change.syncs for change in listed)])),
        pauses=unique(np.concatenate([none, *(change.pauses for change in listed)])),
        less=tuple(each for change in listed for each in change.less),
    )


class Changer(Struct, frozen=True, dict=True):
    """Applies changes to the lengths of a graph."""

    graph: Graph
    start: int
    """Start of the window on the trace's clock."""

    def apply(self, change: Change, before: Lengths | None = None) -> Lengths:
        """Lengths of nodes and edges with a change.

        Args:
            change: what is changed.
            before: what it is changed in, with durations as recorded; None for the trace.
        """
        graph, before = self.graph, before or recorded(self.graph)
        device = [each for each in change.device if len(each.events)]
        host = [each for each in change.host if each.time is None or len(each.time)]
        duration = self._durations(device) if device else before.duration
        lag = self._overlapped(before.lag, duration) if device else before.lag
        lag = self._less(lag, change.less) if change.less else lag
        quiet = (*before.quiet, *(cost.quiet for cost in change.less))
        lag = self._host(lag, host, quiet) if host else lag
        if len(change.syncs):
            lag = self._without_syncs(lag, isin(graph.sync, change.syncs))
        pause = before.pause
        if len(change.pauses):
            pause = np.where(
                (graph.nodes.event >= 0) & isin(graph.nodes.event, change.pauses), 0, pause
            )
        return Lengths(duration, lag, pause, quiet)

    def _without_syncs(self, before: Nanoseconds, chosen: Bool) -> Nanoseconds:
        """Lags where some syncs are not there; what launches takes as long as without waiting."""
        graph, edges = self.graph, self.graph.edges
        waits, gone = (
            mask_of(graph.sync_end[syncs], len(graph.nodes.time))[edges.target]
            for syncs in (chosen, chosen & ~graph.launches)
        )
        lag = np.where(waits & edges.of(EdgeKind.SYNC), NEVER, before)
        return np.where(gone & edges.of(EdgeKind.HOST), 0, lag)

    def _durations(self, changes: Iterable[DeviceChange]) -> Nanoseconds:
        """Durations; of several changes of one event, the parts taken off add up."""
        whole = self.graph.nodes.duration
        factor, off = np.ones(len(whole)), np.zeros(len(whole))
        for change in changes:
            node = self._node[np.minimum(change.events, len(self._node) - 1)]
            inside = node >= 0
            if change.ns is None:
                factor[node[inside]] *= change.factor
            else:
                np.add.at(off, node[inside], change.ns[inside] * (1 - change.factor))
        at = np.flatnonzero((factor != 1) | (off != 0))
        changed = whole.copy()
        changed[at] = np.maximum(whole[at] * factor[at] - off[at], 0).astype(np.int64)
        return changed

    def _overlapped(self, before: Nanoseconds, duration: Nanoseconds) -> Nanoseconds:
        """Lags: what begins before an event ends overlaps with as much of it as with all of it.

        A sync that returns before the end does so as early before it, but not before its start.
        """
        edges = self.graph.edges
        early = np.flatnonzero(edges.from_end & (before < 0) & (before > NEVER))
        if not len(early):
            return before
        lag = before.copy()
        whole, left = (each[edges.source[early]] for each in (self.graph.nodes.duration, duration))
        share = np.where(whole > 0, left / np.maximum(whole, 1), 1)
        limit = -left - np.maximum(-lag[early] - whole, 0)
        sync = edges.of(EdgeKind.SYNC)[early]
        scaled = np.rint(lag[early] * share).astype(np.int64)
        lag[early] = np.where(sync, np.maximum(lag[early], limit), scaled)
        return lag

    def caught_up(self, lengths: Lengths) -> Lengths | None:
        """Lengths with what was launched before the window changed as much as what it leaves.

        In a loop of steps the device has a backlog from the step before: the same events as those
        that it still has to run as the host is done with the window. What passes between two of
        them stays. None where the window's own are as recorded.
        """
        graph, history = self.graph, self.graph.nodes.history
        left, ns = self._left
        off = graph.nodes.duration[left] - lengths.duration[left]
        before, now = int(ns.sum()), int(np.maximum(ns - off, 0).sum())
        if now >= before:
            return None
        edges, (duration, lag) = graph.edges, (lengths.duration.copy(), lengths.lag.copy())
        first = edges.of(EdgeKind.ORIGIN) & (edges.source == 0)
        overlaps = edges.of(EdgeKind.ORIGIN, EdgeKind.STREAM) & (lag < 0) & (lag > NEVER)
        for changed, rows in (
            (duration, history),
            (lag, history[edges.target] & (first | overlaps)),
        ):
            changed[rows] = np.rint(changed[rows] * (now / before)).astype(np.int64)
        return replace(lengths, duration=duration, lag=lag)

    @cached_property
    def _left(self) -> tuple[Int, Nanoseconds]:
        """Nodes of the window's events that run after the host is done, and how long each does.

        All of its events where these are far fewer than what was launched before it.
        """
        graph, nodes, own = self.graph, self.graph.nodes, self._events
        end = (nodes.time + nodes.duration)[own] - nodes.time[graph.step_end[-1]]
        left = own[end > 0]
        ns = np.minimum(nodes.duration[left], end[end > 0])
        if 2 * ns.sum() >= nodes.duration[nodes.history].sum():
            return left, ns
        return own, nodes.duration[own]

    @cached_property
    def _events(self) -> Int:
        """Nodes that are device events launched in the window."""
        nodes = self.graph.nodes
        return np.flatnonzero((nodes.event >= 0) & ~nodes.history)

    @cached_property
    def _node(self) -> Int:
        """Node of each device event up to the window's last; -1 for none, as for all after it."""
        event = self.graph.nodes.event
        return scatter(event[self._events], self._events, int(event.max(initial=-1)) + 2)

    def _less(self, before: Nanoseconds, costs: Iterable[HostCost]) -> Nanoseconds:
        """Lags without some costs: none below 0, nor below the time in which there are none."""
        lag, edges = before.copy(), self.host_edges
        off = np.zeros(len(edges.edge))
        for cost in costs:
            mine = np.flatnonzero(edges.thread == cost.quiet.thread)
            begin, end = (cost.total[cost.moment.searchsorted(t)] for t in edges.time[mine].T)
            off[mine] += end - begin
        whole = lag[edges.edge]
        least = np.minimum(whole, self._quiet(cost.quiet for cost in costs))
        lag[edges.edge] = np.maximum(whole - np.rint(off).astype(np.int64), least)
        return lag

    def _host(
        self, before: Nanoseconds, changes: Sequence[HostChange], quiets: Sequence[Quiet]
    ) -> Nanoseconds:
        """Lags of the host's edges; where costs were taken off, it was not off quiet time."""
        lag, edges = before.copy(), self.host_edges
        kept = kept_share(changes, edges.thread, edges.time)
        rows = np.flatnonzero(kept != 1)
        whole = lag[edges.edge[rows]]
        in_quiet = kept_share(_within(changes, quiets), edges.thread[rows], edges.time[rows])
        length = np.maximum(np.diff(edges.time[rows], axis=1)[:, 0], 1)
        quiet = self._quiet(quiets)[rows]
        off_quiet = (1 - in_quiet) * length
        off_rest = (1 - kept[rows]) * length - off_quiet
        mine = np.clip(whole, 0, quiet)
        left = mine * (1 - off_quiet / np.maximum(quiet, 1))
        left += (whole - mine) * (1 - off_rest / np.maximum(length - quiet, 1))
        lag[edges.edge[rows]] = np.rint(left).astype(np.int64)
        return lag

    def _quiet(self, quiets: Iterable[Quiet]) -> Nanoseconds:
        """Quiet time of each of the host's edges."""
        edges = self.host_edges
        found = np.zeros(len(edges.edge), np.int64)
        for thread, time in quiets:
            mine = np.flatnonzero(edges.thread == thread)
            found[mine] = intervals.lengths_within(time, edges.time[mine])
        return found

    @cached_property
    def host_edges(self) -> HostEdges:
        """Edges that are the host's work."""
        graph = self.graph
        edges = np.flatnonzero(graph.edges.of(EdgeKind.HOST, EdgeKind.HANDOVER, EdgeKind.QUEUE))
        end = graph.nodes.time[graph.edges.target[edges]] + self.start
        begin = np.where(
            graph.edges.kind[edges] == EdgeKind.QUEUE,
            end - graph.edges.lag[edges],
            graph.nodes.time[graph.edges.source[edges]] + self.start,
        )
        thread = graph.nodes.thread[graph.edges.target[edges]]
        return HostEdges(edges, thread, np.stack([begin, end], axis=1))


class HostEdges(NamedTuple):
    """Edges that are the host's work, shape (h,)."""

    edge: Int
    thread: ThreadIndex
    time: Intervals
    """That each spans on the trace's clock, shape (h, 2)."""


def _within(changes: Sequence[HostChange], quiets: Sequence[Quiet]) -> list[HostChange]:
    """What changes do to quiet time."""
    return [
        HostChange(
            thread, time if row.time is None else intervals.intersect(row.time, time), row.factor
        )
        for thread, time in quiets
        for row in changes
        if row.thread in (-1, thread)
    ]


def kept_share(changes: Sequence[HostChange], thread: ThreadIndex, spans: Intervals) -> Float:
    """Part of each of some times of threads that changes leave.

    Args:
        changes: of host time; where several apply their factors are multiplied.
        thread: of each time, shape (k,).
        spans: these times on the trace's clock, shape (k, 2).
    """
    kept = np.ones(len(spans))
    for each in unique(thread).tolist() if changes else ():
        if here := [row for row in changes if row.thread in (-1, each)]:
            mine = np.flatnonzero(thread == each)
            kept[mine] = _kept(here, spans[mine])
    return kept


def _kept(changes: list[HostChange], spans: Intervals) -> Float:
    """Part of each time of one thread that changes leave."""
    everywhere = math.prod(change.factor for change in changes if change.time is None)
    parts = [(row.time, row.factor) for row in changes if row.time is not None and row.factor]
    gone = [row.time for row in changes if row.time is not None and not row.factor]
    if gone:
        parts.append((intervals.normal(np.concatenate(gone)), 0.0))
    if not parts:
        return np.full(len(spans), float(everywhere))
    bounds = unique(np.concatenate([[0], *(time.ravel() for time, _ in parts)]))
    factor = np.ones(len(bounds))
    for time, by in parts:
        begun = np.searchsorted(time[:, 0], bounds, side="right")
        factor[begun > np.searchsorted(time[:, 1], bounds, side="right")] *= by
    taken = np.append(0, np.cumsum((1 - factor[:-1]) * np.diff(bounds)))
    begin, end = (np.interp(moment - bounds[-1], bounds - bounds[-1], taken) for moment in spans.T)
    return np.asarray(everywhere * (1 - (end - begin) / np.maximum(spans[:, 1] - spans[:, 0], 1)))


# Time of the host's edges by module: a thread is in the innermost module that is open on it.


class HostSpans(NamedTuple):
    """Parts of the time of host edges that are of one module each, by edge and time; shape (k,)."""

    edge: Int
    """Edge of the graph, ascending."""
    module: ModuleIndex
    """-1 outside modules."""
    time: Intervals
    """On the trace's clock, shape (k, 2)."""


def split_by_module(analysis: Analysis, edges: HostEdges) -> HostSpans:
    """Split edges where the module changes."""
    none = np.zeros(0, np.int64)
    parts = [HostSpans(none, none, np.zeros((0, 2), np.int64))]
    rows = _changes(analysis)
    for each in unique(edges.thread).tolist():
        mine = np.flatnonzero(edges.thread == each)
        moment, module = _timeline(analysis, rows[analysis.call_tree.thread[rows] == each])
        parts.append(_cut(edges.edge[mine], edges.time[mine], moment, module))
    edge, module, spans = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(edge, kind="stable")
    return HostSpans(edge[order], module[order], spans[order])


def _changes(analysis: Analysis) -> TreeRow:
    """Rows that are of another module than the row around them."""
    tree, module = analysis.call_tree, analysis.attribution.row_module
    return np.flatnonzero((module != lookup(module, tree.parent)) & (tree.end > tree.start))


def _timeline(analysis: Analysis, rows: TreeRow) -> tuple[Nanoseconds, ModuleIndex]:
    """Moments from which on a thread is in a module, ascending, and which one that is."""
    tree, module = analysis.call_tree, analysis.attribution.row_module
    above = lookup(module, tree.parent[rows])
    moment = np.concatenate([tree.end[rows][::-1], tree.start[rows]])
    order = np.argsort(moment, kind="stable")  # of one moment: inner ends first, outer starts first
    entered = np.concatenate([above[::-1], module[rows]])[order]
    return (
        np.concatenate([[np.iinfo(np.int64).min], moment[order]]),
        np.concatenate([[-1], entered]),
    )


def _cut(edge: Int, time: Intervals, moment: Nanoseconds, module: ModuleIndex) -> HostSpans:
    """Cut each edge at the moments inside of it."""
    first = np.searchsorted(moment, time[:, 0], side="right") - 1
    last = np.maximum(np.searchsorted(moment, time[:, 1], side="left") - 1, first)
    place, which = ranges(first, last + 1)
    until = np.append(moment, np.iinfo(np.int64).max)[place + 1]
    spans = np.stack(
        [np.maximum(moment[place], time[which, 0]), np.minimum(until, time[which, 1])], axis=1
    )
    keep = (spans[:, 1] > spans[:, 0]) | (first == last)[which]
    return HostSpans(edge[which][keep], module[place][keep], spans[keep])
