"""Whether the clocks of host and device agree, and go on.

    host     [launch]          [synchronize]
    device  [event 1]  [event 2                  ]
             began before its launch, ended after the call that waited for it

Between both bounds a device clock may be wrong without a trace.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.consistency.fault import Fault, counted, measured
from tb_hookview.analysis.device.events import DeviceEvents, calls_of
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.arrays.joins import asof, isin, pair_key, running_max, unique
from tb_hookview.arrays.nesting import ROUNDING_NS, lookup
from tb_hookview.arrays.types import Int, Nanoseconds, TreeRow
from tb_hookview.trace import EventCategory, Trace

LONGEST_BREAK_NS = 3600 * 10**9
"""No step is idle for longer; what a profiler records is over within minutes."""

LARGEST_SKEW_NS = 100_000
"""Difference of clocks up to which it is tolerated; what contradicts them by more is wrong."""

_WHOLE_DEVICE = re.compile(r"(cuda|hip|mu|musa)DeviceSynchronize|cuCtxSynchronize")
_TO_HOST = re.compile(r"DtoH|DeviceToHost")
_STREAM_SYNC = "Stream Sync"


class ClockErrors(Struct, frozen=True):
    """Times by which the clocks of host and device contradict one another, above rounding."""

    before_launch: Nanoseconds
    """From the start of device events to the calls that launched them."""
    after_sync: Nanoseconds
    """From the return of syncs to the end of device events that they waited for."""

    @property
    def skew(self) -> int:
        """Largest difference of the clocks that the trace shows, nanoseconds.

        At least `ROUNDING_NS`; errors above `LARGEST_SKEW_NS` do not count.
        """
        errors = np.concatenate([self.before_launch, self.after_sync])
        return int(errors[errors <= LARGEST_SKEW_NS].max(initial=ROUNDING_NS))

    def faults(self) -> tuple[Fault, ...]:
        """The errors as faults of the trace."""
        return (
            *measured("before-launch", self.before_launch.tolist()),
            *measured("after-sync", self.after_sync.tolist()),
        )


def clock_errors(host: HostRows, device_events: DeviceEvents, calls: Int) -> ClockErrors:
    """Compare device events with the calls that launched them and with syncs.

    Of syncs are checked: those of a whole device, where the trace has one device; those of a
    stream, where `cuda_sync` rows name it; and synchronous copies to the host.
    """
    launched = device_events.launch >= 0
    began = host.call_tree.start[device_events.launch[launched]]
    lead = began - device_events.start[launched]
    late = np.concatenate(
        [
            _late_for_device(host, device_events),
            _late_for_stream(host, device_events),
            _late_for_copy(host, device_events, calls),
        ]
    )
    return ClockErrors(lead[lead > ROUNDING_NS], late[late > ROUNDING_NS])


def clock_jumps(trace: Trace, begin: int, end: int) -> tuple[Fault, ...]:
    """Spans of `LONGEST_BREAK_NS` and more without an event, between two bounds."""
    if end - begin < LONGEST_BREAK_NS:
        return ()
    events = trace.events
    inside = (events.start >= begin) & (events.end <= end)
    order = np.argsort(events.start[inside], kind="stable")
    start, stop = events.start[inside][order], events.end[inside][order]
    breaks = start[1:] - np.maximum.accumulate(stop)[:-1]
    return counted("clock-jump", int(np.count_nonzero(breaks >= LONGEST_BREAK_NS)))


def _late_for_device(host: HostRows, device_events: DeviceEvents) -> Nanoseconds:
    if len(unique(device_events.device)) != 1:
        return np.zeros(0, np.int64)
    rows = host.named(_WHOLE_DEVICE.fullmatch)
    return _lateness(host, device_events, rows, np.zeros(len(rows), np.int64), None)


def _late_for_stream(host: HostRows, device_events: DeviceEvents) -> Nanoseconds:
    syncs, trace = host.trace.cuda_syncs, host.trace
    if not len(syncs.kind):
        return np.zeros(0, np.int64)
    named = np.array([kind == _STREAM_SYNC for kind in syncs.kind], bool) & (syncs.stream >= 0)
    call = calls_of(trace, host.call_tree, syncs.correlation, trace.events.start[syncs.event])
    wanted = np.flatnonzero(named & (call >= 0))
    # The row lies on the stream that it is about, on a lane of its own since 2026.
    streams = [thread.stream for thread in trace.threads]
    stream = np.array([int(s) if s.isdecimal() and len(s) < 10 else -1 for s in streams], np.int64)
    key = pair_key(device_events.device + 1, lookup(stream, device_events.stream) + 1)
    asked = pair_key(syncs.device[wanted] + 1, syncs.stream[wanted] + 1)
    return _lateness(host, device_events, call[wanted], asked, key)


def _lateness(
    host: HostRows, device_events: DeviceEvents, rows: TreeRow, asked: Int, key: Int | None
) -> Nanoseconds:
    """Time from the return of each sync to the last end of what was launched before it.

    Args:
        rows: the syncs.
        asked: what each waits for, among the keys.
        key: of each device event; None: all are waited for.
    """
    if not len(rows):
        return rows
    launched = np.flatnonzero(device_events.launch >= 0)
    keys = np.zeros(len(device_events), np.int64) if key is None else key
    given = host.call_tree.end[device_events.launch[launched]]
    order = launched[np.lexsort((given, keys[launched]))]
    last = running_max(keys[order], device_events.end[order])
    given = host.call_tree.end[device_events.launch[order]]
    found = asof(keys[order], given, asked, host.call_tree.start[rows])
    return np.where(found >= 0, lookup(last, found) - host.call_tree.end[rows], 0)


def _late_for_copy(host: HostRows, device_events: DeviceEvents, calls: Int) -> Nanoseconds:
    events, texts = host.trace.events, host.trace.strings
    copies = np.flatnonzero(
        (events.kind[device_events.event] == EventCategory.COPY)
        & (lookup(calls, device_events.launch) == Call.COPY)
    )
    name = events.name[device_events.event[copies]].astype(np.int64)
    to_host = [number for number in unique(name).tolist() if _TO_HOST.search(texts[number])]
    copies = copies[isin(name, to_host)]
    return device_events.end[copies] - host.call_tree.end[device_events.launch[copies]]
