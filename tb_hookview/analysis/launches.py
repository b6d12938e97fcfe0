"""Device events to the host calls that launched them, by correlation id."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.forest import Forest, lookup
from tb_hookview.analysis.joins import among, match
from tb_hookview.trace import Kind, Trace
from tb_hookview.trace.columns import Bool, Int
from tb_hookview.trace.vocabulary import DEVICE_WORK

_DEVICE_INDEX = re.compile(r"[0-9]{1,9}")


class DeviceWork(Struct, frozen=True, dict=True):
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


def device_work(trace: Trace, forest: Forest) -> DeviceWork:
    """Collect what the devices did, and link it to its launches.

    A launch may own many device events (a graph), and a device event may have no launch in the
    file (it was queued before the window opened); see the format's notes on links.
    """
    events = trace.events
    rows = np.flatnonzero(among(events.kind, [int(kind) for kind in DEVICE_WORK]))
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    calls = np.flatnonzero(
        (events.kind[forest.event] == Kind.RUNTIME) & (events.correlation[forest.event] >= 0)
    )
    found = match(events.correlation[forest.event[calls]], events.correlation[rows])
    found = np.where(events.correlation[rows] >= 0, found, -1)
    start = events.start[rows]
    return DeviceWork(
        event=rows,
        device=_device(trace, rows),
        start=start,
        end=start + events.duration[rows],
        launch=lookup(calls, found),
    )


def device_threads(trace: Trace) -> Bool:
    """Which threads of the trace are a device's: its streams, and what else its process holds.

    Some vendors mirror calls of the host beside the streams; they are not calls once more. The
    process of a host is told by its operators and annotations.
    """
    working = _holding(trace, DEVICE_WORK)
    speaking = _holding(trace, (Kind.OPERATOR, Kind.ANNOTATION))
    places = list(zip(trace.threads, working.tolist(), speaking.tolist(), strict=True))
    devices = {place.pid for place, works, _ in places if works}
    devices -= {place.pid for place, _, speaks in places if speaks}
    return np.asarray(working | np.array([place.pid in devices for place in trace.threads], bool))


def _holding(trace: Trace, kinds: Iterable[Kind]) -> Bool:
    """Which threads hold events of these kinds."""
    wanted = np.zeros(len(Kind), bool)
    wanted[[int(kind) for kind in kinds]] = True
    thread = trace.events.thread[wanted[trace.events.kind]]
    return np.bincount(thread, minlength=len(trace.threads)) > 0


def _device(trace: Trace, rows: Int) -> Int:
    """`args.device`, or the process id of the row, which on device rows is the same number."""
    by_thread = [int(t.pid) if _DEVICE_INDEX.fullmatch(t.pid) else -1 for t in trace.threads]
    pid = np.array(by_thread or [-1], np.int64)[trace.events.thread[rows]]
    stated = trace.events.device[rows]
    return np.where(stated >= 0, stated, pid)
