"""Why a device was idle: which causes claim the time of its gaps, and what each can show for it.

**Waits.** For a wait [s, e] of the host: g1 is the device's first work whose launch began at or
after e, g0 the end of its work before. The device was idle from max(s, g0) to g1 because nothing
could be launched while the host waited. From this goes the time a launch takes to arrive at an
idle device anyway; and no more is billed than the wait was long, for without it the host could be
no further ahead. Where several waits lie before one g1, each has the time from its own start to
the next one's, and what is left of one's length may be used behind the next. What happened on
another thread, which went on launching while this one waited, is not the wait's.

**Calls.** A loader, a copy, an allocation, the profiler claim the time they last. They go before
the time *behind* a wait: there the host can be seen at other work.

**Launches.** All this holds only in a gap whose next work was launched too late for the device to
go on at once; what is left of such a gap the host spent otherwise. If the work had been launched
by then (before the trace began, too), the pause is the device's own, whatever the host did.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tb_hookview.analysis import intervals
from tb_hookview.analysis.calls import Call
from tb_hookview.analysis.forest import Forest, lookup
from tb_hookview.analysis.gaps import Cause, Claims, Gaps, cut
from tb_hookview.analysis.host import Host
from tb_hookview.analysis.joins import last_up_to
from tb_hookview.analysis.launches import DeviceWork
from tb_hookview.analysis.names import Role
from tb_hookview.analysis.syncs import Syncs, holds_unpinned
from tb_hookview.trace import Kind
from tb_hookview.trace.columns import Bool, Int

_NOT_THE_PROFILERS = re.compile(
    r"Command Buffer Full|Lazy Function Loading|Runtime Triggered Module Loading|Driver Compiler"
)
"""`overhead` rows that tell of the driver: they come without a profiler too."""
_HOST_COLLECTIVE = re.compile(r"(gloo|mpi|ucc):.+|c10d::(monitored_)?barrier\w*")
"""Rows in which the host itself takes part in a collective; `nccl:*` rows only launch one."""


@dataclass(frozen=True)
class IdleTime:
    """What is asked about all devices of one trace."""

    host: Host
    work: DeviceWork
    syncs: Syncs
    call: Int
    """`Call` of each forest row."""
    communication: Bool
    """Which work is a collective's, shape (d,)."""

    @property
    def forest(self) -> Forest:
        """The nested host rows."""
        return self.host.forest

    @cached_property
    def busy_until(self) -> Int:
        """For each piece of work, the end of all that its device started before it, shape (d,).

        The first of a device has its own start.
        """
        return self._before[0]

    @cached_property
    def previous(self) -> Int:
        """For each piece of work, that of the pieces before it which ended last; -1 for none."""
        return self._before[1]

    @cached_property
    def _before(self) -> tuple[Int, Int]:
        until, previous = self.work.start.copy(), np.full(len(self.work), -1, np.int64)
        for device in np.unique(self.work.device):
            rows = np.flatnonzero(self.work.device == device)
            end = self.work.end[rows]
            reach = np.maximum.accumulate(end)
            last = np.maximum.accumulate(np.where(end == reach, np.arange(len(rows)), 0))
            until[rows[1:]] = reach[:-1]
            previous[rows[1:]] = rows[last[:-1]]
        return until, previous

    @cached_property
    def launch_start(self) -> Int:
        """Start of the launching call of each piece of work, -1 where it is unknown."""
        return lookup(self.forest.start, self.work.launch)

    @cached_property
    def floor(self) -> int:
        """Median time from a launch to its start on an idle device, nanoseconds; 0 if unknown."""
        begun = self.launch_start
        onto_idle = (begun >= 0) & (self.busy_until <= begun) & (self.work.start >= begun)
        return int(np.median((self.work.start - begun)[onto_idle])) if onto_idle.any() else 0

    @cached_property
    def first_of_launch(self) -> Bool:
        """Which work was the first of its launch to start on its device; a graph owns many."""
        first = np.zeros(len(self.work), bool)
        of_launch = np.unique(self.work.device, return_inverse=True)[1]
        of_launch = of_launch + (self.work.launch + 1) * (of_launch.max(initial=0) + 1)
        first[np.unique(of_launch, return_index=True)[1]] = True
        return first & (self.work.launch >= 0)

    @cached_property
    def queued_before(self) -> Bool:
        """Which work was launched before the trace began: its number is below every call's."""
        events = self.host.trace.events
        calls = events.correlation[self.forest.event[self.host.kind == Kind.RUNTIME]]
        calls = calls[calls >= 0]
        mine = events.correlation[self.work.event]
        first = calls.min() if len(calls) else 0
        return np.asarray((self.work.launch < 0) & (mine >= 0) & (mine < first))

    @cached_property
    def process(self) -> Int:
        """Process of each forest row, as a number."""
        numbers = {pid: i for i, pid in enumerate({t.pid for t in self.host.trace.threads})}
        of_thread = np.array([numbers[t.pid] for t in self.host.trace.threads] or [0], np.int64)
        return of_thread[self.forest.thread]

    def named(self, pattern: re.Pattern[str]) -> Bool:
        """Which strings of the trace are a match, shape (strings,)."""
        texts = self.host.trace.strings.texts
        return np.array([pattern.fullmatch(text) is not None for text in texts] or [False], bool)


def find_gaps(idle: IdleTime, hull: tuple[int, int]) -> Gaps:
    """Bill the time between `hull` (start, end; nanoseconds) in which a device did nothing.

    Devices are those that did any work.
    """
    work, found = idle.work, []
    everywhere = _profiler_claims(idle)
    for device in np.unique(work.device).tolist():
        rows = np.flatnonzero(work.device == device)
        busy = intervals.of(work.start[rows], work.end[rows])
        gaps = intervals.complement(busy, np.array([hull], np.int64))
        pieces = cut(gaps, _claims(idle, rows, gaps, everywhere))
        place = np.searchsorted(work.start[rows], pieces.end)
        following = np.where(place < len(rows), rows[np.minimum(place, len(rows) - 1)], -1)
        found.append((np.full(len(place), device, np.int64), following, pieces))
    if not found:
        return Gaps(*(np.zeros(0, np.int64) for _ in range(7)))
    columns = zip(*(pieces for _, _, pieces in found), strict=True)
    start, end, cause, source = (np.concatenate(column) for column in columns)
    sync = np.where(cause == Cause.SYNC, source, -1)
    return Gaps(
        start=start,
        end=end,
        device=np.concatenate([device for device, _, _ in found]),
        cause=cause,
        work=np.concatenate([following for _, following, _ in found]),
        row=np.where(sync >= 0, lookup(idle.syncs.position, sync), source),
        sync=sync,
    )


def _claims(idle: IdleTime, rows: Int, gaps: Int, profiler: Claims) -> list[Claims]:
    """Claims on the gaps of the device whose work `rows` are, in the order they are heard."""
    forest, launch = idle.forest, idle.work.launch[rows]
    launch = launch[launch >= 0]
    near = np.isin(idle.process, idle.process[launch]) | (not len(launch))
    launching = np.isin(forest.thread, forest.thread[launch])
    copying = (idle.call == Call.COPY) | holds_unpinned(idle.host, idle.work)
    collective = idle.named(_HOST_COLLECTIVE)[idle.host.string]
    in_wait, behind = _sync_claims(idle, rows, near)
    late, queued, beside = _launch_claims(idle, rows, gaps)
    return [
        queued,
        beside,
        in_wait,
        _rows(Cause.DATA_LOADING, forest, near & (idle.host.role == Role.DATA)),
        _rows(Cause.COPY, forest, launching & copying),
        _rows(Cause.ALLOCATOR, forest, launching & (idle.call == Call.ALLOCATE)),
        profiler,
        behind,
        _rows(Cause.COMMUNICATION, forest, near & collective),
        late,
    ]


def _rows(cause: Cause, forest: Forest, wanted: Bool) -> Claims:
    row = np.flatnonzero(wanted)
    return Claims(cause, forest.start[row], forest.end[row], row)


def _profiler_claims(idle: IdleTime) -> Claims:
    """The profiler's overhead, and the waits of its own."""
    events = idle.host.trace.events
    row = np.flatnonzero(events.kind == Kind.OVERHEAD)
    row = row[~idle.named(_NOT_THE_PROFILERS)[events.name[row]]]
    own = idle.syncs.by_profiler
    return Claims(
        Cause.PROFILER,
        np.concatenate([events.start[row], idle.syncs.start[own]]),
        np.concatenate([events.end[row], idle.syncs.end[own]]),
        np.concatenate([np.full(len(row), -1, np.int64), idle.syncs.position[own]]),
    )


def _sync_claims(idle: IdleTime, rows: Int, near: Bool) -> tuple[Claims, Claims]:
    """What each wait left idle: while it lasted, and behind it."""
    syncs, work = idle.syncs, idle.work
    launched = rows[work.launch[rows] >= 0]
    chosen = np.flatnonzero(~syncs.by_profiler & near[syncs.position])
    following = _first_launched_after(launched, idle.launch_start[launched], syncs.end[chosen])
    chosen, following = chosen[following >= 0], following[following >= 0]
    held = ~_launched_meanwhile(idle, launched, chosen, idle.forest.thread[work.launch[following]])
    chosen, following = chosen[held], following[held]
    order = np.lexsort((syncs.start[chosen], following))
    chosen, following = chosen[order], following[order]
    begin = np.maximum(syncs.start[chosen], idle.busy_until[following])
    stop = work.start[following] - idle.floor
    shared = following[1:] == following[:-1]
    stop[:-1][shared] = np.minimum(stop[:-1], syncs.start[chosen][1:])[shared]
    length = (syncs.end - syncs.start)[chosen]
    columns = (chosen, following, begin, stop, length)
    start, end, sync = _billed(*(column.tolist() for column in columns))
    over = syncs.end[sync]
    return (
        Claims(Cause.SYNC, start, np.minimum(end, over), sync),
        Claims(Cause.SYNC, np.maximum(start, over), end, sync),
    )


def _billed(
    syncs: list[int], following: list[int], begin: list[int], stop: list[int], length: list[int]
) -> tuple[Int, Int, Int]:
    """Bill each stretch to its wait, and past the wait's own length to the waits before it."""
    pieces: list[tuple[int, int, int]] = []
    left: list[list[int]] = []
    gap = -1
    for sync, work, start, end, own in zip(syncs, following, begin, stop, length, strict=True):
        if work != gap:
            gap, left = work, []
        left.append([sync, own])
        while start < end and left:
            part = min(left[-1][1], end - start)
            pieces.append((start, start + part, left[-1][0]))
            start += part
            left[-1][1] -= part
            if not left[-1][1]:
                left.pop()
    columns = np.array(pieces, np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def _first_launched_after(launched: Int, launch_start: Int, moment: Int) -> Int:
    """Row of the earliest work whose launch began at or after each moment, -1 for none."""
    if not len(launched):
        return np.full(len(moment), -1, np.int64)
    order = np.argsort(launch_start, kind="stable")
    rows = launched[order]
    # Work is ordered by start, so the smallest row of a suffix is its earliest work.
    earliest = np.minimum.accumulate(rows[::-1])[::-1]
    place = np.searchsorted(launch_start[order], moment, side="left")
    inside = place < len(rows)
    return np.where(inside, earliest[np.minimum(place, len(rows) - 1)], -1)


def _launched_meanwhile(idle: IdleTime, launched: Int, syncs: Int, thread: Int) -> Bool:
    """Whether a thread other than that of each wait launched work while the wait lasted."""
    launch = idle.work.launch[launched]
    start, end = idle.syncs.start[syncs], idle.syncs.end[syncs]
    at = idle.launch_start[launched]
    last = last_up_to(idle.forest.thread[launch], at, thread, end - 1)
    other = idle.forest.thread[idle.syncs.position[syncs]] != thread
    return np.asarray(other & (last >= 0) & (lookup(at, last) >= start))


def _launch_claims(idle: IdleTime, rows: Int, gaps: Int) -> tuple[Claims, Claims, Claims]:
    """Each gap as a whole: its next work was launched late, or in time, or beside a collective."""
    place = np.searchsorted(idle.work.start[rows], gaps[:, 1])
    inside = place < len(rows)
    (start, end), row = gaps[inside].T, rows[place[inside]]
    launch, previous = idle.work.launch[row], idle.previous[row]
    begun = idle.launch_start[row]
    late = (launch >= 0) & _launched_late(idle, row, start)
    queued = (launch >= 0) | (idle.queued_before[row] & (previous >= 0))
    queued &= ~late
    beside = idle.communication[row] | ((previous >= 0) & idle.communication[previous])
    start = np.where(previous < 0, np.maximum(start, begun), start)

    def claims(cause: Cause, wanted: Bool) -> Claims:
        return Claims(cause, start[wanted], end[wanted], launch[wanted])

    return (
        claims(Cause.LAUNCH, late),
        claims(Cause.DEVICE, queued & ~beside),
        claims(Cause.COMMUNICATION, queued & beside),
    )


def _launched_late(idle: IdleTime, row: Int, gap_start: Int) -> Bool:
    """Whether work was launched too late to begin at once where its device's gap began."""
    launch = idle.work.launch[row]
    late = idle.launch_start[row] > gap_start - idle.floor
    is_kernel = idle.host.trace.events.kind[idle.work.event[row]] == Kind.KERNEL
    late |= is_kernel & (lookup(idle.forest.end, launch) > gap_start)  # it ran dry within the call
    return np.asarray(late & idle.first_of_launch[row])
