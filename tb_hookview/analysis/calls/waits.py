"""Calls that return when the device has done what it was given: synchronizes, and frees.

A synchronize of a device waits for all streams, any other for one of them. A stream that had
earlier work left as the call returned was not waited for, unless by a synchronize of an event: that
waits for what was queued before the event.

A call that frees memory waits for the whole device, with some drivers. It does where the calls of
its name in the trace returned after what was queued for the device as they began.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.calls.part import Part, none
from tb_hookview.analysis.calls.queues import stream_queues
from tb_hookview.analysis.consistency.clocks import LARGEST_SKEW_NS
from tb_hookview.analysis.device.launch_timing import LaunchTiming
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import index_of, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, TreeRow

_WHOLE_DEVICE = re.compile(
    r"(cuda|hip|mu|musa)DeviceSynchronize|synchronize(Device)?|aclrtSynchronizeDevice\w*"
)
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
    return _named(host, row, _WHOLE_DEVICE)


def _named(host: HostRows, row: TreeRow, pattern: re.Pattern[str]) -> Bool:
    """Whether the whole name of each row matches."""
    names, place = unique_inverse(host.string[row])
    found = [pattern.fullmatch(host.trace.strings[name]) is not None for name in names.tolist()]
    return np.asarray(np.array(found, bool)[place])
