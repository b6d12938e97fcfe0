"""Syncs: calls in which the host waited for a device.

Some calls always wait (`cudaStreamSynchronize`, synchronous copies). An asynchronous copy waits
when pageable memory is at one of its ends. Whether it did shows in the copy itself: the call had
not returned when the copy was done. torch follows a blocking copy with a synchronize in the same
operator: these two are one sync.
"""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.analysis.syncs.blocking_event import blocking_events
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    Int,
    Nanoseconds,
    ThreadIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.trace import EventCategory

_WHOLE_DEVICE = re.compile(
    r"(cuda|hip|mu|musa)DeviceSynchronize|synchronize(Device)?|aclrtSynchronizeDevice\w*"
)
_UNPINNED = re.compile(r"Pageable|Host|M2D|D2M")
"""Host memory in a copy's name that is or (HIP, XPU) may be unpinned."""


class Syncs(Struct, frozen=True, dict=True):
    """Syncs of the host, ordered by start; arrays of shape (w,)."""

    row: TreeRow
    """The call that held the longest part of the sync."""
    start: Nanoseconds
    end: Nanoseconds
    """Start of the first call of the sync, and end of the last."""
    operator: TreeRow
    """Innermost operator around it, -1 for none."""
    by_profiler: Bool
    """The profiler's own call as it starts or stops."""
    blocking_event: DeviceEventIndex
    """The device event that it waited for, -1 for none."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def duration(self) -> Nanoseconds:
        """End less start."""
        return self.end - self.start

    @cached_property
    def blocked(self) -> TimeSet:
        """Time in which any thread of the host was in a sync that is not the profiler's own."""
        own = ~self.by_profiler
        return intervals.of(self.start[own], self.end[own])


def find_syncs(host: HostRows, device_events: DeviceEvents, call: Int) -> Syncs:
    """Find the host's syncs; `call` is the `Call` of each row of the call tree."""
    waits = (call == Call.WAIT) | (call == Call.COPY)
    waits |= (call == Call.ASYNC_COPY) & _outlasts_its_copy(host, device_events)
    waits &= host.call_tree.nearest_above(waits) < 0  # a wait that another call passes on to
    row = np.flatnonzero(waits)
    around = host.operator_around[row]
    first, last = _groups(call[row], around, host.call_tree.thread[row])
    start, end = host.call_tree.start[row[first]], host.call_tree.end[row[last]]
    longer = host.call_tree.duration[row[last]] >= host.call_tree.duration[row[first]]
    order = np.argsort(start, kind="stable")
    holder = np.where(longer, row[last], row[first])[order]
    operator, start, end = around[first][order], start[order], end[order]
    thread = host.call_tree.thread[holder]
    return Syncs(
        row=holder,
        start=start,
        end=end,
        operator=operator,
        by_profiler=_by_profiler(host, holder, operator),
        blocking_event=blocking_events(host.call_tree, device_events, thread, start, end),
    )


def _outlasts_its_copy(host: HostRows, device_events: DeviceEvents) -> Bool:
    """Calls that returned only when a copy of unpinned memory they launched was done."""
    copies = _unpinned(host, device_events)
    launch, end = device_events.launch[copies], device_events.end[copies]
    result = np.zeros(len(host), bool)
    result[launch[host.call_tree.end[launch] >= end]] = True
    return result


def holds_unpinned(host: HostRows, device_events: DeviceEvents) -> Bool:
    """Calls that launched a copy of unpinned memory, which the host may do by itself."""
    result = np.zeros(len(host), bool)
    result[device_events.launch[_unpinned(host, device_events)]] = True
    return result


def _unpinned(host: HostRows, device_events: DeviceEvents) -> DeviceEventIndex:
    """Copies to or from unpinned memory whose launch is known."""
    events, strings = host.trace.events, host.trace.strings
    copies = np.flatnonzero(
        (device_events.launch >= 0) & (events.kind[device_events.event] == EventCategory.COPY)
    )
    name, place = unique_inverse(events.name[device_events.event[copies]])
    unpinned = [_UNPINNED.search(strings[string]) is not None for string in name.tolist()]
    return np.asarray(copies[np.array(unpinned, bool)[place]])


def _groups(call: Int, operator: TreeRow, thread: ThreadIndex) -> tuple[Int, Int]:
    """Index of the first and last call of each sync.

    A copy and the synchronize after it in one operator are one sync.
    """
    if not len(call):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    joins = (
        (call[1:] == Call.WAIT)
        & (call[:-1] != Call.WAIT)
        & (operator[1:] >= 0)
        & (operator[1:] == operator[:-1])
        & (thread[1:] == thread[:-1])
    )
    starts = np.concatenate([[True], ~joins])
    first = np.flatnonzero(starts)
    last = np.concatenate([first[1:] - 1, [len(call) - 1]])
    return first, last


def _by_profiler(host: HostRows, row: TreeRow, operator: TreeRow) -> Bool:
    """Device-wide syncs outside all operators, before the first or after the last began.

    A trace whose last act is the user's own `torch.cuda.synchronize()` looks the same; the
    profiler's then follows it, so only the last (or first) such call counts.
    """
    result = np.zeros(len(row), bool)
    texts = host.trace.strings
    names, place = unique_inverse(host.string[row])
    wide = [_WHOLE_DEVICE.fullmatch(texts[name]) is not None for name in names.tolist()]
    outside = np.flatnonzero(np.array(wide, bool)[place] & (operator < 0))
    if not len(outside):
        return result
    operators = host.call_tree.start[host.kind == EventCategory.OPERATOR]
    if not len(operators):
        result[outside[-1]] = True
        return result
    start = host.call_tree.start[row]
    if start[outside[-1]] >= operators.max():
        result[outside[-1]] = True
    if start[outside[0]] < operators.min():
        result[outside[0]] = True
    return result


def operator_chain(host: HostRows, operator: int) -> list[str]:
    """Names of an operator and the operators and annotations around it, innermost first."""
    chain = []
    while operator >= 0:
        chain.append(host.trace.strings[host.string[operator]])
        operator = int(host.call_tree.parent[operator])
    return chain
