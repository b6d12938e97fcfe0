"""Device events to the host calls that launched them, by correlation id."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.threads import device_threads
from tb_hookview.arrays.joins import asof, first_index, isin, unique
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.trace import EventCategory, Trace
from tb_hookview.trace.format.vocabulary import DEVICE_WORK

_DEVICE_INDEX = re.compile(r"[0-9]{1,9}")


class DeviceEvents(Struct, frozen=True, dict=True):
    """Kernels, copies and sets; arrays of shape (d,), ordered by start."""

    event: Int
    """Row of `Events`."""
    device: Int
    """Device index as the trace numbers it."""
    start: Int
    end: Int
    launch: Int
    """Forest position of the launching call, -1 for work launched before the trace began."""

    def __len__(self) -> int:
        return len(self.event)

    @cached_property
    def duration(self) -> Int:
        """Nanoseconds."""
        return self.end - self.start


def device_work(trace: Trace, call_tree: CallTree) -> DeviceEvents:
    """Collect what the devices did, and link it to its launches.

    A launch may own many device events (a graph), and a device event may have no launch in the
    file (it was queued before the window opened); see the format's notes on links.
    """
    events = trace.events
    rows = np.flatnonzero(isin(events.kind, [int(kind) for kind in DEVICE_WORK]))
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    calls = np.flatnonzero(_calls(trace, call_tree))
    start = events.start[rows]
    launch = _launches(trace, call_tree, calls, events.correlation[rows], start)
    return DeviceEvents(
        event=rows,
        device=_device(trace, rows),
        start=start,
        end=start + events.duration[rows],
        launch=launch,
    )


def _launches(trace: Trace, call_tree: CallTree, calls: Int, correlation: Int, start: Int) -> Int:
    """Forest position of the launch of each piece of work, -1 for none.

    An id names one call of the host. Where ids begin anew amid a file (several windows in one,
    files put together), the call is the last one of its id before the work began.
    """
    own = trace.events.correlation[call_tree.event[calls]]
    found = first_index(own, correlation)
    if len(repeated := _repeated(trace, call_tree, calls)):
        host = np.flatnonzero(~device_threads(trace)[call_tree.thread[calls]])
        asked = np.flatnonzero(isin(correlation, repeated))
        began = trace.events.start[call_tree.event[calls[host]]]
        latest = asof(own[host], began, correlation[asked], start[asked])
        found[asked[latest >= 0]] = host[latest[latest >= 0]]
    return lookup(calls, np.where(correlation >= 0, found, -1))


def repeated_launches(trace: Trace, call_tree: CallTree, work: DeviceEvents) -> int:
    """Pieces of device work whose correlation id several calls of the host bear."""
    calls = np.flatnonzero(_calls(trace, call_tree))
    repeated = _repeated(trace, call_tree, calls)
    return int(np.count_nonzero(isin(trace.events.correlation[work.event], repeated)))


def _calls(trace: Trace, call_tree: CallTree) -> Bool:
    """Which forest rows are calls with a correlation id."""
    events = trace.events
    return np.asarray(
        (events.kind[call_tree.event] == EventCategory.RUNTIME)
        & (events.correlation[call_tree.event] >= 0)
    )


def _repeated(trace: Trace, call_tree: CallTree, calls: Int) -> Int:
    """Correlation ids that several calls of the host bear."""
    own = trace.events.correlation[call_tree.event[calls]]
    if len(unique(own)) == len(own):
        return own[:0]
    ordered = np.sort(own[~device_threads(trace)[call_tree.thread[calls]]])
    return unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _device(trace: Trace, rows: Int) -> Int:
    """`args.device`, or the process id of the row, which on device rows is the same number."""
    by_thread = [int(t.pid) if _DEVICE_INDEX.fullmatch(t.pid) else -1 for t in trace.threads]
    pid = np.array(by_thread or [-1], np.int64)[trace.events.thread[rows]]
    stated = trace.events.device[rows]
    return np.where(stated >= 0, stated, pid)
