"""Nodes of the graph: points of host threads, and device events, in order of time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.handover import (
    Bursts,
    find_bursts,
    main_thread,
    threads_of,
)
from tb_hookview.analysis.dependencies.window import Window
from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.analysis.idle.full_queue import SLOW
from tb_hookview.arrays.joins import isin, median, unique
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    Int,
    Nanoseconds,
    SyncIndex,
    ThreadIndex,
    TreeRow,
)

_SLOW = 50_000
"""Nanoseconds from which on a slow launch has a point at its end, too."""
_ENDS, _BEGINS, _LAUNCHES = 0, 1, 2
"""Order of points of one thread and moment: what ends, what begins, what is launched in it."""


class Points(Struct, frozen=True):
    """Points of the host threads, shape (p,), by thread and time."""

    thread: ThreadIndex
    time: Nanoseconds
    """Nanoseconds on the trace's clock."""
    rank: Int
    """Order among those of one moment."""
    launch: TreeRow
    """Launching calls of the window, ascending, shape (l,)."""
    launched: Int
    """Point of each of them."""
    returned: Int
    """Point at which a slow one of them returned, -1 for the others."""
    usual: int
    """Median duration of a launching call, nanoseconds."""
    sync: SyncIndex
    """Syncs of the window, shape (w,)."""
    sync_start: Int
    sync_end: Int
    step_end: Int
    """Point of each replayed step's end."""
    loader: TreeRow
    """Rows of data loaders."""
    bursts: Bursts
    burst_points: tuple[Int, Int, Int, Int]
    """Points of each burst: main stops, the burst begins, ends, main goes on."""


class Nodes(NamedTuple):
    """Nodes in order of time, shape (n,); times since the start of the window."""

    time: Nanoseconds
    duration: Nanoseconds
    thread: ThreadIndex
    event: DeviceEventIndex
    of_point: Int
    """Node of each point."""
    of_event: Int
    """Node of each of the window's device events."""


class _Wanted(NamedTuple):
    thread: ThreadIndex
    time: Nanoseconds
    order: int


def find_points(analysis: Analysis, window: Window) -> Points:
    """Find the points of the host: launches, syncs, ends of steps, hand-overs."""
    tree = analysis.call_tree
    launch = analysis.device_events.launch[window.events]
    launch = unique(launch[launch >= 0])
    launch = launch[_within(window, tree.start[launch])]
    usual = int(median(tree.duration[launch])) if len(launch) else 0
    slow = np.flatnonzero(_slow(analysis, launch, usual))
    sync = _syncs(analysis, window)
    row = analysis.syncs.row[sync]
    main = main_thread(analysis, launch)
    others = threads_of(analysis, launch, row, analysis.nodes.row)
    bursts = find_bursts(analysis, main, others[others != main], window.start, window.host_end)
    step_end = _step_ends(analysis, window)
    many = np.full(len(bursts.start), main)
    loader = _loaders(analysis, window, np.append(others, main))
    wanted = (
        _Wanted(tree.thread[launch], tree.start[launch], _LAUNCHES),
        _Wanted(tree.thread[row], analysis.syncs.start[sync], _BEGINS),
        _Wanted(tree.thread[row], analysis.syncs.end[sync], _ENDS),
        _Wanted(np.full(len(step_end), main), step_end, _ENDS),
        _Wanted(many, bursts.main_stops, _ENDS),
        _Wanted(bursts.thread, bursts.start, _BEGINS),
        _Wanted(bursts.thread, bursts.end, _ENDS),
        _Wanted(many, bursts.main_goes_on, _BEGINS),
        _Wanted(tree.thread[launch[slow]], tree.end[launch[slow]], _ENDS),
        _Wanted(tree.thread[loader], tree.start[loader], _BEGINS),
        _Wanted(tree.thread[loader], tree.end[loader], _ENDS),
    )
    thread = np.concatenate([each.thread for each in wanted])
    time = np.concatenate([each.time for each in wanted])
    rank = np.repeat([each.order for each in wanted], [len(each.time) for each in wanted])
    order = np.lexsort((rank, time, thread))
    point = np.empty(len(order), np.int64)
    point[order] = np.arange(len(order))
    ends = np.cumsum([len(each.time) for each in wanted])[:-1]
    launched, sync_start, sync_end, step, *rest = np.split(point, ends)
    burst, returns = rest[:4], rest[4]
    returned = np.full(len(launch), -1, np.int64)
    returned[slow] = returns
    return Points(
        thread=thread[order],
        time=time[order],
        rank=rank[order],
        launch=launch,
        launched=launched,
        returned=returned,
        usual=usual,
        sync=sync,
        sync_start=sync_start,
        sync_end=sync_end,
        step_end=step,
        loader=loader,
        bursts=bursts,
        burst_points=(burst[0], burst[1], burst[2], burst[3]),
    )


def _loaders(analysis: Analysis, window: Window, threads: ThreadIndex) -> TreeRow:
    """Outermost rows of data loaders in the window on some threads."""
    tree, loading = analysis.call_tree, analysis.host.role == Role.DATA
    rows = np.flatnonzero(loading & isin(tree.thread, threads) & (tree.nearest_above(loading) < 0))
    return rows[_within(window, tree.start[rows]) & (tree.end[rows] <= window.host_end)]


def _slow(analysis: Analysis, launch: TreeRow, usual: int) -> Bool:
    """Launches that took long by themselves: not for a copy, nor for room in a queue."""
    slow = analysis.call_tree.duration[launch] > max(SLOW * usual, _SLOW)
    slow &= analysis.calls[launch] == Call.NONE
    return np.asarray(slow & ~isin(launch, analysis.blocked_launches))


def _step_ends(analysis: Analysis, window: Window) -> Nanoseconds:
    """End of each replayed step on the host: of the host's last row where no step is marked."""
    ends = analysis.steps.window[list(window.steps), 1]
    if analysis.steps.thread[window.steps[-1]] >= 0:
        return ends
    tree = analysis.call_tree
    host = tree.end[~analysis.host.device_threads[tree.thread]]
    return np.asarray(np.minimum(ends, host.max(initial=window.start)))


def _within(window: Window, time: Nanoseconds) -> Bool:
    return np.asarray((time >= window.start) & (time < window.host_end))


def _syncs(analysis: Analysis, window: Window) -> SyncIndex:
    """Syncs that lie in the window."""
    syncs = analysis.syncs
    inside = (syncs.start >= window.start) & (syncs.end <= window.host_end)
    return np.flatnonzero(inside & (syncs.end > syncs.start))


def number_nodes(analysis: Analysis, window: Window, points: Points) -> Nodes:
    """Put points and device events in one order of time, after the origin."""
    events = analysis.device_events
    start = np.maximum(events.start[window.events], window.start)
    end = np.maximum(events.end[window.events], start)
    host = len(points.time)
    time = np.concatenate([[window.start], points.time, start])
    rank = np.concatenate([[-1], points.rank, np.full(len(start), _LAUNCHES + 1)])
    order = np.lexsort((rank, time))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    none = np.zeros(host + 1, np.int64)
    return Nodes(
        time=time[order] - window.start,
        duration=np.concatenate([none, end - start])[order],
        thread=np.concatenate([[-1], points.thread, np.full(len(start), -1)])[order],
        event=np.concatenate([none - 1, window.events])[order],
        of_point=number[1 : host + 1],
        of_event=number[host + 1 :],
    )
