"""Device events, and the host calls that launched them, by correlation id."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.threads import device_threads
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, first_index, first_of_each, isin, unique
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    DeviceNumber,
    EventRow,
    Int,
    Nanoseconds,
    ThreadIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.trace import EventCategory, Trace
from tb_hookview.trace.format.vocabulary import DEVICE_CATEGORIES

_DEVICE_NUMBER = re.compile(r"[0-9]{1,9}")


class DeviceEvents(Struct, frozen=True, dict=True):
    """Kernels, copies and sets; arrays of shape (d,), ordered by start."""

    event: EventRow
    device: DeviceNumber
    stream: ThreadIndex
    """Thread of the trace that stands for the stream; `Thread.stream` is its name."""
    start: Nanoseconds
    end: Nanoseconds
    launch: TreeRow
    """The launching call, -1 for what was launched before the trace began."""

    def __len__(self) -> int:
        return len(self.event)

    @cached_property
    def duration(self) -> Nanoseconds:
        """End less start."""
        return self.end - self.start

    @cached_property
    def busy(self) -> dict[int, TimeSet]:
        """Time in which each device did anything, by device in ascending order."""
        devices = unique(self.device).tolist()
        return {device: self.time_of(self.device == device) for device in devices}

    @cached_property
    def first_of_device(self) -> Bool:
        """Whether each event is the first of its device."""
        first = np.zeros(len(self), bool)
        first[first_of_each(self.device)] = True
        return first

    def time_of(self, chosen: Bool | DeviceEventIndex) -> TimeSet:
        """Time in which any of the chosen events ran."""
        return intervals.of(self.start[chosen], self.end[chosen])


def find_device_events(trace: Trace, call_tree: CallTree) -> DeviceEvents:
    """Collect what the devices did, and link it to its launches.

    A launch may own many device events (a graph). A device event that was queued before the
    recording began has no launch in the file.
    """
    events = trace.events
    rows = np.flatnonzero(isin(events.kind, [int(kind) for kind in DEVICE_CATEGORIES]))
    rows = _in_time(trace, rows)
    start = events.start[rows]
    return DeviceEvents(
        event=rows,
        device=_device(trace, rows),
        stream=events.thread[rows].astype(np.int64),
        start=start,
        end=start + events.duration[rows],
        launch=calls_of(trace, call_tree, events.correlation[rows], start),
    )


def _in_time(trace: Trace, rows: EventRow) -> EventRow:
    """Events by start, and those of one start by launch and stream, whatever the order of the file.

    With times in whole microseconds many have the same start.
    """
    events = trace.events
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    same = np.diff(events.start[rows]) == 0
    places = np.flatnonzero(np.append(same, False) | np.append(False, same))
    tied = rows[places]
    order = np.lexsort((events.thread[tied], events.correlation[tied], events.start[tied]))
    rows[places] = tied[order]
    return rows


def calls_of(trace: Trace, call_tree: CallTree, correlation: Int, start: Nanoseconds) -> TreeRow:
    """The runtime call of each correlation id, -1 for none.

    An id names one call of the host. Where ids start over within a file (several recordings in
    one), the call is the last one of its id before `start`, when the event with that id began.
    """
    if not len(correlation):
        return np.zeros(0, np.int64)
    calls = np.flatnonzero(_calls(trace, call_tree))
    own = trace.events.correlation[call_tree.event[calls]]
    found = first_index(own, correlation)
    if len(repeated := _repeated(trace, call_tree, calls)):
        host = np.flatnonzero(~device_threads(trace)[call_tree.thread[calls]])
        asked = np.flatnonzero(isin(correlation, repeated))
        began = trace.events.start[call_tree.event[calls[host]]]
        latest = asof(own[host], began, correlation[asked], start[asked])
        found[asked[latest >= 0]] = host[latest[latest >= 0]]
    return lookup(calls, np.where(correlation >= 0, found, -1))


def repeated_launches(trace: Trace, call_tree: CallTree, device_events: DeviceEvents) -> int:
    """Count device events whose correlation id several calls of the host have."""
    calls = np.flatnonzero(_calls(trace, call_tree))
    repeated = _repeated(trace, call_tree, calls)
    return int(np.count_nonzero(isin(trace.events.correlation[device_events.event], repeated)))


def _calls(trace: Trace, call_tree: CallTree) -> Bool:
    """Rows of the call tree that are runtime calls with a correlation id."""
    events = trace.events
    return np.asarray(
        (events.kind[call_tree.event] == EventCategory.RUNTIME)
        & (events.correlation[call_tree.event] >= 0)
    )


def _repeated(trace: Trace, call_tree: CallTree, calls: TreeRow) -> Int:
    """Correlation ids that several calls of the host have."""
    own = trace.events.correlation[call_tree.event[calls]]
    if len(unique(own)) == len(own):
        return own[:0]
    ordered = np.sort(own[~device_threads(trace)[call_tree.thread[calls]]])
    return unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _device(trace: Trace, rows: EventRow) -> DeviceNumber:
    """Device by `args.device`, else by the process id of the row."""
    # On device rows both are the same number.
    by_thread = [int(t.pid) if _DEVICE_NUMBER.fullmatch(t.pid) else -1 for t in trace.threads]
    pid = np.array(by_thread or [-1], np.int64)[trace.events.thread[rows]]
    stated = trace.events.device[rows]
    return np.where(stated >= 0, stated, pid)
