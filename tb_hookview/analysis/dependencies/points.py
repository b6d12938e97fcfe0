"""Points of host threads: moments at which the host launches, waits, or hands over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.collectives.calls import CALLS, ON_HOST
from tb_hookview.analysis.device.events import SLOW, SLOW_NS, queued_before
from tb_hookview.analysis.host.rows import AT_WORK, Call, Role
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import index_of, isin, median, scatter, unique
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    Int,
    Nanoseconds,
    SyncIndex,
    ThreadIndex,
    TimeSet,
    TreeRow,
)

# The part of a trace that is replayed: from the first measured step to the end of the last. Steps
# in between that do not count as measured are part of it: the host does not skip them.


LAUNCHES_KNOWN = 0.9
"""Share of device time with a known launch below which nothing is replayed."""


class Window(Struct, frozen=True):
    """Steps that are replayed, and the device events in them."""

    steps: tuple[int, ...]
    """Indices of its steps, ascending."""
    start: int
    """Start of the first of them on the host, nanoseconds."""
    host_end: int
    """End of the last of them on the host."""
    events: DeviceEventIndex
    """Device events launched in the window, and those that ran in it and were launched before or
    by an unknown call; ascending."""
    step: Int
    """Index into `steps` of the step in which each of `events` was launched, -1 outside of them."""
    history: Bool
    """Whether each was launched before the window, so that nothing in it changes it."""
    launches_known: float | None
    """Share of the time of the others whose launch is in the trace; None without any."""
    processes: int = 1
    """Processes that mark steps."""
    in_a_row: bool = True
    """Whether no step was left out between those that were chosen."""

    def refusal(self) -> str | None:
        """Why this window is not replayed; None where it is."""
        if not self.steps:
            return "no whole step was recorded in which the host launched work"
        if self.processes > 1:
            return f"{self.processes} processes mark steps in this file"
        if not self.in_a_row:
            return "other steps lie between the chosen ones; a replay needs steps in a row"
        if self.launches_known is not None and self.launches_known < LAUNCHES_KNOWN:
            return (
                f"the trace has the launches of {self.launches_known:.0%} of the device's time; "
                f"a replay needs {LAUNCHES_KNOWN:.0%}"
            )
        return None


def find_window(selection: Selection) -> Window:
    """Find the window of a selection."""
    analysis, counted = selection.analysis, selection.counted
    if not counted:
        none = np.zeros(0, np.int64)
        return Window((), 0, 0, none, none, none.astype(bool), None)
    steps = tuple(range(counted[0], counted[-1] + 1))
    window = analysis.steps.window[list(steps)]
    start, end = int(window[0, 0]), int(window[-1, 1])
    events = analysis.device_events
    launched = lookup(analysis.call_tree.start, events.launch)
    moment = np.where(events.launch >= 0, launched, events.start)
    moment[queued_before(analysis.host, events)] = analysis.bounds[0] - 1
    rows = np.flatnonzero((moment < end) & (events.end > start))
    history = _launched_before(analysis, rows, launched[rows], start)
    return Window(
        steps=steps,
        start=start,
        host_end=end,
        events=rows,
        step=index_of(steps, len(analysis.steps.name) + 1)[analysis.steps.at(moment[rows])],
        history=history,
        launches_known=_share(events.duration[rows], events.launch[rows] >= 0, history),
        processes=analysis.steps.processes,
        in_a_row=not analysis.steps.counted[sorted({*steps} - {*counted})].any(),
    )


def _share(duration: Nanoseconds, known: Bool, history: Bool) -> float | None:
    if not len(duration):
        return None
    total = int(duration[~history].sum())
    return int(duration[known & ~history].sum()) / total if total else 0.0


def _launched_before(
    analysis: Analysis, rows: DeviceEventIndex, launched: Nanoseconds, start: int
) -> Bool:
    """Events launched before the window; a stream has them before all that it launched in it.

    What was queued before the recording began has no launch; later on its stream it is unknown.
    """
    events = analysis.device_events
    known = launched >= 0
    first = np.full(len(analysis.trace.threads), np.iinfo(np.int64).min)
    inside = rows[known & (launched >= start)][::-1]
    first[events.stream[inside]] = events.start[inside]
    queued = queued_before(analysis.host, events)[rows]
    queued &= events.start[rows] < first[events.stream[rows]]
    return np.asarray((known & (launched < start)) | queued)


# Bursts of one host thread while another sleeps: `loss.backward()` and the autograd engine.
#
#     main    [forward]M1                              M2[optimizer]
#     engine              B1[node][node] ... [node]B2
#
# The burst begins because main stopped, and main goes on because the burst ended. What either
# waited for the other is no work of its own. One of the two may be missing: a thread that main
# wakes and that works meanwhile, or one that main waits for which has long been at work.


FILLED = 0.3
"""Share of the time in which main does nothing that a burst has to fill, if it may be by chance.

The autograd engine's is none: main waits for it, and may then do what the trace does not show.
"""
_AWAKE = 0.1
"""Share of that time for which both threads may seem to be awake where one hands over."""
_OUTLASTS = 0.8
"""Share of that time that a sync has to fill that began before it: in what is left, main goes on
to what the trace shows.
"""
_SLEEP = 100_000
"""Nanoseconds without a row from which on a thread sleeps, if main works meanwhile."""
_WORKED = 0.5
"""Share of that time in which main has to work."""


class Bursts(NamedTuple):
    """Bursts in order of thread and time, shape (b,)."""

    main: int
    """The thread that sleeps or works meanwhile."""
    thread: ThreadIndex
    asleep_since: Nanoseconds
    """End of what the thread did before."""
    main_stops: Nanoseconds
    """Last moment of main before the burst."""
    start: Nanoseconds
    end: Nanoseconds
    main_resumes: Nanoseconds
    woken: Bool
    """Whether the burst begins because main came to `main_stops`."""
    awaited: Bool
    """Whether main goes on because the burst ended."""


_AROUND = 0.1
"""Launches of a thread before all of the one with most, as a share of these: a backward pass may
have more than all else of a step."""


def main_thread(analysis: Analysis, launches: Int) -> int:
    """Thread that marks steps; else the one that launches most outside of the backward pass.

    Without nodes the backward pass is taken to be a thread's that begins and ends within another's.
    """
    marked = analysis.steps.thread[analysis.steps.thread >= 0]
    if len(marked):
        return int(marked[0])
    tree = analysis.call_tree
    rows = launches[analysis.row_node[launches] < 0]
    if not len(rows):
        rows = np.flatnonzero(~analysis.host.device_threads[tree.thread])
    if not len(rows):
        return -1
    count = np.bincount(tree.thread[rows])
    most = int(count.argmax())
    if len(analysis.nodes.row):
        return most
    inner = tree.start[rows[tree.thread[rows] == most]]
    before = np.bincount(tree.thread[rows[tree.start[rows] < inner.min()]], minlength=len(count))
    goes_on = isin(np.arange(len(count)), unique(tree.thread[tree.start > inner.max()]))
    around = np.where(goes_on, before, 0)
    return int(around.argmax()) if around.max() >= _AROUND * count[most] else most


def find_bursts(analysis: Analysis, main: int, others: ThreadIndex, start: int, end: int) -> Bursts:
    """Find the bursts of other threads between two moments.

    The last moment is one of main: where the trace shows nothing more of it, it waits until then.
    """
    own = np.append(moments_of(analysis, main, start, end - 1), end) if len(others) else others
    engines = threads_of(analysis, analysis.nodes.row)
    work = cache(partial(_work, analysis, main))
    found = [np.zeros((0, 8), np.int64)]
    for thread in others.tolist() if len(own) else ():
        spans = _spans(analysis, thread, own, start)
        _, since, stops, began, ended, goes_on, until = spans.T
        gap = goes_on - stops
        awake = _AWAKE * gap
        handed = ~busy(analysis, main, stops) & (ended <= goes_on + awake)
        ended = np.minimum(ended, goes_on)
        handed &= isin(spans[:, 0], engines) | (ended - began >= FILLED * gap)
        slept = since <= stops + awake
        woken = (handed & slept) | _sleeps(work, since, began)
        awaited = handed & (slept | _sleeps(work, ended, until))
        spans[:, 4] = ended
        columns = [*spans[:, :6].T, woken, awaited]
        found.append(np.stack(columns, axis=1)[woken | awaited])
        found.append(_outlasting_syncs(analysis, thread, main, own))
    thread, since, stops, began, ended, goes_on, woken, awaited = np.concatenate(found).T
    return Bursts(
        main, thread, since, stops, began, ended, goes_on, woken=woken > 0, awaited=awaited > 0
    )


def _spans(analysis: Analysis, thread: int, own: Nanoseconds, start: int) -> Nanoseconds:
    """What a thread does between each two moments of main, shape (s, 7).

    Columns: the thread, the end of its row before, the moment of main before, its start and end,
    the moment of main after, the start of its next row.
    """
    tree = analysis.call_tree
    rows = np.flatnonzero((tree.thread == thread) & (tree.parent < 0))
    place = np.searchsorted(own, tree.start[rows], side="right") - 1
    opens = np.flatnonzero(np.diff(place, prepend=-2))
    closes = np.append(opens[1:], len(rows)) - 1
    inside = (place[opens] >= 0) & (place[opens] < len(own) - 1)
    opens, closes = opens[inside], closes[inside]
    last = closes + 1 == len(rows)
    columns = [
        np.full(len(opens), thread),
        np.where(opens > 0, tree.end[rows[np.maximum(opens - 1, 0)]], start),
        own[place[opens]],
        tree.start[rows[opens]],
        tree.end[rows[closes]],
        own[place[opens] + 1],
        np.where(last, own[-1], tree.start[rows[np.where(last, closes, closes + 1)]]),
    ]
    return np.stack(columns, axis=1)


def _outlasting_syncs(analysis: Analysis, thread: int, main: int, own: Nanoseconds) -> Nanoseconds:
    """Syncs of a thread that began before main stopped, and that it waits for: as bursts.

    An engine that serves requests fetches its results so: main waits for the thread that does.
    """
    syncs = analysis.syncs
    rows = np.flatnonzero((analysis.call_tree.thread[syncs.row] == thread) & ~syncs.by_profiler)
    place = np.searchsorted(own, syncs.end[rows]) - 1
    inside = (place >= 0) & (place < len(own) - 1)
    rows, place = rows[inside], place[inside]
    began, ended, stops, goes_on = syncs.start[rows], syncs.end[rows], own[place], own[place + 1]
    waits = (began < stops) & (goes_on - stops >= _SLEEP) & ~busy(analysis, main, stops)
    waits &= ended - stops >= _OUTLASTS * (goes_on - stops)
    columns = [began, stops, began, ended, goes_on, np.zeros_like(began), np.ones_like(began)]
    return np.stack([np.full(len(rows), thread), *columns], axis=1)[waits]


def _work(analysis: Analysis, thread: int) -> TimeSet:
    """Time in which a thread is inside an operator or a call of the runtime."""
    tree = analysis.call_tree
    rows = np.flatnonzero((tree.thread == thread) & isin(analysis.host.kind, AT_WORK))
    return tree.time_of(rows)


def _sleeps(work: Callable[[], TimeSet], since: Nanoseconds, until: Nanoseconds) -> Bool:
    """Whether a thread without rows sleeps from some moments to others: main works meanwhile."""
    long = np.flatnonzero(until - since >= _SLEEP)
    sleeps = np.zeros(len(since), bool)
    if len(long):
        spans = np.stack([since, until], axis=1)[long]
        worked = intervals.lengths_within(work(), spans)
        sleeps[long] = worked >= _WORKED * (spans[:, 1] - spans[:, 0])
    return sleeps


def moments_of(analysis: Analysis, thread: int, start: int, end: int) -> Nanoseconds:
    """Starts and ends of the rows of a thread between two moments, ascending."""
    tree = analysis.call_tree
    rows = np.flatnonzero(tree.thread == thread)
    bounds = np.sort(np.concatenate([tree.start[rows], tree.end[rows]]))
    return bounds[(bounds >= start) & (bounds <= end)]


def busy(analysis: Analysis, thread: int, moment: Nanoseconds) -> Bool:
    """Whether a thread is inside an operator or a call of the runtime at each moment."""
    row = innermost_at(analysis.call_tree, np.full(len(moment), thread), moment)
    return np.asarray((row >= 0) & isin(analysis.host.kind[row], AT_WORK))


def threads_of(analysis: Analysis, *rows: Int) -> ThreadIndex:
    """Threads of some rows of the call tree."""
    return unique(analysis.call_tree.thread[np.concatenate(rows)])


class CollectiveWaits(NamedTuple):
    """Waits of the main thread for a collective, in order of time, shape (w,)."""

    main: int
    """The thread that waits."""
    caller: ThreadIndex
    """Thread of the call."""
    called: Nanoseconds
    main_stops: Nanoseconds
    main_resumes: Nanoseconds


def find_collective_waits(analysis: Analysis, main: int, start: int, end: int) -> CollectiveWaits:
    """Find the waits between two moments; each is for the collective that ends next."""
    tree, runs = analysis.call_tree, analysis.host.named(lambda name: name.startswith(ON_HOST))
    runs = runs[tree.start[runs] >= start]
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
    call = lookup(calls, np.searchsorted(tree.start[calls], tree.start[runs], side="right") - 1)
    on_main = tree.thread[runs] == main
    call = np.where(on_main, runs, call)
    stops, goes_on = own[before], own[after]
    is_wait = (call >= 0) & (tree.start[call] < stops + on_main)
    is_wait &= waits[:, 1] - waits[:, 0] >= FILLED * (goes_on - stops)
    is_wait &= on_main | ~busy(analysis, main, stops)
    call = call[is_wait]
    return CollectiveWaits(
        main, tree.thread[call], tree.start[call], stops[is_wait], goes_on[is_wait]
    )


ENDS, RESUMES, BEGINS, LAUNCHES = 0, 1, 2, 3
"""Rank of points of one moment: what ends; where main resumes, then where it stops; what begins,
and ends of steps; launches."""


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
    thread: ThreadIndex
    thread_end: Nanoseconds
    """Where no step is marked the threads, and the end of the last row of each."""
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


def find_points(analysis: Analysis, window: Window) -> Points:
    """Find the points of the host: launches, syncs, ends of steps, loaders, hand-overs."""
    events = _host_events(analysis, window)
    (thread, time, rank), numbers = _numbered(_wanted(analysis, events))
    launched, _, sync_end, goes_on, stops, begins, ends, returns = numbers[:8]
    returned = scatter(events.slow, returns, len(events.launch))
    return Points(
        thread=thread,
        time=time,
        rank=rank,
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
    ended, ends = _thread_ends(analysis, window, np.append(others, main))
    step_end = _step_ends(analysis, window)
    return HostEvents(
        launch=launch,
        slow=slow,
        slow_end=slow_end,
        usual=usual,
        sync=sync,
        loader=_loaders(analysis, window, np.append(threads, main)),
        step_end=step_end,
        thread=ended,
        thread_end=ends,
        bursts=find_bursts(analysis, main, others, window.start, int(step_end[-1])),
        collectives=find_collective_waits(analysis, main, window.start, window.host_end),
    )


def _wanted(analysis: Analysis, events: HostEvents) -> list[tuple[ThreadIndex, Nanoseconds, int]]:
    """Threads, times and rank of all points; the order is that of `find_points`."""
    tree, bursts = analysis.call_tree, events.bursts
    syncs, launch, loader = analysis.syncs, events.launch, events.loader
    waiting = tree.thread[syncs.row[events.sync]]
    slow = launch[events.slow]
    main, waits = np.full(len(bursts.start), bursts.main), events.collectives
    waiter = np.full(len(waits.called), waits.main)
    ends, step_end = events.thread_end, events.step_end
    ended_by = events.thread[ends.argmax()] if len(ends) else bursts.main
    return [
        (tree.thread[launch], tree.start[launch], LAUNCHES),
        (waiting, syncs.start[events.sync], BEGINS),
        (waiting, syncs.end[events.sync], ENDS),
        (main, bursts.main_resumes, RESUMES),
        (main, bursts.main_stops, RESUMES),
        (bursts.thread, bursts.start, BEGINS),
        (bursts.thread, bursts.end, ENDS),
        (tree.thread[slow], events.slow_end, ENDS),
        (tree.thread[loader], tree.start[loader], BEGINS),
        (tree.thread[loader], tree.end[loader], ENDS),
        (events.thread, np.minimum(ends, step_end[-1]), BEGINS),
        (waits.caller, waits.called, BEGINS),
        (waiter, waits.main_stops, ENDS),
        (waiter, waits.main_resumes, BEGINS),
        (np.full(len(step_end), ended_by), step_end, BEGINS),
    ]


def _numbered(
    wanted: Sequence[tuple[ThreadIndex, Nanoseconds, int]],
) -> tuple[list[Int], list[Int]]:
    """Thread, time and rank of points by thread and time, and the number of each wanted one."""
    sizes = [len(time) for _, time, _ in wanted]
    thread, time = (np.concatenate([each[column] for each in wanted]) for column in (0, 1))
    rank = np.repeat([rank for *_, rank in wanted], sizes)
    order = np.lexsort((rank, time, thread))
    number = index_of(order, len(order))
    columns = [column[order] for column in (thread, time, rank)]
    return columns, np.split(number, np.cumsum(sizes)[:-1])


def _loaders(analysis: Analysis, window: Window, threads: ThreadIndex) -> TreeRow:
    """Outermost rows of data loaders in the window on some threads."""
    tree, loading = analysis.call_tree, analysis.host.role == Role.DATA
    rows = np.flatnonzero(loading & isin(tree.thread, threads) & (tree.nearest_above(loading) < 0))
    return rows[_within(window, tree.start[rows]) & (tree.end[rows] <= window.host_end)]


def _slow(analysis: Analysis, launch: TreeRow, usual: int) -> tuple[Int, Nanoseconds]:
    """Launches that took long by themselves, not for a copy nor for room in a queue; their ends."""
    slow = analysis.call_tree.duration[launch] > max(SLOW * usual, SLOW_NS)
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


def _thread_ends(
    analysis: Analysis, window: Window, threads: ThreadIndex
) -> tuple[ThreadIndex, Nanoseconds]:
    """Threads and the ends of their last rows, where no step is marked."""
    if analysis.steps.thread[window.steps[-1]] >= 0:
        return threads[:0], np.zeros(0, np.int64)
    tree = analysis.call_tree
    ends = [tree.end[tree.thread == thread].max(initial=0) for thread in threads]
    return threads, np.array(ends, np.int64)


def _within(window: Window, time: Nanoseconds) -> Bool:
    return np.asarray((time >= window.start) & (time < window.host_end))


def _syncs(analysis: Analysis, window: Window) -> SyncIndex:
    """Syncs that lie in the window, but the profiler's own."""
    syncs = analysis.syncs
    inside = (syncs.start >= window.start) & (syncs.end <= window.host_end) & ~syncs.by_profiler
    return np.flatnonzero(inside & (syncs.end > syncs.start))
