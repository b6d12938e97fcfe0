"""Edges between points of host threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.graph import EdgeKind, EdgeSet, Evidence
from tb_hookview.analysis.dependencies.nodes import Nodes
from tb_hookview.analysis.dependencies.points import Points
from tb_hookview.analysis.dependencies.syncs import SyncEdges, retry_waits
from tb_hookview.analysis.dependencies.window import Window
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import Nanoseconds, TimeSet


def host_edges(
    analysis: Analysis, window: Window, points: Points, nodes: Nodes, waits: SyncEdges
) -> Iterator[EdgeSet]:
    """Yield the order of the points of each thread, and the first of each after the origin."""
    before = np.concatenate([[window.start], points.time[:-1]])
    first = np.diff(points.thread, prepend=-2) != 0
    before[first] = window.start
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
        goes_on = np.append(bursts.main_goes_on[bursts.awaited], waits.main_goes_on)
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
    there, back = bursts.start - bursts.main_stops, bursts.main_goes_on - bursts.end
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
    lag = waits.main_goes_on - waits.called
    return EdgeSet(EdgeKind.COLLECTIVE, Evidence.TIMES, called, goes_on, lag, from_end=False)
