"""Calls in which the host waited for the device.

Some always wait (`cudaStreamSynchronize` and its kin, synchronous copies). An asynchronous copy
waits when pageable memory is at one of its ends; whether it did is told by the copy itself: the
call had not returned when the copy was done. torch follows a blocking copy with a synchronize in
the same operator: these two are one wait.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.trace import EventCategory

_DEVICE_WAIT = re.compile(
    r"(cuda|hip|mu|musa)DeviceSynchronize|synchronize(Device)?|aclrtSynchronizeDevice\w*"
)
_UNPINNED = re.compile(r"Pageable|Host|M2D|D2M")
"""In the name of a copy: memory of the host that is not pinned, or (HIP, XPU) may not be."""


class Syncs(Struct, frozen=True):
    """Waits of the host, ordered by start; arrays of shape (w,)."""

    row: Int
    """Forest row of the call that held the longest part of the wait."""
    start: Int
    end: Int
    """Nanoseconds, from the start of the first call of the wait to the end of the last."""
    operator: Int
    """Forest row of the innermost operator around it, -1 for none."""
    by_profiler: Bool
    """The profiler's own call as it starts or stops."""

    def __len__(self) -> int:
        return len(self.row)


def find_syncs(host: HostRows, work: DeviceEvents, call: Int) -> Syncs:
    """Find the host's waits; `call` is what each forest row is (`Call`)."""
    waits = (call == Call.WAIT) | (call == Call.COPY)
    waits |= (call == Call.ASYNC_COPY) & _outlasts_its_copy(host, work)
    waits &= host.call_tree.nearest_above(waits) < 0  # a wait that another call passes on to
    position = np.flatnonzero(waits)
    around = host.operator_around[position]
    first, last = _groups(call[position], around, host.call_tree.thread[position])
    start, end = host.call_tree.start[position[first]], host.call_tree.end[position[last]]
    longer = host.call_tree.duration[position[last]] >= host.call_tree.duration[position[first]]
    holder = np.where(longer, position[last], position[first])
    order = np.argsort(start, kind="stable")
    holder, operator = holder[order], around[first][order]
    return Syncs(
        row=holder,
        start=start[order],
        end=end[order],
        operator=operator,
        by_profiler=_by_profiler(host, holder, operator),
    )


def _outlasts_its_copy(host: HostRows, work: DeviceEvents) -> Bool:
    """Calls that returned only when a copy they launched, to or from unpinned memory, was done."""
    copies = _unpinned(host, work)
    launch, end = work.launch[copies], work.end[copies]
    result = np.zeros(len(host), bool)
    result[launch[host.call_tree.end[launch] >= end]] = True
    return result


def holds_unpinned(host: HostRows, work: DeviceEvents) -> Bool:
    """Calls that launched a copy to or from unpinned memory: the host may pass it on by itself."""
    result = np.zeros(len(host), bool)
    result[work.launch[_unpinned(host, work)]] = True
    return result


def _unpinned(host: HostRows, work: DeviceEvents) -> Int:
    events, strings = host.trace.events, host.trace.strings
    copies = np.flatnonzero((work.launch >= 0) & (events.kind[work.event] == EventCategory.COPY))
    name, place = unique_inverse(events.name[work.event[copies]])
    unpinned = [_UNPINNED.search(strings[string]) is not None for string in name.tolist()]
    return np.asarray(copies[np.array(unpinned, bool)[place]])


def _groups(call: Int, operator: Int, thread: Int) -> tuple[Int, Int]:
    """First and last row of each wait: a copy and the synchronize after it, in one operator."""
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


def _by_profiler(host: HostRows, position: Int, operator: Int) -> Bool:
    """Device-wide waits outside any operator, after the last operator began or before the first.

    A trace whose last act is the user's own `torch.cuda.synchronize()` looks the same; the
    profiler's then follows it, so only the last (or first) such call counts.
    """
    result = np.zeros(len(position), bool)
    texts = host.trace.strings
    names, place = unique_inverse(host.string[position])
    wide = [_DEVICE_WAIT.fullmatch(texts[name]) is not None for name in names.tolist()]
    outside = np.flatnonzero(np.array(wide, bool)[place] & (operator < 0))
    if not len(outside):
        return result
    operators = host.call_tree.start[host.kind == EventCategory.OPERATOR]
    if not len(operators):
        result[outside[-1]] = True
        return result
    start = host.call_tree.start[position]
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
