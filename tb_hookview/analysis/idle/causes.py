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
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.analysis.idle.gaps import Cause, Claims, Gaps, cut
from tb_hookview.analysis.idle.launch_timing import LaunchTiming
from tb_hookview.analysis.syncs.detection import holds_unpinned
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, isin, unique
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.trace import EventCategory

_NOT_THE_PROFILERS = re.compile(
    r"Command Buffer Full|Lazy Function Loading|Runtime Triggered Module Loading|Driver Compiler"
)
"""`overhead` rows that tell of the driver: they come without a profiler too."""
_HOST_COLLECTIVES = ("gloo:", "mpi:", "ucc:", "c10d::barrier", "c10d::monitored_barrier")
"""How rows begin in which the host itself takes part in a collective; `nccl:*` only launch one."""


def find_gaps(time: LaunchTiming, hull: tuple[int, int]) -> Gaps:
    """Bill the time between `hull` (start, end; nanoseconds) in which a device did nothing.

    Devices are those that did any work.
    """
    work, found = time.work, []
    common = _common(time)
    for device in unique(work.device).tolist():
        rows = np.flatnonzero(work.device == device)
        busy = intervals.of(work.start[rows], work.end[rows])
        gaps = intervals.complement(busy, np.array([hull], np.int64))
        pieces = cut(gaps, _claims(time, rows, gaps, common))
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
        row=np.where(sync >= 0, lookup(time.syncs.row, sync), source),
        sync=sync,
    )


class _Common(NamedTuple):
    """What is asked for every device, of all forest rows."""

    profiler: Claims
    copying: Bool
    collective: Bool


def _common(time: LaunchTiming) -> _Common:
    return _Common(
        _profiler_claims(time),
        (time.call == Call.COPY) | holds_unpinned(time.host, time.work),
        _host_collectives(time)[time.host.string],
    )


def _claims(time: LaunchTiming, rows: Int, gaps: Int, common: _Common) -> list[Claims]:
    """Claims on the gaps of the device whose work `rows` are, in the order they are heard."""
    call_tree, launch = time.call_tree, time.work.launch[rows]
    launches = np.zeros(len(time.process), bool)
    launches[call_tree.thread[launch[launch >= 0]]] = True
    near = isin(time.process, time.process[launches])[call_tree.thread] | (not launches.any())
    launching = launches[call_tree.thread]
    in_wait, behind = _sync_claims(time, rows, near)
    late, queued, beside = _launch_claims(time, rows, gaps)
    return [
        queued,
        beside,
        in_wait,
        _rows(Cause.DATA_LOADING, call_tree, near & (time.host.role == Role.DATA)),
        _rows(Cause.COPY, call_tree, launching & common.copying),
        _rows(Cause.ALLOCATOR, call_tree, launching & (time.call == Call.ALLOCATE)),
        common.profiler,
        behind,
        _rows(Cause.COMMUNICATION, call_tree, near & common.collective),
        late,
    ]


def _host_collectives(time: LaunchTiming) -> Bool:
    """Which strings name a collective that the host itself takes part in."""
    texts = time.host.trace.strings.texts
    return np.array([text.startswith(_HOST_COLLECTIVES) for text in texts] or [False], bool)


def _rows(cause: Cause, call_tree: CallTree, wanted: Bool) -> Claims:
    row = np.flatnonzero(wanted)
    return Claims(cause, call_tree.start[row], call_tree.end[row], row)


def _profiler_claims(time: LaunchTiming) -> Claims:
    """The profiler's overhead, and the waits of its own."""
    events = time.host.trace.events
    row = np.flatnonzero(events.kind == EventCategory.OVERHEAD)
    names = unique(events.name[row])
    texts = time.host.trace.strings
    others = [name for name in names.tolist() if _NOT_THE_PROFILERS.fullmatch(texts[name])]
    row = row[~isin(events.name[row], others)]
    own = time.syncs.by_profiler
    return Claims(
        Cause.PROFILER,
        np.concatenate([events.start[row], time.syncs.start[own]]),
        np.concatenate([events.end[row], time.syncs.end[own]]),
        np.concatenate([np.full(len(row), -1, np.int64), time.syncs.row[own]]),
    )


def _sync_claims(time: LaunchTiming, rows: Int, near: Bool) -> tuple[Claims, Claims]:
    """What each wait left idle: while it lasted, and behind it."""
    syncs, work = time.syncs, time.work
    launched = rows[work.launch[rows] >= 0]
    chosen = np.flatnonzero(~syncs.by_profiler & near[syncs.row])
    following = _first_launched_after(launched, time.launch_start[launched], syncs.end[chosen])
    chosen, following = chosen[following >= 0], following[following >= 0]
    held = ~_launched_meanwhile(
        time, launched, chosen, time.call_tree.thread[work.launch[following]]
    )
    chosen, following = chosen[held], following[held]
    order = np.lexsort((syncs.start[chosen], following))
    chosen, following = chosen[order], following[order]
    begin = np.maximum(syncs.start[chosen], time.busy_until[following])
    stop = work.start[following] - time.floor
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


def _launched_meanwhile(time: LaunchTiming, launched: Int, syncs: Int, thread: Int) -> Bool:
    """Whether a thread other than that of each wait launched work while the wait lasted."""
    launch = time.work.launch[launched]
    start, end = time.syncs.start[syncs], time.syncs.end[syncs]
    at = time.launch_start[launched]
    last = asof(time.call_tree.thread[launch], at, thread, end - 1)
    other = time.call_tree.thread[time.syncs.row[syncs]] != thread
    return np.asarray(other & (last >= 0) & (lookup(at, last) >= start))


def _launch_claims(time: LaunchTiming, rows: Int, gaps: Int) -> tuple[Claims, Claims, Claims]:
    """Each gap as a whole: its next work was launched late, or in time, or beside a collective."""
    place = np.searchsorted(time.work.start[rows], gaps[:, 1])
    inside = place < len(rows)
    (start, end), row = gaps[inside].T, rows[place[inside]]
    launch, previous = time.work.launch[row], time.previous[row]
    begun = time.launch_start[row]
    late = (launch >= 0) & _launched_late(time, row, start)
    queued = (launch >= 0) | (time.queued_before[row] & (previous >= 0))
    queued &= ~late
    beside = time.communication[row] | ((previous >= 0) & time.communication[previous])
    start = np.where(previous < 0, np.maximum(start, begun), start)

    def claims(cause: Cause, wanted: Bool) -> Claims:
        return Claims(cause, start[wanted], end[wanted], launch[wanted])

    return (
        claims(Cause.LAUNCH, late),
        claims(Cause.DEVICE, queued & ~beside),
        claims(Cause.COMMUNICATION, queued & beside),
    )


def _launched_late(time: LaunchTiming, row: Int, gap_start: Int) -> Bool:
    """Whether work was launched too late to begin at once where its device's gap began."""
    launch = time.work.launch[row]
    late = time.launch_start[row] > gap_start - time.floor
    is_kernel = time.host.trace.events.kind[time.work.event[row]] == EventCategory.KERNEL
    late |= is_kernel & (
        lookup(time.call_tree.end, launch) > gap_start
    )  # it ran dry within the call
    return np.asarray(late & time.first_of_launch[row])
