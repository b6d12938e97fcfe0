"""From an analysis to the graph of its measured steps: host edges, then all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.device import (
    SyncEdges,
    by_calls,
    by_times,
    device_times,
    launch_edges,
    queue_edges,
    retry_edges,
    retry_waits,
    stream_edges,
    sync_edges,
    turn_edges,
)
from tb_hookview.analysis.dependencies.graph import (
    EdgeKind,
    Edges,
    EdgeSet,
    Evidence,
    Graph,
    Nodes,
    joined,
    lateness,
    number_nodes,
)
from tb_hookview.analysis.dependencies.points import Points, Window, find_points
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Nanoseconds, TimeSet

# Edges between points of host threads.


def host_edges(
    analysis: Analysis, window: Window, points: Points, nodes: Nodes, waits: SyncEdges
) -> Iterator[EdgeSet]:
    """Yield the order of the points of each thread, and the first of each after the origin."""
    began = _first_seen(analysis, window)
    before = np.concatenate([[began], points.time[:-1]])
    first = np.diff(points.thread, prepend=-2) != 0
    before[first] = began
    lag = points.time - before - _asleep(points, before)
    lag[waits.end] = np.minimum(lag[waits.end], waits.cost)
    lag -= _blocked(analysis, points, before) + retry_waits(analysis, points, before)
    lag = np.maximum(lag, 0)
    here = nodes.of_point
    yield EdgeSet(
        EdgeKind.HOST,
        Evidence.ORDER,
        np.where(first, 0, np.concatenate([[0], here[:-1]])),
        here,
        lag,
        from_end=False,
    )


def _first_seen(analysis: Analysis, window: Window) -> int:
    """From when on the work of the host is known: where the device's rows begin a trace without
    steps, it is not before the host's first."""
    events, rows = analysis.device_events.start, analysis.call_tree.start
    if (
        analysis.steps.marked
        or not len(rows)
        or events.min(initial=window.start + 1) > window.start
    ):
        return window.start
    return max(window.start, int(rows.min()))


def _asleep(points: Points, before: Nanoseconds) -> Nanoseconds:
    """Time before each point in which its thread slept while another one worked for it."""
    asleep = np.zeros(len(points.time), np.int64)
    bursts = points.events.bursts
    for thread in unique(np.append(bursts.thread, bursts.main)).tolist():
        rows = np.flatnonzero(points.thread == thread)
        windows = np.stack([before[rows], points.time[rows]], axis=1)
        asleep[rows] = intervals.lengths_within(_sleep(points, thread), windows)
    return asleep


def _sleep(points: Points, thread: int) -> TimeSet:
    bursts = points.events.bursts
    if thread == bursts.main:
        waits = points.events.collectives
        stops = np.append(bursts.main_stops[bursts.awaited], waits.main_stops)
        goes_on = np.append(bursts.main_resumes[bursts.awaited], waits.main_resumes)
        return intervals.of(stops, goes_on)
    mine = bursts.woken & (bursts.thread == thread)
    return intervals.of(bursts.asleep_since[mine], bursts.start[mine])


def _blocked(analysis: Analysis, points: Points, before: Nanoseconds) -> Nanoseconds:
    """Time for which launches waited for room in a full queue, at the next point."""
    calls, longer = analysis.call_times, np.zeros(len(points.time), np.int64)
    blocked = isin(points.events.launch, calls.onto_full_queue)
    if not blocked.any():
        return longer
    after = points.launched[blocked] + 1
    inside = after < len(points.time)
    after, rows = after[inside], points.events.launch[blocked][inside]
    same = points.thread[after] == analysis.call_tree.thread[rows]
    longer[after[same]] = calls.waited[np.searchsorted(calls.row, rows[same])]
    return np.asarray(np.minimum(longer, points.time - before))


def handover_edges(points: Points, nodes: Nodes) -> Iterator[EdgeSet]:
    """Yield edges from main to the bursts that it wakes, and from those that it waits for to it."""
    bursts = points.events.bursts
    stops, begins, ends, goes_on = (nodes.of_point[each] for each in points.bursts)
    there, back = bursts.start - bursts.main_stops, bursts.main_resumes - bursts.end
    for chosen, source, target, lag in (
        (bursts.woken, stops, begins, there),
        (bursts.awaited, ends, goes_on, back),
    ):
        yield EdgeSet(
            EdgeKind.HANDOVER,
            Evidence.TIMES,
            source[chosen],
            target[chosen],
            lag[chosen],
            from_end=False,
        )


def collective_edges(points: Points, nodes: Nodes) -> EdgeSet:
    """Edges from the calls of collectives to where main, which waited for them, goes on."""
    waits = points.events.collectives
    called, goes_on = (nodes.of_point[each] for each in points.collectives)
    lag = waits.main_resumes - waits.called
    return EdgeSet(EdgeKind.COLLECTIVE, Evidence.TIMES, called, goes_on, lag, from_end=False)


PAUSE = 50_000
"""Nanoseconds from which on it is kept by how much a node is later than its edges explain."""


def build(analysis: Analysis, window: Window) -> Graph:
    """Build the graph of a window."""
    points = find_points(analysis, window)
    nodes = number_nodes(analysis, window, points)
    times = device_times(analysis, window)
    waits = sync_edges(analysis, points, nodes, times)
    sets: list[EdgeSet] = [
        *host_edges(analysis, window, points, nodes, waits),
        *handover_edges(points, nodes),
        collective_edges(points, nodes),
        *launch_edges(analysis, window, points, nodes, times),
        *stream_edges(times, nodes),
        *queue_edges(analysis, window, points, nodes, times),
        *waits.edges,
        retry_edges(analysis, points, nodes, times),
        *by_calls(analysis, times, nodes),
        turn_edges(analysis, times, nodes),
    ]
    edges = joined(sets)
    late = lateness(nodes, edges)
    guessed = by_times(times, nodes, late)
    if len(guessed.source):
        edges = joined([*sets, guessed])
        late = lateness(nodes, edges)
    marked = analysis.steps.thread[window.steps[-1]] >= 0
    peers = np.append(analysis.kinds.kind == COMMUNICATION, False)[nodes.event]
    return Graph(
        nodes=nodes,
        edges=edges,
        pause=np.where(late >= PAUSE, late, 0),
        peers=peers,
        late_for_peers=np.append(analysis.timing.of_peers, False)[nodes.event]
        & (lookup(analysis.timing.previous, nodes.event) >= 0),
        loading=_loading(analysis, window, points, nodes, edges),
        step_end=nodes.of_point[points.step_end],
        before=np.flatnonzero(nodes.history & marked),
        sync=points.events.sync,
        sync_end=nodes.of_point[points.sync_end],
    )


def _loading(
    analysis: Analysis, window: Window, points: Points, nodes: Nodes, edges: Edges
) -> Bool:
    """Edges of a host thread that is in a data loader: these have points at their bounds."""
    loading, tree = np.zeros(len(edges.source), bool), analysis.call_tree
    for thread in unique(tree.thread[points.events.loader]).tolist():
        rows = points.events.loader[tree.thread[points.events.loader] == thread]
        mine = np.flatnonzero(
            (edges.kind == EdgeKind.HOST) & (nodes.thread[edges.target] == thread)
        )
        spans = np.stack([nodes.time[edges.source[mine]], nodes.time[edges.target[mine]]], axis=1)
        inside = tree.time_of(rows) - window.start
        covered = intervals.lengths_within(inside, spans)
        loading[mine] = (covered > 0) & (covered == spans[:, 1] - spans[:, 0])
    return loading
