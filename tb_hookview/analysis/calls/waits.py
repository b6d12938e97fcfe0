"""Calls that return when the device has done what it was given: synchronizes, and frees.

A synchronize of a device waits for all streams, any other for one of them. A stream that had
earlier work left as the call returned was not waited for, unless by a synchronize of an event: that
waits for what was queued before the event.

A call that frees memory waits for the whole device, with some drivers. It does where the calls of
its name in the trace returned after what was queued for the device as they began.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.consistency.checks import LARGEST_SKEW_NS
from tb_hookview.analysis.device.events import DeviceEvents, LaunchTiming
from tb_hookview.analysis.host.rows import WHOLE_DEVICE, Call, HostRows
from tb_hookview.arrays.joins import (
    asof,
    before,
    index_of,
    isin,
    last_greatest,
    scatter,
    unique,
    unique_inverse,
)
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    EventRow,
    Int,
    Nanoseconds,
    StepIndex,
    TreeRow,
)

# Calls of one sort with their division, and what they wait for.


class Part(NamedTuple):
    """Calls of one sort, shape (c,), and events that they cannot return before, shape (w,)."""

    row: TreeRow
    waited: Nanoseconds
    transfer: Nanoseconds
    ahead: DeviceEventIndex
    """The event that each waited for, -1 for none."""
    copy: DeviceEventIndex
    """The copy that held the host, -1 for none."""
    waiting: Int
    """Index of the call that cannot return before an event; it may have several."""
    event: DeviceEventIndex
    """That event."""


def none(row: TreeRow) -> DeviceEventIndex:
    """No device event for each row."""
    return np.full(len(row), -1, np.int64)


# Device events of each stream in order: which of them were launched, or done, by a moment.


class StreamQueue(Struct, frozen=True):
    """Device events of one stream by start, shape (d,)."""

    launched: Nanoseconds
    """Latest start of a launching call so far; -1 where all were launched before the trace."""
    ended: Nanoseconds
    """Latest end so far."""
    last: DeviceEventIndex
    """The event that ended then."""

    def ahead(
        self, launched: Nanoseconds, ended: Nanoseconds, partly: Bool
    ) -> tuple[DeviceEventIndex, Bool]:
        """Last to end of the events launched before some moments, if all ended by others.

        Args:
            launched: moments that they were launched before, shape (c,).
            ended: moments by which they ended.
            partly: where not all did, whether the last that did is wanted.

        Returns:
            The event, -1 for none, and whether any had not ended.
        """
        place = np.searchsorted(self.launched, launched) - 1
        done = np.searchsorted(self.ended, ended, side="right") - 1
        unfinished = place > done
        place = np.where(unfinished, np.where(partly, done, -1), place)
        return lookup(self.last, place), unfinished


def stream_queues(call_tree: CallTree, device_events: DeviceEvents) -> Sequence[StreamQueue]:
    """Put the events of each stream in order."""
    order = np.argsort(device_events.stream, kind="stable")  # each by start, as all
    bounds = np.flatnonzero(np.diff(device_events.stream[order]))
    launched = lookup(call_tree.start, device_events.launch)
    queues = []
    for rows in np.split(order, bounds + 1) if len(order) else ():
        end = device_events.end[rows]
        latest = last_greatest(end)
        launches = np.maximum.accumulate(launched[rows])
        queues.append(StreamQueue(launches, end[latest], rows[latest]))
    return queues


_OF_EVENT = re.compile(r"\w*Event\w*")
_FREES = re.compile(r"\w*(Free|Unregister|Unmap|Release)\w*")
_CERTAIN = 100
"""Multiple of the time from its return to an event's end that a wait has to last, for the event to
be no other than that it waited for."""
_MOST = 0.9
"""Share of frees of a name that have to return after what was queued, for all of them to wait."""


class _Ahead(NamedTuple):
    """What was ahead of each call on all streams, shape (c,)."""

    event: DeviceEventIndex
    """The last to end, -1 for none."""
    unfinished: Bool
    """Whether earlier work of any stream had not ended as the call returned."""
    waiting: Int
    """Index of the call of each event that was the last of a stream, shape (w,)."""
    each: DeviceEventIndex
    """That event."""


def of_syncs(timing: LaunchTiming, row: TreeRow, skew: int) -> Part:
    """Divide calls that always wait."""
    whole, of_event = is_device_wide(timing.host, row), _named(timing.host, row, _OF_EVENT)
    found = _ahead(timing, row, of_event, skew)
    every = whole[found.waiting]
    single = np.flatnonzero(~whole & (found.event >= 0))
    return _part(
        timing,
        row,
        found.event,
        np.concatenate([found.waiting[every], single]),
        np.concatenate([found.each[every], found.event[single]]),
    )


def of_frees(timing: LaunchTiming, row: TreeRow, skew: int) -> Part:
    """Divide calls that free memory, as far as those of their names wait."""
    row = row[is_free(timing.host, row)]
    found = _ahead(timing, row, np.zeros(len(row), bool), skew)
    queued = lookup(timing.device_events.end, found.event) > timing.call_tree.start[row]
    names, name = unique_inverse(timing.host.string[row])
    waited = np.bincount(name, queued & ~found.unfinished, minlength=len(names))
    asked = np.bincount(name, queued | found.unfinished, minlength=len(names))
    waits = ((waited >= _MOST * asked) & (asked > 0))[name] & ~found.unfinished
    chosen = np.flatnonzero(waits)
    place = index_of(chosen, len(row))
    mine = waits[found.waiting]
    return _part(
        timing, row[chosen], found.event[chosen], place[found.waiting[mine]], found.each[mine]
    )


def _part(
    timing: LaunchTiming,
    row: TreeRow,
    ahead: DeviceEventIndex,
    waiting: Int,
    event: DeviceEventIndex,
) -> Part:
    start, end = timing.call_tree.start[row], timing.call_tree.end[row]
    waited = np.maximum(np.minimum(lookup(timing.device_events.end, ahead), end) - start, 0)
    waited[ahead < 0] = 0
    return Part(row, waited, np.zeros(len(row), np.int64), ahead, none(row), waiting, event)


def _ahead(timing: LaunchTiming, row: TreeRow, partly: Bool, skew: int) -> _Ahead:
    """What was ahead of calls; it ended by their return, give or take the skew."""
    start, end = timing.call_tree.start[row], timing.call_tree.end[row]
    late = np.maximum(np.minimum((end - start) // _CERTAIN, LARGEST_SKEW_NS), skew)
    best, unfinished = none(row), np.zeros(len(row), bool)
    waiting, each = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for queue in stream_queues(timing.call_tree, timing.device_events) if len(row) else ():
        event, left = queue.ahead(start, end + late, partly)
        unfinished |= left
        there = np.flatnonzero(event >= 0)
        waiting.append(there)
        each.append(event[there])
        ended = lookup(timing.device_events.end, event)
        later = (event >= 0) & ((best < 0) | (ended > lookup(timing.device_events.end, best)))
        best = np.where(later, event, best)
    return _Ahead(best, unfinished, np.concatenate(waiting), np.concatenate(each))


def is_free(host: HostRows, row: TreeRow) -> Bool:
    """Whether each call frees memory."""
    return _named(host, row, _FREES)


def is_device_wide(host: HostRows, row: TreeRow) -> Bool:
    """Whether each call waits for a whole device."""
    return _named(host, row, WHOLE_DEVICE)


def _named(host: HostRows, row: TreeRow, pattern: re.Pattern[str]) -> Bool:
    """Whether the whole name of each row matches."""
    return host.trace.strings.map(host.string[row], pattern.fullmatch, bool)


# Copies that hold the host: they return only when their memory may be used again.
#
# Which do depends on the memory at their ends, and on the vendor:
#
# - synchronous copies do (`cudaMemcpy`, `hipMemcpyWithStream`)
# - an asynchronous one to pageable memory returns when it is done
# - one from pageable memory is staged: the host puts it piece by piece into pinned memory, from
# where
#   the device takes it. The call returns as the last piece is staged, tens of microseconds before
# the
#   device has it all. Small ones are taken along at once, and hold nobody
#
# HIP and XPU do not say whether memory is pinned. So the copy itself decides: its call held the
# host if most of the transfer passed in it.
#
# In a trace without device events, an asynchronous copy whose call is far longer than it takes to
# queue one held the host, whatever its direction: what it waited for, and for how long, is unknown.
#
# Such a copy waits for the event before it on its stream, if that took the longer part of the time
# until the copy began: else the call itself was the reason. After a call that orders streams
# (`cudaStreamWaitEvent`) it may be an event of another one.


AT_ONCE_NS = 50_000
"""Time within which a copy begins that was queued behind another event of its stream."""
_LONG_NS = 1_000_000
"""Length of a call from which on it did more than queue a copy."""
_MOST_COPIES = 0.5
"""Share of a transfer that has to pass within its call for this to have held the host."""
_UNPINNED = re.compile(r"Pageable|Host|M2D|D2M")
"""Host memory in a copy's name that is or (HIP, XPU) may be unpinned."""
_TO_PAGEABLE = re.compile(r"Device -> Pageable")


class Copies(Struct, frozen=True):
    """Copies whose call is known; arrays of shape (c,), by device event."""

    event: DeviceEventIndex
    launch: TreeRow
    unpinned: Bool
    """Whether memory of the host at one of its ends is, or may be, unpinned."""
    held: Bool
    """Whether the call returned only when it was done with the host's memory."""


def find_copies(timing: LaunchTiming) -> Copies:
    """Find copies, and whether each held the host."""
    device_events, tree = timing.device_events, timing.call_tree
    rows = np.flatnonzero(device_events.is_copy & (device_events.launch >= 0))
    launch, start, end = (
        column[rows] for column in (device_events.launch, device_events.start, device_events.end)
    )
    unpinned = _named_copies(timing.host, device_events.event[rows], _UNPINNED)
    to_pageable = _named_copies(timing.host, device_events.event[rows], _TO_PAGEABLE)
    passed = np.minimum(tree.end[launch], end) - start
    most = (tree.end[launch] >= start) & (passed >= _MOST_COPIES * (end - start))
    asynchronous = (timing.call[launch] == Call.ASYNC_COPY) & (to_pageable | (unpinned & most))
    held = (timing.call[launch] == Call.COPY) | asynchronous
    return Copies(rows, launch, unpinned, held)


def _named_copies(host: HostRows, event: EventRow, pattern: re.Pattern[str]) -> Bool:
    return host.trace.strings.map(host.trace.events.name[event], pattern.search, bool)


def of_copies(timing: LaunchTiming, copies: Copies, skew: int) -> Part:
    """Divide the calls of copies that held the host."""
    return _of_own(timing, copies.launch[copies.held], copies.event[copies.held], skew)


def _of_own(timing: LaunchTiming, launch: TreeRow, event: DeviceEventIndex, skew: int) -> Part:
    """Divide calls that return when an event of their own has ended, or mostly."""
    device_events, tree = timing.device_events, timing.call_tree
    copy_of = scatter(launch, event, len(tree))
    row = np.flatnonzero(copy_of >= 0)
    copy, start, end = copy_of[row], tree.start[row], tree.end[row]
    begins, ahead = device_events.start[copy], _ahead_copies(timing, row, copy, skew)
    done = np.where(ahead >= 0, lookup(device_events.end, ahead), start)
    waited = np.maximum(np.minimum(done, end) - start, 0)
    waited[begins - done > np.maximum(AT_ONCE_NS, waited)] = 0
    since = np.maximum(begins, start + waited)
    transfer = np.maximum(np.minimum(device_events.end[copy], end) - since, 0)
    return Part(row, waited, transfer, ahead, copy, np.arange(len(row)), copy)


def of_unseen_copies(timing: LaunchTiming) -> Part:
    """Long copy calls of a trace without device events: nothing of them is known as a wait."""
    long = (timing.call == Call.ASYNC_COPY) & (timing.call_tree.duration >= _LONG_NS)
    row = np.flatnonzero(long) if not len(timing.device_events) else np.zeros(0, np.int64)
    nothing = np.zeros(len(row), np.int64)
    return Part(row, nothing, nothing, none(row), none(row), row[:0], row[:0])


def _ahead_copies(
    timing: LaunchTiming, row: TreeRow, copy: DeviceEventIndex, skew: int
) -> DeviceEventIndex:
    """The event that each copy began after, -1 for none."""
    device_events = timing.device_events
    by_stream = np.argsort(device_events.stream, kind="stable")  # each by start, as all
    ahead = before(device_events.stream, by_stream)[copy]
    ordered = np.flatnonzero(_after_ordering(timing, row))
    if len(ordered):
        device, mine = device_events.device, copy[ordered]
        by = np.minimum(device_events.start[mine] + skew, device_events.end[mine] - 1)
        other = asof(device, device_events.end, device[mine], by)
        later = lookup(device_events.end, other) > lookup(device_events.end, ahead[ordered])
        later &= other >= 0
        ahead[ordered[later]] = other[later]
    return ahead


def _after_ordering(timing: LaunchTiming, row: TreeRow) -> Bool:
    """Whether the thread of each call ordered streams after what it launched before."""
    tree = timing.call_tree
    orders = np.flatnonzero(timing.call == Call.DEVICE_WAIT)
    if not len(orders):
        return np.zeros(len(row), bool)
    last = [
        lookup(tree.start[rows], asof(tree.thread[rows], tree.start[rows], *asked))
        for rows in (orders, timing.device_events.launches)
        for asked in [(tree.thread[row], tree.start[row] - 1)]
    ]
    return np.asarray(last[0] > last[1])


# Launches that return only when what they launched has ended, as with CUDA_LAUNCH_BLOCKING.
#
#     host     [launch              ][launch              ]
#     stream      [kernel         ]     [kernel         ]
#
# They do if nearly all kernels of a trace run within the calls that launch them. A kernel shorter
# than any call may do so without being waited for, so some have to be longer.


_LAUNCHES = 0.98
_KERNELS = 50
"""Part and number of the kernels that must end before their launch returns."""
_LONGER = 10
"""Number of them that must be longer than the shortest launch."""


def of_blocking_launches(timing: LaunchTiming, held: TreeRow, skew: int) -> Part:
    """Divide launches that wait for what they launch, if those of the trace do.

    Args:
        timing: the launches.
        held: calls that are divided already, such as blocking copies.
        skew: difference of the clocks, nanoseconds.
    """
    events, tree = timing.device_events, timing.call_tree
    rows = np.flatnonzero(events.launch >= 0)
    launch = events.launch[rows]
    within = (tree.start[launch] <= events.start[rows]) & (events.end[rows] <= tree.end[launch])
    kernel = events.is_kernel[rows]
    calls, kernels = tree.duration[launch[kernel]], events.duration[rows[kernel]]
    if _wait_for_kernels(calls, kernels, within[kernel]):
        rows = rows[within & ~isin(launch, np.append(held, launch[~within]))]
    else:
        rows = rows[:0]
    rows = rows[np.argsort(events.end[rows], kind="stable")]  # the last to end of each launch
    return _of_own(timing, events.launch[rows], rows, skew)


def _wait_for_kernels(calls: Nanoseconds, kernels: Nanoseconds, within: Bool) -> bool:
    """Whether launches wait, by the durations of calls and kernels and which are within these."""
    if len(calls) < _KERNELS or within.mean() < _LAUNCHES:
        return False
    return bool((kernels > calls.min()).sum() >= _LONGER)


# Waits of torch's caching allocator after an allocation that failed.
#
#     host    [cudaMalloc]                     [cudaFree][cudaFree][cudaMalloc]
#     stream 2   [kernel                      ]
#
# Before it frees what it has cached, the allocator waits for blocks that other streams still use.
# It does so by a call that profilers do not record, so the trace has nothing in between.


_SHORTEST_NS = 50_000
"""Time between the two calls below which it may be the allocator's own work."""


class Retries(Struct, frozen=True):
    """Times between a failed allocation and the first free after it, by row; shape (r,)."""

    row: TreeRow
    """The call that frees."""
    start: Nanoseconds
    """Return of the call that failed."""
    end: Nanoseconds
    """Start of the call that frees."""


def find_retries(timing: LaunchTiming) -> Retries:
    """Find where an operator allocates, does nothing in the trace for long, and frees."""
    host, tree = timing.host, timing.call_tree
    calls = np.flatnonzero(timing.call == Call.ALLOCATE)
    frees = np.zeros(len(host), bool)
    frees[calls] = is_free(host, calls)
    first, then = calls[:-1], calls[1:]
    operator = host.operator_around
    found = ~frees[first] & frees[then] & (tree.subtree_end[first] == then)
    found &= (operator[first] >= 0) & (operator[first] == operator[then])
    found &= tree.start[then] - tree.end[first] >= _SHORTEST_NS
    return Retries(then[found], tree.end[first][found], tree.start[then][found])


# Growth of caching allocators: they keep what they take, so that later steps need no more.


_OF_HOST = re.compile(r"\w*Host\w*")
_WAITING_FREE = re.compile(r"cudaFree|hipFree")
_OF_NOTHING_NS = 20_000
"""A free that returns sooner freed nothing: libraries make such calls as they start. In public
traces they take up to 17 us, and those that free memory 146 us and more."""
_STEPS = 3
"""Fewest measured steps among which what one of them has happens once."""


def frees_memory(host: HostRows, row: TreeRow) -> Bool:
    """Whether each call frees memory, and not nothing."""
    short = host.call_tree.duration[row] < _OF_NOTHING_NS
    return is_free(host, row) & ~(short & _named(host, row, _WAITING_FREE))


def find_growth(timing: LaunchTiming, step: StepIndex, steps: int) -> Bool:
    """Find calls that allocate and that no later step repeats, shape (n,).

    They are of memory, of devices or of the host, that is freed in no measured step and allocated
    in one of three or more at most.

    Args:
        timing: the calls.
        step: measured step of each row of the call tree, -1 for none.
        steps: how many measured steps are marked; 0 where none is, and all is taken to be set-up.
    """
    calls, found = np.flatnonzero(timing.call == Call.ALLOCATE), np.zeros(len(timing.host), bool)
    of_host, frees = _named(timing.host, calls, _OF_HOST), frees_memory(timing.host, calls)
    for kind in (of_host, ~of_host):
        measured = kind & (step[calls] >= 0)
        several = len(unique(step[calls[measured]])) > 1 or steps < _STEPS
        if not (measured & frees).any() and not (steps and several):
            found[calls[kind & ~frees]] = True
    return found
