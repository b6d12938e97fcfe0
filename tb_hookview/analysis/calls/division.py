"""How the time of each call of the runtime divides: waiting, transfer, its own work of a kind.

    host     [cudaMemcpyAsync                               ]
             | waited            |   | transfer         | own
    stream   [kernel            ]    [copy                 ]

- *Waited* is the time from the start of the call to the end of the device event ahead of it: the
  last to end of those launched before that the call waits for. A launch onto a full queue waits for
  as long as it takes more than usual.
- *Transfer* is what passes of the call's own copy in the rest of it.
- *Own* work is what is left.
- A wait whose own call is not in the trace counts as part of the call after it.

This is the one place that says what a call waits for. Syncs, time blocked, idle time, edges of the
dependency graph, and so gains and bounds, follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.calls.waits import (
    Part,
    find_copies,
    none,
    of_copies,
    of_frees,
    of_syncs,
    of_unseen_copies,
)
from tb_hookview.analysis.consistency.checks import LARGEST_SKEW_NS
from tb_hookview.analysis.device.events import LaunchTiming
from tb_hookview.analysis.host.rows import Call, HostRows
from tb_hookview.arrays.joins import (
    index_of,
    isin,
    mask_of,
    median,
    setdiff,
    unique,
    unique_inverse,
)
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds, TreeRow

# Waits for an event of which only what follows is in the trace.
#
#     host     [cudaEventElapsedTime]                          [cudaEventElapsedTime]
#     stream      [kernel                                    ]
#
# Time between two events is asked for once both are done, and some profilers leave out the
# synchronize before (`cudaEventSynchronize`). Then the thread has no row until right after the end
# of what it waited for. So DistributedDataParallel reads its own clock, as each forward begins, in
# its first ten steps and then every 100th.

_ELAPSED = re.compile(r"(cuda|hip|mu|musa)EventElapsedTime(_\w+)?")
"""Names of calls that read the time between two events."""
_SYNCHRONIZE = re.compile(r"(cuda|hip|mu|musa)EventSynchronize(_\w+)?")
_SHORTEST_NS = 100_000
"""Time without a row from which on it is no work of the host's own."""
_RETURN_NS = 200_000
"""Longest time from the end of what was waited for to the call: the host has to wake."""


def of_elapsed_times(timing: LaunchTiming) -> tuple[Part, Nanoseconds]:
    """Calls that read the time between events after such a wait, and how long before them it began.

    What they waited for and what is left of that time is before their start. Nothing is assumed
    where the trace has any synchronize of an event, or where the event that ended last was launched
    after the thread's last row.
    """
    host, events = timing.host, timing.device_events
    row = host.named(_ELAPSED.fullmatch)
    row = row[~host.device_threads[timing.call_tree.thread[row]]]
    if not len(row) or not len(events) or len(host.named(_SYNCHRONIZE.fullmatch)):
        row = row[:0]
    end, since = timing.call_tree.start[row], _ends_before(timing.call_tree, row)
    order = np.argsort(events.end, kind="stable")
    ahead = lookup(order, np.searchsorted(events.end[order], end, side="right") - 1)
    done = lookup(events.end, ahead)
    waits = (ahead >= 0) & (end - since > _SHORTEST_NS) & (end - done <= _RETURN_NS)
    waits &= (done > since) & (lookup(timing.launch_start, ahead) < since)
    row, ahead, waited = row[waits], ahead[waits], (done - since)[waits]
    part = Part(row, waited, waited * 0, ahead, none(row), np.arange(len(row)), ahead)
    return part, (end - since)[waits]


def _ends_before(tree: CallTree, row: TreeRow) -> Nanoseconds:
    """End of the row before each on its thread, or start of the one around it if it is the first.

    A row that is the first of its thread has its own start.
    """
    around, before = tree.parent[row], np.maximum(row - 1, 0)
    first = (before == around) | (tree.thread[before] != tree.thread[row]) | (row == 0)
    climbing = np.flatnonzero(~first)
    while len(climbing := climbing[tree.parent[before[climbing]] != around[climbing]]):
        before[climbing] = tree.parent[before[climbing]]
    opened = np.where(around >= 0, lookup(tree.start, around), tree.start[row])
    return np.asarray(np.minimum(np.where(first, opened, tree.end[before]), tree.start[row]))


# Launches that waited because the queue of their device was full.
#
# A device takes about a thousand launches ahead. A further one has to wait until an earlier device
# event begins. Then the device is late, not the host: this is no sync.


OUTSTANDING = 900
"""Launched device events, not begun, from which on a queue counts as full.

Queues of CUDA devices hold 1024 entries, some of them for calls that leave nothing in a trace."""
_FULL = 0.97
"""Part of the most launches ever ahead from which on there is no room left."""
_SLOW = 5
"""Multiple of its name's median from which on a launch that finds no room waited for it.

On V100 one of 200 launches with room takes as long, and one of three without."""


def of_launches(timing: LaunchTiming, held: TreeRow) -> Part:
    """Divide launches that were slow while their device's queue was full.

    Each waited for as long as it took more than the median of the others.

    Args:
        timing: the launches.
        held: calls that waited for something else, such as blocking copies.
    """
    row = _onto_full_queue(timing, held)
    duration = timing.call_tree.duration
    others = setdiff(timing.device_events.launches, row)
    usual = int(median(duration[others])) if len(others) else 0
    waited = np.maximum(duration[row] - usual, 0)
    nothing = np.zeros(0, np.int64)
    return Part(row, waited, waited * 0, none(row), none(row), nothing, nothing)


def _onto_full_queue(timing: LaunchTiming, held: TreeRow) -> TreeRow:
    """Launches that were slow while the queue was full, ascending."""
    found, device_events = [np.zeros(0, np.int64)], timing.device_events
    for device in unique(device_events.device):
        one_each = timing.first_of_launch | timing.queued_before
        rows = np.flatnonzero((device_events.device == device) & one_each)
        if len(rows) < OUTSTANDING:
            continue
        begun = np.sort(timing.launch_start[rows])
        launch = unique(device_events.launch[rows[device_events.launch[rows] >= 0]])
        moment = timing.call_tree.start[launch]
        # What was launched before the trace has -1 for a start, which is before every moment.
        ahead = np.searchsorted(begun, moment) - np.searchsorted(device_events.start[rows], moment)
        found.append(_slow(timing, launch, ahead))
    rows = unique(np.concatenate(found))
    return rows[~isin(rows, held)]


def _slow(timing: LaunchTiming, launch: TreeRow, ahead: Int) -> TreeRow:
    """Launches of one device that were slow, by the events that were ahead of each in its queue."""
    deep = launch[ahead >= OUTSTANDING]
    found = [deep[timing.slow(deep, timing.call_tree.duration[deep])]]
    full = ahead >= max(OUTSTANDING, _FULL * ahead.max(initial=0))
    name, lasted = timing.host.string[launch], timing.call_tree.duration[launch]
    for one in unique(name[full]):
        mine = name == one
        room = mine & ~full if (mine & ~full).any() else mine
        found.append(launch[mine & full & (lasted > _SLOW * median(lasted[room]))])
    return np.concatenate(found)


class CallTimes(Struct, frozen=True):
    """Division of calls that may wait or hold the host; shape (c,), by row.

    A call that is not here waited for nothing: all of its time is its own.
    """

    row: TreeRow
    """Ascending."""
    waited: Nanoseconds
    """For earlier device work."""
    transfer: Nanoseconds
    """Of its own copy."""
    before: Nanoseconds
    """Time before its start that is part of it: a wait whose own call was not recorded."""
    own: Nanoseconds
    """Waited, transfer and own add up to the duration, with the time before it."""
    ahead: DeviceEventIndex
    """The event that was waited for, -1 for none."""
    copy: DeviceEventIndex
    """The copy that held the host, -1 for none."""
    blocks: Nanoseconds
    """Time in which a call is a sync, from its start less `before`; -1 for one that is none."""
    waiting: Int
    """Index of a call that cannot return before an event, whether it waited for it or not; shape
    (w,). A call may have several."""
    event: DeviceEventIndex
    """That event, shape (w,)."""
    onto_full_queue: TreeRow
    """Launches that waited for room in the full queue of a device, ascending."""
    unpinned: Bool
    """Rows of the call tree that copied unpinned memory, which the host may do by itself."""

    def __len__(self) -> int:
        return len(self.row)


def divide_calls(timing: LaunchTiming, skew: int) -> CallTimes:
    """Divide the time of calls that may wait, and of copies that hold the host.

    Args:
        timing: the calls, and device events with their launches.
        skew: difference of the clocks, nanoseconds: what ended no later after the return of a call
            ended in it.
    """
    copies = find_copies(timing)
    held, unseen = of_copies(timing, copies, skew), of_unseen_copies(timing)
    always = (timing.call == Call.WAIT) | (timing.call == Call.COPY)
    always[held.row] = False
    syncs = of_syncs(timing, np.flatnonzero(always), skew)
    frees = of_frees(timing, np.flatnonzero(timing.call == Call.ALLOCATE), skew)
    read, before = of_elapsed_times(timing)
    full = of_launches(timing, np.concatenate([held.row, syncs.row]))
    unpinned = mask_of(copies.launch[copies.unpinned], len(timing.host))
    duration = timing.call_tree.duration
    blocks = [
        duration[held.row],
        duration[unseen.row],
        duration[syncs.row],
        np.where(frees.waited > 0, frees.waited, -1),
        before,
        np.full(len(full.row), -1, np.int64),
    ]
    parts = (held, unseen, syncs, frees, read, full)
    earlier = np.zeros(len(duration), np.int64)
    earlier[read.row] = before
    return _joined(parts, blocks, earlier, duration, unpinned)


def _joined(
    parts: Sequence[Part],
    blocks: Sequence[Nanoseconds],
    before: Nanoseconds,
    duration: Nanoseconds,
    unpinned: Bool,
) -> CallTimes:
    """All parts in order of rows."""
    sizes = np.cumsum([0, *(len(part.row) for part in parts)])
    row, waited, transfer, ahead, copy = (
        np.concatenate([part[column] for part in parts]) for column in range(5)
    )
    waiting = np.concatenate(
        [part.waiting + first for part, first in zip(parts, sizes[:-1], strict=True)]
    )
    order = np.argsort(row, kind="stable")
    return CallTimes(
        row=row[order],
        waited=waited[order],
        transfer=transfer[order],
        before=before[row][order],
        own=(duration[row] + before[row] - waited - transfer)[order],
        ahead=np.where(waited > 0, ahead, -1)[order],
        copy=copy[order],
        blocks=np.concatenate(blocks)[order],
        waiting=index_of(order, len(order))[waiting],
        event=np.concatenate([part.event for part in parts]),
        onto_full_queue=parts[-1].row,
        unpinned=unpinned,
    )


# By how much the clock of the devices is ahead of the host's, as far as the trace shows it.
#
# host     [launch]       [synchronize       ]
# device         [event 1                      ]
#                                            ended after the call that waited for it

_LET_IN_NS = 3_000
"""Time from the start of an event to the return of a launch that found room by it, at least."""


def clock_ahead(timing: LaunchTiming, calls: CallTimes) -> int:
    """Least correction of the devices' clock, nanoseconds; below 0 where it is behind.

    With it no wait returns before what it waited for has ended, and no event begins before its
    launch, where most of those onto an idle device seem to: 0 where this is so as recorded. Where
    no correction does both, as clocks drift, the waits decide, as far as launches usually take.
    """
    late = np.concatenate([_after_waits(timing, calls), _after_room(timing, calls)])
    least = int(late[np.abs(late) <= LARGEST_SKEW_NS].max(initial=-LARGEST_SKEW_NS))
    events, launched = timing.device_events, timing.launch_start
    passed = events.start - launched
    if least > 0:
        soonest = int(passed[launched >= 0].min(initial=LARGEST_SKEW_NS))
        return min(least, max(soonest, timing.launch_latency))
    passed = passed[(launched >= 0) & (timing.busy_until <= launched)]
    early = passed[(passed < 0) & (passed >= -LARGEST_SKEW_NS)]
    return max(least, int(early.min())) if 2 * len(early) > len(passed) else 0


def _after_waits(timing: LaunchTiming, calls: CallTimes) -> Nanoseconds:
    """Time from the return of each call that waited to the end of what it waited for."""
    row, end = calls.row[calls.waiting], timing.device_events.end[calls.event]
    waited = (end > timing.call_tree.start[row]) & (calls.copy[calls.waiting] != calls.event)
    return np.asarray((end - timing.call_tree.end[row])[waited])


def _after_room(timing: LaunchTiming, calls: CallTimes) -> Nanoseconds:
    """Median time from the return of launches onto a full queue to the events that let them in."""
    returned = timing.call_tree.end[calls.onto_full_queue]
    if not len(returned):
        return returned
    start = timing.device_events.start
    after = np.minimum(np.searchsorted(start, returned), len(start) - 1)
    left, passed = start[after] - returned, returned - start[np.maximum(after - 1, 0)]
    near = np.where(np.abs(left) < np.abs(passed), left, -passed)
    return np.array([median(near) + _LET_IN_NS], np.int64)


# What the own work of a call of the runtime is, by its name and by what it did.


WORK = (
    *("launch", "load", "allocate", "synchronize", "copy", "set", "order", "create", "query"),
    "other",
)
"""Launching; loading the code of kernels; allocating or freeing; returning from a wait; preparing
and staging a copy; setting memory; recording events and ordering streams; creating contexts,
streams, events and graphs; asking for properties or progress; what no name tells."""

_BY_CALL = {
    Call.WAIT: "synchronize",
    Call.COPY: "copy",
    Call.ASYNC_COPY: "copy",
    Call.ALLOCATE: "allocate",
    Call.DEVICE_WAIT: "order",
    Call.LOAD: "load",
}
_BY_NAME = tuple(
    (work, re.compile(pattern))
    for work, pattern in (
        ("set", r"[Mm]emset|[Mm]emFill|MemoryFill"),
        ("query", r"Query|Get[A-Z]|Is[A-Z]|Occupancy|Attribute|Peek|Elapsed"),
        ("create", r"Create|Destroy|Instantiate|Init|Capture|GraphAdd|ExecUpdate|PeerAccess"),
        (
            "launch",
            r"[Ll]aunch|enqueueCommand|Graph\w*Upload|submit|executor|^gif_",
        ),  # last: MTIA's
        ("order", r"EventRecord|recordEvent|Signal|Barrier|WaitValue|WriteValue"),
    )
)


def work_of(name: str, call: Call) -> str:
    """Own work of a call of this name."""
    if call in _BY_CALL:
        return _BY_CALL[call]
    return next((work for work, pattern in _BY_NAME if pattern.search(name)), "other")


def call_work(host: HostRows, call: Int, loads: TreeRow, row: TreeRow) -> Int:
    """Own work of calls, as indices into `WORK`.

    Args:
        host: the host's rows.
        call: `Call` of each row of the call tree.
        loads: calls that loaded the code of kernels, whatever their names.
        row: the calls asked for.
    """
    names, place = unique_inverse(host.string[row] * len(Call) + call[row])
    works = [
        WORK.index(work_of(host.trace.strings[name // len(Call)], Call(name % len(Call))))
        for name in names.tolist()
    ]
    found = np.array(works, np.int64)[place]
    loading = mask_of(loads, len(host))
    found[loading[row]] = WORK.index("load")
    return np.asarray(found)
