"""Edges to device events, and from them: launches, streams, waits between streams, syncs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.calls.division import OUTSTANDING
from tb_hookview.analysis.dependencies.graph import EdgeKind, EdgeSet, Evidence, Nodes
from tb_hookview.analysis.dependencies.points import Points, Window
from tb_hookview.analysis.device.events import SLOW, SLOW_NS, LaunchTiming
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.rows import Call
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import (
    asof,
    before,
    dense_rank,
    index_of,
    isin,
    lower_quartile,
    median,
    pair_key,
    running_max,
    unique,
)
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    Int,
    Nanoseconds,
    StringIndex,
    ThreadIndex,
)
from tb_hookview.trace import EventCategory

_OVERLAP = 1_000
"""Nanoseconds of overlap on one stream from which on it is no rounding."""
_EVERY = 16
"""Launches from one that has an edge for its place in the queue to the next, where none blocked."""
_SHORT = 20_000
"""Nanoseconds between events of a stream from which on the stream itself is no reason."""
_FEW = 3
"""Multiple of the median gap on a stream from which on something else is its reason."""
_SOME = 3
"""Events that may have been queued from which on the least gap on a stream is a queue's."""
_QUEUE_LENGTH = 1020
"""Launches that the queue of a CUDA device takes, where none is blocked: V100; 1,021 on H200."""


class DeviceTimes(Struct, frozen=True, dict=True):
    """Times of the window's device events, shape (d,)."""

    window: Window
    timing: LaunchTiming
    """Launches of all device events of the trace."""
    clock_ahead: int
    rows: DeviceEventIndex
    """Index of each in `DeviceEvents`."""
    start: Nanoseconds
    end: Nanoseconds
    """Times by the host's clock."""
    stream: ThreadIndex
    """Stream that each was launched on."""
    device: Int
    launch: Int
    """Launching call, -1 for none."""
    launched: Nanoseconds
    """Its start, -1 for none."""
    kind: Int
    """Category of the event: kernel, copy, set."""
    correlation: Int
    """Correlation id, which puts events of one moment in order."""

    @cached_property
    def previous(self) -> Int:
        """The one before on the same stream, -1 for none."""
        order = np.lexsort((self.correlation, self.start, self.stream))
        return before(self.stream, order)

    def behind(self) -> Int:
        """What ran as each event of the backlog began, or last before it; -1 for none.

        The backlog was launched before the window. Of those that had begun on its device it is the
        one that ends last.
        """
        rows = np.flatnonzero(self.window.history)
        rows = rows[np.lexsort((self.start[rows], self.device[rows]))]
        device, end = self.device[rows], self.end[rows]
        last = np.where(end == running_max(device, end), np.arange(len(rows)), 0)
        behind = np.full(len(self.rows), -1, np.int64)
        same = np.flatnonzero(np.diff(device) == 0)
        behind[rows[same + 1]] = rows[np.maximum.accumulate(last)[same]]
        return behind

    @cached_property
    def in_graph(self) -> Bool:
        """Whether the launch has several events: that of a graph."""
        launch = self.timing.device_events.launch
        many = np.bincount(launch[launch >= 0], minlength=len(self.timing.call_tree)) > 1
        return np.asarray((self.launch >= 0) & many[self.launch]) if len(many) else self.launch >= 0

    @cached_property
    def latency(self) -> Nanoseconds:
        """Time from launch to start on an idle device, by category.

        Of a launch that took far too long, as one that loads code does, it begins as a quick one
        would: the host's time has the rest. A kernel that begins within such a call shows none.
        """
        timing = self.timing
        onto_idle = (self.launched >= 0) & ~self.in_graph
        onto_idle &= timing.busy_until[self.rows] - self.clock_ahead <= self.launched
        onto_idle &= self.start >= self.launched
        within = self._slow & ~self._after_call & (self.kind == EventCategory.KERNEL)
        onto_idle &= ~within
        waited = self.start - self.launched - self._excess
        latency = np.zeros(len(self.rows), np.int64)
        if not onto_idle.any():  # a bound of it: the least that any event waited
            known = waited[(self.launched >= 0) & (waited >= 0)]
            return latency + min(int(known.min(initial=_SHORT)), _SHORT)
        latency += int(median(waited[onto_idle]))
        for kind in unique(self.kind[onto_idle]):
            latency[self.kind == kind] = int(median(waited[onto_idle & (self.kind == kind)]))
        return latency

    @cached_property
    def _excess(self) -> Nanoseconds:
        """Time by which the launch of each event took far too long and returned before it began."""
        length = lookup(self.timing.call_tree.duration, self.launch)
        return np.where(self._slow & self._after_call, length - self._usual, 0)

    @cached_property
    def _slow(self) -> Bool:
        """Whether the launch of each event took far too long."""
        length = lookup(self.timing.call_tree.duration, self.launch)
        return np.asarray((self.launch >= 0) & (length > max(SLOW * self._usual, SLOW_NS)))

    @cached_property
    def _usual(self) -> int:
        """Duration of a launch, by the lower quartile; nanoseconds."""
        known = self.launch[self.launch >= 0]
        return int(lower_quartile(self.timing.call_tree.duration[known])) if len(known) else 0

    @property
    def _after_call(self) -> Bool:
        """Whether each event began when its launch had returned."""
        return np.asarray(self.start >= lookup(self.timing.call_tree.end, self.launch))


def device_times(analysis: Analysis, window: Window) -> DeviceTimes:
    """Look up the times of the device events of a window."""
    all_of, timing, ahead = analysis.device_events, analysis.timing, analysis.clock_ahead
    rows, events = window.events, analysis.trace.events
    return DeviceTimes(
        window=window,
        timing=timing,
        clock_ahead=ahead,
        rows=rows,
        start=all_of.start[rows] - ahead,
        end=all_of.end[rows] - ahead,
        stream=timing.stream[rows],
        device=all_of.device[rows],
        launch=all_of.launch[rows],
        launched=timing.launch_start[rows],
        kind=events.kind[all_of.event[rows]].astype(np.int64),
        correlation=events.correlation[all_of.event[rows]].astype(np.int64),
    )


def launch_edges(
    analysis: Analysis, window: Window, points: Points, nodes: Nodes, times: DeviceTimes
) -> Iterator[EdgeSet]:
    """Yield edges from launches, and for what was launched before the window from the origin."""
    inside = (times.launch >= 0) & (times.launched >= window.start)
    yield _launch_edges(analysis, points, nodes, times, inside)
    yield from _earlier_edges(window, nodes, times, inside)


def _launch_edges(
    analysis: Analysis, points: Points, nodes: Nodes, times: DeviceTimes, inside: Bool
) -> EdgeSet:
    latency = times.latency.copy()
    idle_stream = lookup(times.end, times.previous) <= times.launched
    first = times.timing.first_of_launch[times.rows]
    # The latency of a graph grows with its size: only its own is known.
    own = times.in_graph & first & idle_stream & (times.start >= times.launched)
    latency[own] = (times.start - times.launched)[own]
    inner = times.in_graph & ~own
    latency[inner] = 0
    place = np.searchsorted(points.events.launch, times.launch)
    place, mine = place[inside], np.flatnonzero(inside)
    after = points.returned[place]
    returned = lookup(points.time, after)
    late = (after >= 0) & (times.start[mine] >= returned) & ~inner[mine]
    shorter = np.where(own[mine], returned - times.launched[mine], points.events.usual)
    lag = np.where(late, np.maximum(latency[mine] - shorter, 0), latency[mine])
    # The device may begin before the call that loaded the kernel returns.
    lag[late & (times.start[mine] < analysis.call_tree.end[times.launch[mine]])] = 0
    return EdgeSet(
        EdgeKind.LAUNCH,
        Evidence.CORRELATION,
        nodes.of_point[np.where(late, after, points.launched[place])],
        nodes.of_event[mine],
        lag,
        from_end=False,
    )


def _earlier_edges(
    window: Window, nodes: Nodes, times: DeviceTimes, inside: Bool
) -> Iterator[EdgeSet]:
    """Yield edges to what was launched before the window, or by no known call."""
    behind, target = times.behind(), nodes.of_event
    before = np.where(behind >= 0, target[behind], 0)
    follows = (before > 0) & (before < target)
    pinned = (window.history & ~follows) | ((times.launch < 0) & (times.previous < 0))
    begun = np.maximum(times.start - window.start, 0)
    for rows, source, lag in (
        (follows, before, begun - np.maximum(times.end - window.start, 0)[behind]),
        (pinned, before * 0, begun),
        (~inside & ~pinned & ~follows, before * 0, begun * 0),
    ):
        yield EdgeSet(
            EdgeKind.ORIGIN,
            Evidence.ORDER,
            source[rows],
            target[rows],
            lag[rows],
            from_end=rows is follows,
        )


def stream_edges(times: DeviceTimes, nodes: Nodes) -> Iterator[EdgeSet]:
    """Yield the order of each stream."""
    later = np.flatnonzero(times.previous >= 0)
    before = times.previous[later]
    gap = times.start[later] - times.end[before]
    in_one = times.in_graph[later] & (times.launch[later] == times.launch[before])
    queued = (times.launched[later] >= 0) & ~times.in_graph[later]
    queued &= times.launched[later] + times.latency[later] <= times.end[before]
    queued |= in_one
    pair = dense_rank(times.kind[before], times.kind[later], in_one)
    lag = np.full(len(later), _typical(gap[queued]) if queued.any() else _least(times, later, gap))
    for each in unique(pair[queued & (gap <= _SHORT)]):
        lag[pair == each] = _typical(gap[queued & (pair == each)])
    lag = np.where(gap < np.minimum(lag, 0) - _OVERLAP, gap, lag)
    lag = np.where(times.window.history[later], np.minimum(lag, gap), lag)
    yield EdgeSet(
        EdgeKind.STREAM,
        Evidence.ORDER,
        nodes.of_event[before],
        nodes.of_event[later],
        lag,
        from_end=True,
    )


def turn_edges(analysis: Analysis, times: DeviceTimes, nodes: Nodes) -> EdgeSet:
    """Find the order of kernels of several streams that each have blocks for the whole device.

    Side by side they run no faster: one begins as the other ends, or overlaps as much as recorded.
    """
    event = analysis.device_events.event[times.rows]
    fills = analysis.trace.events.blocks_per_sm[event] >= 1
    fills &= analysis.kinds.kind[times.rows] != COMMUNICATION
    rows = np.flatnonzero(fills)
    rows = rows[np.lexsort((times.correlation[rows], times.start[rows], times.device[rows]))]
    same = times.device[rows[1:]] == times.device[rows[:-1]]
    turns = same & (times.stream[rows[1:]] != times.stream[rows[:-1]])
    before, later = rows[:-1][turns], rows[1:][turns]
    return EdgeSet(
        EdgeKind.CROSS_STREAM,
        Evidence.TIMES,
        nodes.of_event[before],
        nodes.of_event[later],
        np.minimum(times.start[later] - times.end[before], 0),
        from_end=True,
    )


def _typical(gap: Nanoseconds) -> int:
    """Mean of the short gaps that are no more than a few times their median."""
    gap = gap[(gap >= -_OVERLAP) & (gap <= _SHORT)]
    return int(gap[gap <= max(_FEW * median(gap), _OVERLAP)].mean()) if len(gap) else 0


def _least(times: DeviceTimes, later: Int, gap: Nanoseconds) -> int:
    """Least gap before events that follow another on their stream, if some may have been queued.

    Where launches usually take long to begin, none surely was; the quickest shows which may.
    """
    waited = times.start - times.launched
    known = (times.launched >= 0) & (waited >= 0)
    quickest = int(waited[known].min()) if known.any() else 0
    queued = known[later] & ~times.in_graph[later] & (gap <= waited[later] - quickest)
    short = (gap >= 0) & (gap <= _SHORT)
    return int(gap[short].min()) if (queued & short).sum() >= _SOME else 0


def queue_edges(
    analysis: Analysis, window: Window, points: Points, nodes: Nodes, times: DeviceTimes
) -> Iterator[EdgeSet]:
    """Yield edges that hold a launch back until the device has taken up an earlier one."""
    tree, timing = analysis.call_tree, times.timing
    if not _has_queue(analysis, points):
        return
    one_each = (timing.first_of_launch | timing.queued_before)[times.rows]
    for stream in unique(times.stream):
        rows = np.flatnonzero((times.stream == stream) & one_each)
        rows = rows[np.argsort(times.launched[rows], kind="stable")]
        early, late = _let_in(analysis, times, rows)
        inside = times.launched[late] >= window.start
        early, late = early[inside], late[inside]
        place = np.searchsorted(points.events.launch, times.launch[late])
        after = np.minimum(points.launched[place] + 1, len(points.time) - 1)
        same = points.thread[after] == tree.thread[times.launch[late]]
        early, late, after = early[same], late[same], after[same]
        lag = np.maximum(points.time[after] - tree.end[times.launch[late]], 0)
        yield EdgeSet(
            EdgeKind.QUEUE,
            Evidence.CALLS,
            nodes.of_event[early],
            nodes.of_point[after],
            lag,
            from_end=False,
        )


def _let_in(analysis: Analysis, times: DeviceTimes, rows: Int) -> tuple[Int, Int]:
    """Events of a stream whose start lets the launch of a later one return.

    For a launch that was blocked it is the last event that began before the launch returned. Some
    of the others come as many launches later as the blocked ones did.
    """
    blocked = np.flatnonzero(isin(times.launch[rows], analysis.blocked_launches))
    begun = np.argsort(times.start[rows], kind="stable")
    returned = analysis.call_tree.end[times.launch[rows[blocked]]]
    let_in = np.searchsorted(times.start[rows][begun], returned, side="right") - 1
    length = _QUEUE_LENGTH
    if len(blocked):
        length = max(int(median(blocked - let_in)), OUTSTANDING)
    late = np.arange(length, len(rows), _EVERY)
    early = np.where(isin(late, blocked), -1, late - length)
    early, late = np.append(early, let_in), np.append(late, blocked)
    known = early >= 0
    return rows[begun[early[known]]], rows[late[known]]


def _has_queue(analysis: Analysis, points: Points) -> bool:
    """Whether the queue of the device has a length that is known."""
    if len(analysis.blocked_launches):
        return True
    names = unique(analysis.host.string[points.events.launch])
    return any(analysis.trace.strings[name].startswith("cu") for name in names.tolist())


# Edges of waits of the host: for a device, for collectives behind it, for memory.


_AFTER = 50_000
"""Nanoseconds from the end of a device event in which the host goes on, if it waited for it."""


def retry_waits(analysis: Analysis, points: Points, before: Nanoseconds) -> Nanoseconds:
    """Time before each point in which its thread waited so."""
    retries, waited = analysis.retries, np.zeros(len(points.time), np.int64)
    thread = analysis.call_tree.thread[retries.row]
    for each in unique(thread).tolist():
        rows, mine = np.flatnonzero(points.thread == each), thread == each
        windows = np.stack([before[rows], points.time[rows]], axis=1)
        spans = intervals.of(retries.start[mine], retries.end[mine])
        waited[rows] = intervals.lengths_within(spans, windows)
    return waited


def retry_edges(analysis: Analysis, points: Points, nodes: Nodes, times: DeviceTimes) -> EdgeSet:
    """Edges from the event that ended right before a wait did to the thread's next point."""
    retries, order = analysis.retries, np.argsort(times.end, kind="stable")
    last = np.searchsorted(times.end[order], retries.end, side="right") - 1
    event = lookup(order, last)
    thread = analysis.call_tree.thread[retries.row]
    target = asof(points.thread, points.time, thread, retries.end - 1) + 1
    known = (event >= 0) & (target > 0) & (target < len(points.time))
    known[known] = points.thread[target[known]] == thread[known]
    event, target = event[known], target[known]
    start, end = retries.start[known], retries.end[known]
    ended = times.end[event]
    since = np.maximum(start, end - _AFTER - analysis.clocks.skew)
    waits = (ended >= since) & (times.start[event] < start)
    event, target = event[waits], target[waits]
    return EdgeSet(
        EdgeKind.SYNC,
        Evidence.TIMES,
        nodes.of_event[event],
        nodes.of_point[target],
        points.time[target] - times.end[event],
        from_end=True,
    )


_RETURN = 50_000
"""Nanoseconds after which the return of a sync is not explained by the device event any more."""


class SyncEdges(NamedTuple):
    """Edges of the syncs, and what these take without them."""

    edges: list[EdgeSet]
    end: Int
    """Points at the ends of the syncs that cannot return before a known event."""
    cost: Nanoseconds
    """Time that each takes if there is nothing to wait for: its own work."""


def sync_edges(analysis: Analysis, points: Points, nodes: Nodes, times: DeviceTimes) -> SyncEdges:
    """Edges from what each sync cannot return before."""
    call, syncs = analysis.call_times, analysis.syncs
    place = index_of(points.events.sync, len(syncs))
    sync = lookup(place, syncs.of_call[call.waiting])
    event = np.searchsorted(times.rows, call.event)
    inside = (sync >= 0) & (event < len(times.rows))
    inside[inside] = times.rows[event[inside]] == call.event[inside]
    sync, event, of = sync[inside], event[inside], call.waiting[inside]
    ends = syncs.end[points.events.sync][sync]
    back = ends - times.end[event]
    pair = pair_key(sync, event)  # a synchronize right after a held copy is part of its sync
    own_copy = isin(pair, pair[call.copy[of] == times.rows[event]])
    waited = times.end[event] > syncs.start[points.events.sync][sync]
    name = analysis.host.string[call.row[of]]
    edges = EdgeSet(
        EdgeKind.SYNC,
        Evidence.CALLS,
        nodes.of_event[event],
        nodes.of_point[points.sync_end[sync]],
        np.where(own_copy, back, _usual(back, name, waited & ~own_copy)),
        from_end=True,
    )
    bound = unique(sync)
    own = (syncs.duration - syncs.waited - syncs.transfer)[points.events.sync[bound]]
    # A launch that waits for its kernel may have loaded it before: that has a point of its own.
    loaded = points.time[points.sync_end[bound] - 1] - syncs.start[points.events.sync[bound]]
    own -= np.maximum(loaded, 0)
    return SyncEdges([edges], points.sync_end[bound], np.maximum(own, 0))


def _usual(back: Nanoseconds, name: StringIndex, waited: Bool) -> Nanoseconds:
    """Time from the end of an event to the return of a sync: the median by name of the call."""
    near = waited & (back < _RETURN)
    lag = np.full(len(back), int(median(np.maximum(back[near], 0))) if near.any() else 0)
    for each in unique(name[near]):
        lag[name == each] = int(median(np.maximum(back[near & (name == each)], 0)))
    return lag


# Edges between streams of one device.


_EARLY = 3_000
"""Nanoseconds by which an event may seem to begin before the one it waits for has ended."""
_LATE = 5_000
"""Nanoseconds by which an event has to be later than its edges explain for one to be guessed."""
_NEAR, _FAR = 8_000, 50_000
"""Bounds of the time after the end of another stream's event in which it is the likely reason."""
_SIGNAL = 2_000
"""Nanoseconds from stream to stream, where none can be measured."""


def by_calls(analysis: Analysis, times: DeviceTimes, nodes: Nodes) -> Iterator[EdgeSet]:
    """Yield edges that calls like `cudaStreamWaitEvent` show.

    The next launch of the thread is on the stream that waits. It waits for the stream of the launch
    before the call; if that is the same one, for all others.
    """
    tree = analysis.call_tree
    calls = np.flatnonzero(analysis.calls == Call.DEVICE_WAIT)
    rows = np.flatnonzero(times.timing.first_of_launch[times.rows])
    rows = rows[np.argsort(times.correlation[rows], kind="stable")]
    if not len(calls) or not len(rows):
        return
    thread, launched = tree.thread[times.launch[rows]], times.launched[rows]
    before = lookup(rows, asof(thread, launched, tree.thread[calls], tree.start[calls]))
    after = lookup(rows, _next(thread, launched, tree.thread[calls], tree.start[calls]))
    known = (before >= 0) & (after >= 0)
    calls, before, after = calls[known], before[known], after[known]
    other = times.stream[before] != times.stream[after]
    source, target = [before[other]], [after[other]]
    own = np.flatnonzero(~other)
    for stream in unique(times.stream).tolist():
        mine = rows[times.stream[rows] == stream]
        nothing = np.zeros(len(own), np.int64)
        began = times.launched[mine]
        found = asof(np.zeros(len(mine), np.int64), began, nothing, tree.start[calls[own]])
        found = lookup(mine, found)
        ask = (found >= 0) & (times.stream[after[own]] != stream)
        source.append(found[ask])
        target.append(after[own][ask])
    yield _edges(Evidence.CALLS, times, nodes, np.concatenate(source), np.concatenate(target))


def _next(key: Int, time: Nanoseconds, query_key: Int, query_time: Nanoseconds) -> Int:
    """First row of equal key that starts after each moment, -1 for none."""
    return asof(key, -time, query_key, -query_time - 1)


def _edges(
    evidence: Evidence, times: DeviceTimes, nodes: Nodes, source: Int, target: Int
) -> EdgeSet:
    same = times.device[source] == times.device[target]
    later = times.start[target] - times.end[source]
    allowed = same & (later >= -_EARLY)
    source, target, later = source[allowed], target[allowed], later[allowed]
    near = later[later <= _FAR]
    lag = int(median(np.clip(near, 0, _FAR))) if len(near) else _SIGNAL
    return EdgeSet(
        EdgeKind.CROSS_STREAM,
        evidence,
        nodes.of_event[source],
        nodes.of_event[target],
        np.minimum(later, lag),
        from_end=True,
    )


def by_times(times: DeviceTimes, nodes: Nodes, late: Nanoseconds) -> EdgeSet:
    """Guess edges for events later than their edges explain: another stream's event just ended.

    Args:
        times: device events.
        nodes: their nodes.
        late: time by which each node is later than explained, nanoseconds.
    """
    late = late[nodes.of_event]
    source, target = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for device in unique(times.device):
        rows = np.flatnonzero(times.device == device)
        asked = rows[late[rows] > _LATE]
        reach = np.clip(late[asked] // 10, _NEAR, _FAR)
        order = rows[np.lexsort((times.correlation[rows], times.end[rows]))]
        ends = times.end[order]
        found = np.full(len(asked), -1, np.int64)
        place = np.searchsorted(ends, times.start[asked] + _EARLY, side="right") - 1
        for _ in range(8):  # the last to end may be of the same stream
            candidate = order[np.maximum(place, 0)]
            other = (place >= 0) & (times.stream[candidate] != times.stream[asked])
            found = np.where((found < 0) & other, candidate, found)
            place -= 1
        near = (found >= 0) & (times.start[asked] - lookup(times.end, found) <= reach)
        near &= lookup(times.start, found) < times.start[asked]
        source.append(found[near])
        target.append(asked[near])
    return _edges(Evidence.TIMES, times, nodes, np.concatenate(source), np.concatenate(target))
