"""Why a device was idle: which causes claim the time of its gaps.

**Syncs.** For a sync [s, e] of the host: g1 is the device's first event whose launch began at or
after e, g0 the end of its event before. The device was idle from max(s, g0) to g1, because nothing
could be launched while the host waited. Of this the sync claims:

- not the latency of a launch onto an idle device, which passes anyway
- no more than the sync's own length: without it the host could be no further ahead
- where several syncs lie before one g1: each the time from its own start to the start of the next.
  What is left of one's length may be used after the next
- nothing while another thread went on launching

**Calls.** A loader, a copy, an allocation, the loading of a kernel, the profiler claim the time
they last. They go before what a sync claims *after* its end: there the host can be seen to do
something else.

**Launches.** All this holds only in a gap whose next device event was launched too late for the
device to go on at once; what is left of such a gap the host spent otherwise. From the moment at
which the device could start the event (before the trace began, too), the delay is the device's own;
of the first event of a device or of a stream it is unknown: a queue runs in order, and what it held
before is not in the trace. Before the launch of a device's first event the time is the
host's if the device then started that event at once. After its last event it is the host's up to a
wait for the whole device, which shows that nothing was queued.

From a launch whose device events the profiler lost to the first event that was launched later, the
device may have been busy: such time is unknown.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.calls.division import CallTimes
from tb_hookview.analysis.consistency.checks import lost_launches
from tb_hookview.analysis.device.events import LaunchTiming
from tb_hookview.analysis.host.rows import WHOLE_DEVICE, Call, Role
from tb_hookview.analysis.idle.gaps import (
    Cause,
    Claims,
    Gaps,
    KernelLoads,
    cut,
    driver_loads,
    profilers_overhead,
)
from tb_hookview.analysis.syncs.detection import Syncs
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, isin, mask_of
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    EventRow,
    Intervals,
    Nanoseconds,
    SyncIndex,
    ThreadIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.trace import EventCategory

_OF_HOST = (
    *(EventCategory.OPERATOR, EventCategory.ANNOTATION),
    *(EventCategory.RUNTIME, EventCategory.PYTHON),
)
"""Events that show what a thread of the host does."""
_HOST_COLLECTIVES = ("gloo:", "mpi:", "ucc:", "c10d::barrier", "c10d::monitored_barrier")
"""Prefixes of rows in which the host itself takes part in a collective.

Those of `nccl:*` only launch one."""


def find_gaps(
    timing: LaunchTiming,
    calls: CallTimes,
    syncs: Syncs,
    loads: KernelLoads,
    hull: tuple[int, int],
    steps: Intervals,
) -> Gaps:
    """Find the causes of idle time between `hull` (start, end; nanoseconds).

    Gaps are cut at the bounds of `steps` (start and end of each): each is a cost of one at most.
    Devices without a device event have no gaps.
    """
    device_events, found = timing.device_events, []
    common = _common(timing, calls, syncs, loads)
    for device, busy in device_events.busy.items():
        rows = np.flatnonzero(device_events.device == device)
        gaps = intervals.subtract(intervals.normal(np.array([hull], np.int64)), busy)
        pieces = cut(gaps, _claims(timing, rows, gaps, common), steps.ravel())
        place = np.searchsorted(device_events.start[rows], pieces.end)
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
        device_event=np.concatenate([following for _, following, _ in found]),
        row=np.where(sync >= 0, lookup(syncs.row, sync), source),
        sync=sync,
    )


def profiler_time(timing: LaunchTiming) -> TimeSet:
    """Time in which the profiler recorded overhead of its own."""
    events, rows = timing.host.trace.events, profilers_overhead(timing)
    return intervals.of(events.start[rows], events.end[rows])


class _Common(NamedTuple):
    """Columns that all devices need, computed once."""

    syncs: Syncs
    profiler: Claims
    loading: Claims
    copying: Bool
    collective: Bool
    waiting: Bool
    lost: TreeRow


def _common(timing: LaunchTiming, calls: CallTimes, syncs: Syncs, loads: KernelLoads) -> _Common:
    own = syncs.by_profiler
    row, start, end, slowed = loads
    slow = row[slowed], start[slowed], end[slowed]
    calls_of_own = zip(slow, (syncs.row[own], syncs.start[own], syncs.end[own]), strict=True)
    beside = profilers_overhead(timing)
    during = driver_loads(timing)
    return _Common(
        syncs,
        _with_overhead(timing, Cause.PROFILER, beside, *map(np.concatenate, calls_of_own)),
        _with_overhead(
            timing, Cause.KERNEL_LOADING, during, row[~slowed], start[~slowed], end[~slowed]
        ),
        (timing.call == Call.COPY) | calls.unpinned,
        timing.host.is_named(lambda text: text.startswith(_HOST_COLLECTIVES)),
        timing.host.is_named(WHOLE_DEVICE.fullmatch),
        lost_launches(timing.host, timing.device_events),
    )


def _claims(
    timing: LaunchTiming, rows: DeviceEventIndex, gaps: TimeSet, common: _Common
) -> list[Claims]:
    """Claims on the gaps of the device whose events `rows` are, first claim first."""
    call_tree, launch = timing.call_tree, timing.device_events.launch[rows]
    process = timing.host.process
    launches = mask_of(call_tree.thread[launch[launch >= 0]], len(process))
    near = isin(process, process[launches])[call_tree.thread] | (not launches.any())
    launching = launches[call_tree.thread]
    during, after = _sync_claims(timing, common.syncs, rows, near)
    delayed, late = _launch_claims(timing, rows, gaps)
    before_first = _before_first(timing, rows)
    after_last = _after_last(timing, rows, near & common.waiting, common.lost)
    lost = call_tree.start[common.lost[launching[common.lost]]]
    return [
        _lost_claims(timing, rows, lost),
        *delayed,
        during,
        _rows(Cause.DATA_LOADING, call_tree, near & (timing.host.role == Role.DATA)),
        _rows(Cause.COPY, call_tree, launching & common.copying),
        _rows(Cause.ALLOCATOR, call_tree, launching & (timing.call == Call.ALLOCATE)),
        _of_threads(common.loading, launching),
        common.profiler,
        after,
        _rows(Cause.COMMUNICATION, call_tree, near & common.collective),
        late,
        before_first,
        after_last,
    ]


def _rows(cause: Cause, call_tree: CallTree, wanted: Bool) -> Claims:
    row = np.flatnonzero(wanted)
    return Claims(cause, call_tree.start[row], call_tree.end[row], row)


def _of_threads(claims: Claims, wanted: Bool) -> Claims:
    """Those of some claims whose source is a wanted row, or no row."""
    mine = (claims.source < 0) | (lookup(wanted, claims.source) > 0)
    return Claims(claims.cause, *(column[mine] for column in claims[1:]))


def _with_overhead(
    timing: LaunchTiming,
    cause: Cause,
    row: EventRow,
    source: TreeRow,
    start: Nanoseconds,
    end: Nanoseconds,
) -> Claims:
    """Claims of calls and of rows of overhead."""
    events = timing.host.trace.events
    return Claims(
        cause,
        np.concatenate([events.start[row], start]),
        np.concatenate([events.end[row], end]),
        np.concatenate([np.full(len(row), -1, np.int64), source]),
    )


def _sync_claims(
    timing: LaunchTiming, syncs: Syncs, rows: DeviceEventIndex, near: Bool
) -> tuple[Claims, Claims]:
    """Claims of syncs on idle time: while they lasted, and after them."""
    device_events = timing.device_events
    launched = rows[device_events.launch[rows] >= 0]
    chosen = np.flatnonzero(~syncs.by_profiler & near[syncs.row])
    following = _first_launched_after(launched, timing.launch_start[launched], syncs.end[chosen])
    chosen, following = chosen[following >= 0], following[following >= 0]
    held = ~_launched_meanwhile(
        timing, syncs, launched, chosen, timing.call_tree.thread[device_events.launch[following]]
    )
    chosen, following = chosen[held], following[held]
    order = np.lexsort((syncs.start[chosen], following))
    chosen, following = chosen[order], following[order]
    begin = np.maximum(syncs.start[chosen], timing.busy_until[following])
    stop = device_events.start[following] - timing.launch_latency
    shared = following[1:] == following[:-1]
    stop[:-1][shared] = np.minimum(stop[:-1], syncs.start[chosen][1:])[shared]
    length = (syncs.end - syncs.start)[chosen]
    columns = (chosen, following, begin, stop, length)
    start, end, sync = _shared_out(*(column.tolist() for column in columns))
    over = syncs.end[sync]
    return (
        Claims(Cause.SYNC, start, np.minimum(end, over), sync),
        Claims(Cause.SYNC, np.maximum(start, over), end, sync),
    )


def _shared_out(
    syncs: list[int], following: list[int], begin: list[int], stop: list[int], length: list[int]
) -> tuple[Nanoseconds, Nanoseconds, SyncIndex]:
    """Attribute each span to its sync, beyond the sync's length to earlier ones."""
    pieces: list[tuple[int, int, int]] = []
    left: list[list[int]] = []
    gap = -1
    for sync, ends_gap, start, end, own in zip(syncs, following, begin, stop, length, strict=True):
        if ends_gap != gap:
            gap, left = ends_gap, []
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


def _first_launched_after(
    launched: DeviceEventIndex, launch_start: Nanoseconds, moment: Nanoseconds
) -> DeviceEventIndex:
    """Earliest device event whose launch began at or after each moment, -1 for none."""
    if not len(launched):
        return np.full(len(moment), -1, np.int64)
    order = np.argsort(launch_start, kind="stable")
    rows = launched[order]
    # Device events are ordered by start: the smallest index of a suffix is its earliest one.
    earliest = np.minimum.accumulate(rows[::-1])[::-1]
    place = np.searchsorted(launch_start[order], moment, side="left")
    inside = place < len(rows)
    return np.where(inside, earliest[np.minimum(place, len(rows) - 1)], -1)


def _launched_meanwhile(
    timing: LaunchTiming,
    syncs: Syncs,
    launched: DeviceEventIndex,
    chosen: SyncIndex,
    thread: ThreadIndex,
) -> Bool:
    """Whether a thread other than that of each sync launched while the sync lasted."""
    launch = timing.device_events.launch[launched]
    start, end = syncs.start[chosen], syncs.end[chosen]
    at = timing.launch_start[launched]
    last = asof(timing.call_tree.thread[launch], at, thread, end - 1)
    other = timing.call_tree.thread[syncs.row[chosen]] != thread
    return np.asarray(other & (last >= 0) & (lookup(at, last) >= start))


def _launch_claims(
    timing: LaunchTiming, rows: DeviceEventIndex, gaps: TimeSet
) -> tuple[list[Claims], Claims]:
    """Each whole gap by its next event: what is the device's own, and what the host launched late.

    A gap is the host's until the device could start the event, and the device's from then on. What
    a device or a stream did before its first event is not in the trace, so that the cause of a
    delay of that event is unknown.
    """
    place = np.searchsorted(timing.device_events.start[rows], gaps[:, 1])
    inside = place < len(rows)
    (start, end), row = gaps[inside].T, rows[place[inside]]
    launch, previous = timing.device_events.launch[row], timing.previous[row]
    late = (launch >= 0) & _launched_late(timing, row, start)
    first = previous < 0
    start = np.where(first, np.maximum(start, timing.launch_start[row]), start)
    ready = np.where(late, np.clip(timing.startable[row], start, end), start)
    opens = first | timing.first_of_stream[row]
    known = ~first & ((launch >= 0) | timing.queued_before[row])
    # What is launched after a collective's end waits for no other rank.
    after = ~first & ~late & timing.of_peers[previous]
    collective = timing.of_peers[row] | after

    def claims(cause: Cause, wanted: Bool, begin: Nanoseconds, stop: Nanoseconds) -> Claims:
        mine = launch[wanted] if cause != Cause.UNKNOWN else np.full(wanted.sum(), -1)
        return Claims(cause, begin[wanted], stop[wanted], mine)

    delayed = [
        claims(Cause.UNKNOWN, opens & (launch >= 0) & (first | ~collective), ready, end),
        claims(Cause.DEVICE, known & ~collective, ready, end),
        claims(Cause.COMMUNICATION, known & collective, ready, end),
    ]
    return delayed, claims(Cause.LAUNCH, late, start, ready)


def _lost_claims(timing: LaunchTiming, rows: DeviceEventIndex, lost: Nanoseconds) -> Claims:
    """From launches whose device events are not in the trace to the first event launched later."""
    launched = rows[timing.device_events.launch[rows] >= 0]
    following = _first_launched_after(launched, timing.launch_start[launched], lost)
    end = np.where(following >= 0, lookup(timing.device_events.start, following), lost)
    return Claims(Cause.UNKNOWN, lost, end, np.full(len(lost), -1, np.int64))


def _before_first(timing: LaunchTiming, rows: DeviceEventIndex) -> Claims:
    """Time of the host before the launch of a device's first event.

    It counts if the device started that event at once, and so was idle; and where anything is
    recorded on the launching thread. It is not the launch's: that had not begun.
    """
    device_events, events = timing.device_events, timing.host.trace.events
    launch, first = device_events.launch[rows[0]], rows[0]
    if launch < 0 or timing.startable[first] < device_events.start[first]:
        return Claims(Cause.LAUNCH, *(np.zeros(0, np.int64) for _ in range(3)))
    begun = timing.call_tree.start[launch]
    before = np.flatnonzero(
        (events.thread == timing.call_tree.thread[launch])
        & (events.start < begun)
        & isin(events.kind, [int(kind) for kind in _OF_HOST])
    )
    start, end = intervals.of(events.start[before], np.minimum(events.end[before], begun)).T
    return Claims(Cause.LAUNCH, start, end, np.full(len(start), -1, np.int64))


def _after_last(
    timing: LaunchTiming, rows: DeviceEventIndex, waiting: Bool, lost: TreeRow
) -> Claims:
    """Time of the host after a device's last event, until it waits for the whole device.

    Such a wait is for one device; and a launch after that event whose own are lost kept it busy.
    """
    tree, end = timing.call_tree, int(timing.device_events.end[rows].max())
    waits = np.flatnonzero(waiting & (tree.start > end))
    last = timing.launch_start[rows].max()
    if len(timing.device_events.busy) > 1 or (tree.start[lost] > last).any():
        waits = waits[:0]
    waits = waits[np.argsort(tree.start[waits], kind="stable")[-1:]]
    return Claims(Cause.LAUNCH, np.full(len(waits), end, np.int64), tree.start[waits], waits)


def _launched_late(timing: LaunchTiming, row: DeviceEventIndex, gap_start: Nanoseconds) -> Bool:
    """Whether events were launched too late to begin at once where their device's gap began."""
    launch = timing.device_events.launch[row]
    late = timing.launch_start[row] > gap_start - timing.launch_latency
    is_kernel = timing.device_events.is_kernel[row]
    # The queue ran empty within the call.
    late |= is_kernel & (lookup(timing.call_tree.end, launch) > gap_start)
    return np.asarray(late & timing.first_of_launch[row])
