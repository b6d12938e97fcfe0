"""Syncs: calls in which the host waited for a device, or for its own copy.

What a call waits for, and for how long, is in `calls/division.py`. torch follows a blocking copy
with a synchronize, in the same operator (in a trace that has any) and with no other call between:
these two are one sync. Clocks of operators and calls may differ by a few microseconds, so that one
of the two lies in the operator next to theirs: then their correlation ids show that they are two
calls in a row.
"""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.calls.division import CallTimes
from tb_hookview.analysis.calls.waits import is_device_wide
from tb_hookview.analysis.host.rows import Call, HostRows
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import index_of, mask_of, scatter, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    Int,
    Intervals,
    Nanoseconds,
    SyncIndex,
    ThreadIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.trace import EventCategory

_PROFILER = re.compile(r"torch[/\\]profiler[/\\]profiler\.py\(")
"""In names of the Python frames in which torch's profiler starts, steps and stops."""
_AT_ONCE_NS = 5000
"""Longest time from the copy to its synchronize, which no other call is between."""
_OUTLASTING_NS = 10_000
"""The same where the copy outlasts the operator in which it begins, or that of its synchronize
begins before the copy ends: the clocks differ."""
_ENDS_WITH_NS = 2000
"""Longest time from the end of a copy to that of its operator in which no synchronize fits."""


class Syncs(Struct, frozen=True, dict=True):
    """Syncs of the host, ordered by start; arrays of shape (w,)."""

    row: TreeRow
    """The call that held the longest part of the sync."""
    start: Nanoseconds
    end: Nanoseconds
    """Start of the first call of the sync, and end of the last; of a call that frees memory, of
    what it waited for; of a wait whose call is not in the trace, the time before `row` began."""
    waited: Nanoseconds
    """The part of it for earlier device work."""
    transfer: Nanoseconds
    """The part of it in which its own copy ran, in the copy's call or in the synchronize after."""
    operator: TreeRow
    """Innermost operator around it, or around its synchronize if it begins before the operator by
    its clock; -1 for none."""
    by_profiler: Bool
    """The profiler's own call as it starts or stops."""
    at_start: Bool
    """The device-wide one before the first operator, whoever called it."""
    blocking_event: DeviceEventIndex
    """The device event that it waited for, or its own copy if that took longer; -1 for none."""
    of_call: SyncIndex
    """Sync that each of `CallTimes` is part of, -1 for none; shape (c,)."""

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


def find_syncs(host: HostRows, call: Int, calls: CallTimes, lasted: Nanoseconds) -> Syncs:
    """Find the host's syncs.

    Args:
        host: the host's rows.
        call: `Call` of each row of the call tree.
        calls: how the time of calls divides.
        lasted: duration of each device event, shape (d,).
    """
    tree, chosen = host.call_tree, _outermost(host, calls)
    row = calls.row[chosen]
    first = np.flatnonzero(~_follows_copy(host, call, row))
    last = np.append(first[1:], len(row))[: len(first)] - 1
    begun = tree.start[row] - calls.before[chosen]
    start, end = begun[first], (begun + calls.blocks[chosen])[last]
    longer = tree.duration[row[last]] >= tree.duration[row[first]]
    order = np.argsort(start, kind="stable")
    of_call = scatter(chosen, np.repeat(index_of(order, len(order)), last - first + 1), len(calls))
    rest = _rest_of_copies(calls, chosen, first, lasted)
    waited, transfer = (
        np.add.reduceat(column, first) if len(first) else column[:0]
        for column in (calls.waited[chosen] - rest, calls.transfer[chosen] + rest)
    )
    early = _begins_before_operator(host, row[first], row[last])
    holder, operator = (
        np.where(choice, row[last], row[first])[order] for choice in (longer, early)
    )
    operator = host.operator_around[operator]
    at_start, at_stop = _at_ends(host, holder, operator)
    by_profiler = (at_start & ~_has_call_before(host, holder)) | at_stop
    by_profiler[by_profiler] = ~_called_by_program(host, holder[by_profiler])
    return Syncs(
        row=holder,
        start=start[order],
        end=end[order],
        waited=waited[order],
        transfer=transfer[order],
        operator=operator,
        by_profiler=by_profiler,
        at_start=at_start,
        blocking_event=_blocking_events(calls, chosen, first)[order],
        of_call=of_call,
    )


def _outermost(host: HostRows, calls: CallTimes) -> Int:
    """Calls that are syncs, but those that another one passes on to."""
    found = np.flatnonzero(calls.blocks >= 0)
    row, tree = calls.row[found], host.call_tree
    above = tree.nearest_above(mask_of(row, len(host)))[row]
    return found[(above < 0) | (lookup(tree.end, above) <= tree.start[row])]


def _follows_copy(host: HostRows, call: Int, row: TreeRow) -> Bool:
    """Whether each sync's call is a synchronize right after the copy before it."""
    operator, thread = host.operator_around[row], host.call_tree.thread[row]
    before = np.append(0, np.cumsum(host.kind == EventCategory.RUNTIME))
    done = np.minimum(host.call_tree.subtree_end[row[:-1]], row[1:])
    between = before[row[1:]] - before[done]
    copy = (call[row[:-1]] == Call.COPY) | (call[row[:-1]] == Call.ASYNC_COPY)
    follows = copy & (call[row[1:]] == Call.WAIT) & (between == 0) & (thread[1:] == thread[:-1])
    unknown = not (host.kind == EventCategory.OPERATOR).any()
    same = ((operator[1:] >= 0) | unknown) & (operator[1:] == operator[:-1])
    follows &= same | follow_at_once(host, row[:-1], row[1:])
    return np.append(False, follows)[: len(row)]


def _rest_of_copies(calls: CallTimes, chosen: Int, first: Int, lasted: Nanoseconds) -> Nanoseconds:
    """Time of each synchronize in which the copy that it follows in its sync still ran.

    The call of a copy from pageable memory returns before the device has all of it.
    """
    own = np.append(-1, calls.copy[chosen][:-1])[: len(chosen)]
    own[first] = -1
    mine = (own >= 0) & (calls.ahead[chosen] == own)
    return np.where(mine, np.minimum(calls.waited[chosen], lookup(lasted, own)), 0)


def follow_at_once(host: HostRows, first: TreeRow, then: TreeRow) -> Bool:
    """Whether, of each pair of calls in operators, one is the next of its process after the other,
    and at once. The second may be after the operator that the first ends with, or outlasts, and
    the first may begin before that of the second does."""
    tree, correlation, around = host.call_tree, host.trace.events.correlation, host.operator_around
    before, after = correlation[tree.event[first]], correlation[tree.event[then]]
    beyond = tree.end[first] - lookup(tree.end, around[first])
    inside = (around[first] >= 0) & ((around[then] >= 0) | (beyond >= -_ENDS_WITH_NS))
    early = _begins_before_operator(host, first, then)
    inside |= early
    most = np.where((beyond > 0) | early, _OUTLASTING_NS, _AT_ONCE_NS)
    at_once = tree.start[then] - tree.end[first] <= most
    return np.asarray(inside & (before >= 0) & (after == before + 1) & at_once)


def _begins_before_operator(host: HostRows, first: TreeRow, then: TreeRow) -> Bool:
    """Whether the operator around the second call of each pair begins while the first runs.

    A call returns before its thread goes on: by the clock of operators it begins in that one.
    """
    tree, begun = host.call_tree, lookup(host.call_tree.start, host.operator_around[then])
    return np.asarray((tree.start[first] < begun) & (begun < tree.end[first]))


def _blocking_events(calls: CallTimes, chosen: Int, first: Int) -> DeviceEventIndex:
    """The event of each sync that took most of it: one waited for, or its own copy."""
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(chosen))))
    time = np.concatenate([calls.waited[chosen], calls.transfer[chosen]])
    event = np.concatenate([calls.ahead[chosen], calls.copy[chosen]])
    order = np.lexsort((event >= 0, time, np.append(group, group)))
    last = np.searchsorted(np.append(group, group)[order], np.arange(len(first)), side="right")
    return lookup(event, order[last - 1]) if len(first) else event[:0]


def _at_ends(host: HostRows, row: TreeRow, operator: TreeRow) -> tuple[Bool, Bool]:
    """Device-wide syncs outside all operators, before the first and after the last began.

    The profiler makes such calls, and a program may: of several the first, or the last, is the
    profiler's, unless the first is not its thread's first call.
    """
    starts, stops = np.zeros(len(row), bool), np.zeros(len(row), bool)
    outside = np.flatnonzero(is_device_wide(host, row) & (operator < 0))
    if not len(outside):
        return starts, stops
    operators = host.call_tree.start[host.kind == EventCategory.OPERATOR]
    if not len(operators):
        stops[outside[-1]] = True
        return starts, stops
    start = host.call_tree.start[row]
    if start[outside[-1]] >= operators.max():
        stops[outside[-1]] = True
    if start[outside[0]] < operators.min():
        starts[outside[0]] = True
    return starts, stops


def _has_call_before(host: HostRows, row: TreeRow) -> Bool:
    """Whether another call of the runtime begins before each on its thread: a program runs."""
    calls, tree = np.flatnonzero(host.kind == EventCategory.RUNTIME), host.call_tree
    first = np.full(len(host.trace.threads), np.iinfo(np.int64).max)
    np.minimum.at(first, tree.thread[calls], tree.start[calls])
    return np.asarray(first[tree.thread[row]] < tree.start[row])


def shows_who_synchronizes(frame: str) -> bool:
    """Whether a Python frame of this name is a synchronize, or of torch's profiler."""
    return "synchronize" in frame or _is_profiler(frame)


def _is_profiler(frame: str) -> bool:
    return "profiler" in frame and "torch/" in frame


def _called_by_program(host: HostRows, row: TreeRow) -> Bool:
    """Whether Python frames show that the program itself synchronized in each call."""
    events, tree, texts = host.trace.events, host.call_tree, host.trace.strings
    result, python = np.zeros(len(row), bool), events.kind == EventCategory.PYTHON
    for number, call in enumerate(row.tolist()):
        begun = np.flatnonzero(python & (events.start <= tree.start[call]))
        around = begun[events.start[begun] + events.duration[begun] >= tree.end[call]]
        around = around[events.thread[around] == tree.thread[call]]
        found = [texts[name] for name in events.name[around].tolist()]
        result[number] = any("synchronize" in name for name in found)
        result[number] &= not any(map(_is_profiler, found))
    return result


def recording_times(
    host: HostRows, syncs: Syncs, left_out: Bool | None
) -> tuple[ThreadIndex, Intervals]:
    """Thread and span of each time in which torch's profiler started, stopped or synchronized.

    Also those of some syncs that are left out, shape (s,), as they wait for work from before.
    """
    events, tree, texts = host.trace.events, host.call_tree, host.trace.strings.texts
    named = np.array([_PROFILER.search(text) is not None for text in texts] or [False])
    frames = np.flatnonzero((events.kind == EventCategory.PYTHON) & named[events.name])
    own = np.flatnonzero(syncs.by_profiler if left_out is None else syncs.by_profiler | left_out)
    thread = np.concatenate([events.thread[frames], tree.thread[syncs.row[own]]])
    start = np.concatenate([events.start[frames], syncs.start[own]])
    end = np.concatenate([events.end[frames], syncs.end[own]])
    threads = unique(thread)
    spans = [intervals.of(start[thread == each], end[thread == each]) for each in threads]
    return np.repeat(threads, [len(each) for each in spans]), np.concatenate(
        [intervals.EMPTY, *spans]
    )


def operator_chain(host: HostRows, operator: int) -> list[str]:
    """Names of an operator and the operators and annotations around it, innermost first."""
    chain = []
    while operator >= 0:
        chain.append(host.trace.strings[host.string[operator]])
        operator = int(host.call_tree.parent[operator])
    return chain
