"""Points of host threads: moments at which the host launches, waits, or hands over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.collectives.calls import CALLS, ON_HOST
from tb_hookview.analysis.dependencies.handover import (
    FILLED,
    Bursts,
    busy,
    find_bursts,
    main_thread,
    moments_of,
    threads_of,
)
from tb_hookview.analysis.dependencies.window import Window
from tb_hookview.analysis.device.launch_timing import SLOW
from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.arrays.joins import isin, median, unique
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, SyncIndex, ThreadIndex, TreeRow


class CollectiveWaits(NamedTuple):
    """Waits of the main thread for a collective, in order of time, shape (w,)."""

    main: int
    """The thread that waits."""
    caller: ThreadIndex
    """Thread of the call."""
    called: Nanoseconds
    main_stops: Nanoseconds
    main_goes_on: Nanoseconds


def find_collective_waits(analysis: Analysis, main: int, start: int, end: int) -> CollectiveWaits:
    """Find the waits between two moments; each is for the collective that ends next."""
    tree, runs = analysis.call_tree, analysis.host.named(lambda name: name.startswith(ON_HOST))
    runs = runs[(tree.thread[runs] != main) & (tree.start[runs] >= start)]
    if not len(runs):
        return CollectiveWaits(main, runs, runs, runs, runs)
    own = moments_of(analysis, main, start, end)
    calls = analysis.host.named(lambda name: name.startswith(CALLS))
    runs = runs[np.argsort(tree.end[runs], kind="stable")]
    calls = calls[tree.start[calls] >= start]
    calls = calls[np.argsort(tree.start[calls], kind="stable")]
    waits = analysis.communication_waits
    # Its row may end after the thread was woken.
    run = np.searchsorted(tree.end[runs], waits[:, 1])
    before = np.searchsorted(own, waits[:, 0], side="right") - 1
    after = np.searchsorted(own, waits[:, 1])
    known = (run < len(runs)) & (before >= 0) & (after < len(own))
    waits, runs, before, after = waits[known], runs[run[known]], before[known], after[known]
    call = np.searchsorted(tree.start[calls], tree.start[runs], side="right") - 1
    stops, goes_on = own[before], own[after]
    called = tree.start[calls[np.maximum(call, 0)]] if len(calls) else goes_on
    is_wait = (call >= 0) & (called < stops)
    is_wait &= waits[:, 1] - waits[:, 0] >= FILLED * (goes_on - stops)
    is_wait &= ~busy(analysis, main, stops)
    call = calls[call[is_wait]]
    return CollectiveWaits(
        main, tree.thread[call], tree.start[call], stops[is_wait], goes_on[is_wait]
    )


_SLOW = 50_000
"""Nanoseconds from which on a slow launch has a point at its end, too."""
ENDS, BEGINS, LAUNCHES = 0, 1, 2
"""Rank of points of one thread and moment: what ends; what begins, and ends of steps; launches."""


class HostEvents(Struct, frozen=True):
    """What points are made of, in one window."""

    launch: TreeRow
    """Launching calls, ascending, shape (l,)."""
    slow: Int
    """Index into `launch` of those that were slow by themselves, or loaded their kernel."""
    slow_end: Nanoseconds
    """When each of these returned, or had loaded its kernel."""
    usual: int
    """Median duration of a launching call, nanoseconds."""
    sync: SyncIndex
    """Syncs, shape (w,)."""
    loader: TreeRow
    """Outermost rows of data loaders."""
    step_end: Nanoseconds
    """End of each replayed step on the host."""
    ended_by: int
    """Thread that is there then."""
    bursts: Bursts
    collectives: CollectiveWaits


class Points(Struct, frozen=True):
    """Points of the host threads, shape (p,), by thread and time."""

    thread: ThreadIndex
    time: Nanoseconds
    """Nanoseconds on the trace's clock."""
    rank: Int
    """Order among those of one moment."""
    events: HostEvents
    launched: Int
    """Point of each launching call."""
    returned: Int
    """Point at `slow_end` of a slow one of them, -1 for the others."""
    sync_end: Int
    """Point at the end of each sync."""
    step_end: Int
    """Point of each replayed step's end."""
    bursts: tuple[Int, Int, Int, Int]
    """Points of each burst: main stops, the burst begins, ends, main goes on."""
    collectives: tuple[Int, Int]
    """Points of each wait for a collective: its call, main goes on."""


class _Wanted(NamedTuple):
    thread: ThreadIndex
    time: Nanoseconds
    rank: int


def find_points(analysis: Analysis, window: Window) -> Points:
    """Find the points of the host: launches, syncs, ends of steps, loaders, hand-overs."""
    events = _host_events(analysis, window)
    order, numbers, wanted = _numbered(_wanted(analysis, events))
    launched, _, sync_end, stops, begins, ends, goes_on, returns = numbers[:8]
    returned = np.full(len(events.launch), -1, np.int64)
    returned[events.slow] = returns
    return Points(
        thread=wanted.thread[order],
        time=wanted.time[order],
        rank=wanted.rank[order],
        events=events,
        launched=launched,
        returned=returned,
        sync_end=sync_end,
        step_end=numbers[-1],
        bursts=(stops, begins, ends, goes_on),
        collectives=(numbers[-4], numbers[-2]),
    )


def _host_events(analysis: Analysis, window: Window) -> HostEvents:
    tree = analysis.call_tree
    launch = analysis.device_events.launch[window.events]
    launch = unique(launch[launch >= 0])
    launch = launch[_within(window, tree.start[launch])]
    usual = int(median(tree.duration[launch])) if len(launch) else 0
    sync = _syncs(analysis, window)
    main = main_thread(analysis, launch)
    threads = threads_of(analysis, launch, analysis.syncs.row[sync], analysis.nodes.row)
    others = threads[threads != main]
    slow, slow_end = _slow(analysis, launch, usual)
    return HostEvents(
        launch=launch,
        slow=slow,
        slow_end=slow_end,
        usual=usual,
        sync=sync,
        loader=_loaders(analysis, window, np.append(threads, main)),
        step_end=_step_ends(analysis, window),
        ended_by=_last_thread(analysis, window, main, others),
        bursts=find_bursts(analysis, main, others, window.start, window.host_end),
        collectives=find_collective_waits(analysis, main, window.start, window.host_end),
    )


def _wanted(analysis: Analysis, events: HostEvents) -> list[_Wanted]:
    """Threads and times of all points; the order is that of `find_points`."""
    tree, bursts = analysis.call_tree, events.bursts
    syncs, launch, loader = analysis.syncs, events.launch, events.loader
    waiting = tree.thread[syncs.row[events.sync]]
    slow = launch[events.slow]
    main, waits = np.full(len(bursts.start), bursts.main), events.collectives
    waiter = np.full(len(waits.called), waits.main)
    return [
        _Wanted(tree.thread[launch], tree.start[launch], LAUNCHES),
        _Wanted(waiting, syncs.start[events.sync], BEGINS),
        _Wanted(waiting, syncs.end[events.sync], ENDS),
        _Wanted(main, bursts.main_stops, ENDS),
        _Wanted(bursts.thread, bursts.start, BEGINS),
        _Wanted(bursts.thread, bursts.end, ENDS),
        _Wanted(main, bursts.main_goes_on, BEGINS),
        _Wanted(tree.thread[slow], events.slow_end, ENDS),
        _Wanted(tree.thread[loader], tree.start[loader], BEGINS),
        _Wanted(tree.thread[loader], tree.end[loader], ENDS),
        _Wanted(waits.caller, waits.called, BEGINS),
        _Wanted(waiter, waits.main_stops, ENDS),
        _Wanted(waiter, waits.main_goes_on, BEGINS),
        _Wanted(np.full(len(events.step_end), events.ended_by), events.step_end, BEGINS),
    ]


class _Columns(NamedTuple):
    thread: ThreadIndex
    time: Nanoseconds
    rank: Int


def _numbered(wanted: Sequence[_Wanted]) -> tuple[Int, list[Int], _Columns]:
    """Order by thread and time, the number in it of each wanted point, and the columns."""
    sizes = [len(each.time) for each in wanted]
    columns = _Columns(
        np.concatenate([each.thread for each in wanted]),
        np.concatenate([each.time for each in wanted]),
        np.repeat([each.rank for each in wanted], sizes),
    )
    order = np.lexsort((columns.rank, columns.time, columns.thread))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return order, np.split(number, np.cumsum(sizes)[:-1]), columns


def _loaders(analysis: Analysis, window: Window, threads: ThreadIndex) -> TreeRow:
    """Outermost rows of data loaders in the window on some threads."""
    tree, loading = analysis.call_tree, analysis.host.role == Role.DATA
    rows = np.flatnonzero(loading & isin(tree.thread, threads) & (tree.nearest_above(loading) < 0))
    return rows[_within(window, tree.start[rows]) & (tree.end[rows] <= window.host_end)]


def _slow(analysis: Analysis, launch: TreeRow, usual: int) -> tuple[Int, Nanoseconds]:
    """Launches that took long by themselves, not for a copy nor for room in a queue; their ends."""
    slow = analysis.call_tree.duration[launch] > max(SLOW * usual, _SLOW)
    slow &= analysis.calls[launch] == Call.NONE
    slow &= ~isin(launch, analysis.blocked_launches)
    end, loads = analysis.call_tree.end[launch], analysis.kernel_loads
    loading = isin(launch, loads.row)
    end[loading] = loads.end[isin(loads.row, launch)]
    return np.flatnonzero(slow | loading), end[slow | loading]


def _step_ends(analysis: Analysis, window: Window) -> Nanoseconds:
    """End of each replayed step on the host.

    Where no step is marked it ends with the host's last row, and before the profiler's own sync.
    """
    ends = analysis.steps.window[list(window.steps), 1]
    if analysis.steps.thread[window.steps[-1]] >= 0:
        return ends
    tree, syncs = analysis.call_tree, analysis.syncs
    host = tree.end[~analysis.host.device_threads[tree.thread]].max(initial=window.start)
    stops = syncs.start[syncs.by_profiler & ~syncs.at_start].min(initial=host)
    return np.asarray(np.minimum(ends, stops))


def _last_thread(analysis: Analysis, window: Window, main: int, others: ThreadIndex) -> int:
    """Main; where no step is marked, the one of the threads whose last row ends last."""
    if analysis.steps.thread[window.steps[-1]] >= 0 or not len(others):
        return main
    tree, threads = analysis.call_tree, np.append(others, main)
    ends = [tree.end[tree.thread == thread].max(initial=0) for thread in threads]
    return int(threads[np.argmax(ends)])


def _within(window: Window, time: Nanoseconds) -> Bool:
    return np.asarray((time >= window.start) & (time < window.host_end))


def _syncs(analysis: Analysis, window: Window) -> SyncIndex:
    """Syncs that lie in the window, but the profiler's own."""
    syncs = analysis.syncs
    inside = (syncs.start >= window.start) & (syncs.end <= window.host_end) & ~syncs.by_profiler
    return np.flatnonzero(inside & (syncs.end > syncs.start))
