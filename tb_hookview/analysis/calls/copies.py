"""Copies that hold the host: they return only when their memory may be used again.

Which do depends on the memory at their ends, and on the vendor:

- synchronous copies do (`cudaMemcpy`, `hipMemcpyWithStream`)
- an asynchronous one to pageable memory returns when it is done
- one from pageable memory is staged: the host puts it piece by piece into pinned memory, from where
  the device takes it. The call returns as the last piece is staged, tens of microseconds before the
  device has it all. Small ones are taken along at once, and hold nobody

HIP and XPU do not say whether memory is pinned. So the copy itself decides: its call held the host
if most of the transfer passed in it.

In a trace without device events, an asynchronous copy whose call is far longer than it takes to
queue one held the host, whatever its direction: what it waited for, and for how long, is unknown.

Such a copy waits for the event before it on its stream, if that took the longer part of the time
until the copy began: else the call itself was the reason. After a call that orders streams
(`cudaStreamWaitEvent`) it may be an event of another one.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.calls.part import Part, none
from tb_hookview.analysis.calls.queues import previous_on_stream
from tb_hookview.analysis.device.launch_timing import LaunchTiming
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.arrays.joins import asof, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, EventRow, TreeRow
from tb_hookview.trace import EventCategory

AT_ONCE_NS = 50_000
"""Time within which a copy begins that was queued behind another event of its stream."""
_LONG_NS = 1_000_000
"""Length of a call from which on it did more than queue a copy."""
_MOST = 0.5
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
    is_copy = timing.host.trace.events.kind[device_events.event] == EventCategory.COPY
    rows = np.flatnonzero(is_copy & (device_events.launch >= 0))
    launch, start, end = (
        column[rows] for column in (device_events.launch, device_events.start, device_events.end)
    )
    unpinned = _named(timing.host, device_events.event[rows], _UNPINNED)
    to_pageable = _named(timing.host, device_events.event[rows], _TO_PAGEABLE)
    passed = np.minimum(tree.end[launch], end) - start
    most = (tree.end[launch] >= start) & (passed >= _MOST * (end - start))
    asynchronous = (timing.call[launch] == Call.ASYNC_COPY) & (to_pageable | (unpinned & most))
    held = (timing.call[launch] == Call.COPY) | asynchronous
    return Copies(rows, launch, unpinned, held)


def _named(host: HostRows, event: EventRow, pattern: re.Pattern[str]) -> Bool:
    name, place = unique_inverse(host.trace.events.name[event])
    found = [pattern.search(host.trace.strings[text]) is not None for text in name.tolist()]
    return np.asarray(np.array(found, bool)[place])


def of_copies(timing: LaunchTiming, copies: Copies, skew: int) -> Part:
    """Divide the calls of copies that held the host."""
    device_events, tree = timing.device_events, timing.call_tree
    copy_of = np.full(len(tree), -1, np.int64)
    copy_of[copies.launch[copies.held]] = copies.event[copies.held]
    row = np.flatnonzero(copy_of >= 0)
    copy, start, end = copy_of[row], tree.start[row], tree.end[row]
    begins, ahead = device_events.start[copy], _ahead(timing, row, copy, skew)
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


def _ahead(
    timing: LaunchTiming, row: TreeRow, copy: DeviceEventIndex, skew: int
) -> DeviceEventIndex:
    """The event that each copy began after, -1 for none."""
    device_events = timing.device_events
    ahead = previous_on_stream(device_events)[copy]
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
    tree, launch = timing.call_tree, timing.device_events.launch
    orders = np.flatnonzero(timing.call == Call.DEVICE_WAIT)
    if not len(orders):
        return np.zeros(len(row), bool)
    launches = unique(launch[launch >= 0])
    last = [
        lookup(tree.start[rows], asof(tree.thread[rows], tree.start[rows], *asked))
        for rows in (orders, launches)
        for asked in [(tree.thread[row], tree.start[row] - 1)]
    ]
    return np.asarray(last[0] > last[1])
