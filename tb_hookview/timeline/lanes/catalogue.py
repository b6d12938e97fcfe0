"""Which lanes a trace has, in the order in which they are shown, and what each is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.thread_roles import thread_role
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Int
from tb_hookview.timeline.lanes.curves import Curve
from tb_hookview.timeline.lanes.device_lanes import idle_items, queue_curve
from tb_hookview.timeline.lanes.lane import LaneItems
from tb_hookview.timeline.lanes.module_lanes import (
    backward_items,
    backward_threads,
    forward_items,
    forward_rows,
)
from tb_hookview.timeline.lanes.names import Names
from tb_hookview.timeline.lanes.step_lane import step_items
from tb_hookview.timeline.lanes.trace_lanes import RowGroup, TraceRows
from tb_hookview.trace import EventCategory


@dataclass(frozen=True)
class Entry:
    """A lane before it is made."""

    kind: str
    """ "steps", "forward", "backward", "host", "device", "idle", "queue" or "annotations"."""
    group: str
    title: str
    subtitle: str
    items: Callable[[], LaneItems] | None = None
    curve: Callable[[], Curve] | None = None
    """Of a queue, which is a curve and has no items."""
    thread: int = -1
    """Thread of the trace that the lane is of, -1 for none."""
    sort: RowGroup | None = None
    """Which rows of that thread it holds; None where its items are our own."""


def list_lanes(analysis: Analysis, names: Names, rows: TraceRows) -> list[Entry]:
    """All lanes of a trace."""
    steps = partial(step_items, analysis, names)
    return [
        Entry("steps", "", "Steps", "phases below", steps),
        *_modules(analysis, names),
        *_threads(analysis, rows),
        *_devices(analysis, names, rows),
        *_rest(analysis, rows),
    ]


def _modules(analysis: Analysis, names: Names) -> Iterator[Entry]:
    forward = unique(analysis.call_tree.thread[forward_rows(analysis)])
    backward = backward_threads(analysis)
    for kind, threads, items in (
        ("forward", forward, forward_items),
        ("backward", backward, backward_items),
    ):
        for thread in threads.tolist():
            label = thread_label(analysis, thread) if len(threads) > 1 else ""
            title = f"{kind}, {label}" if label else kind
            made = partial(items, analysis, names, thread)
            yield Entry(kind, "Modules", title, "", made, thread=thread)


_TITLES = {
    "forward": "forward thread",
    "backward": "autograd thread",
    "data": "data thread",
    "other": "thread",
}
"""Title of a thread by its role, in the order in which threads come."""


def _threads(analysis: Analysis, rows: TraceRows) -> Iterator[Entry]:
    """Lanes of host threads: the one that trains first, of one role the fullest first."""
    host, python = rows.groups(RowGroup.HOST), rows.groups(RowGroup.PYTHON)
    roles = {thread: thread_role(analysis, thread) for thread in {*host, *python}}
    order = list(_TITLES)

    def rank(thread: int) -> tuple[int, int, int]:
        return order.index(roles[thread]), -host.get(thread, 0), -python.get(thread, 0)

    main = min((t for t in roles if roles[t] in ("forward", "other")), key=rank, default=-1)
    for thread in sorted(roles, key=lambda t: (t != main, rank(t))):
        title = "main thread" if thread == main else _TITLES[roles[thread]]
        label = thread_label(analysis, thread)
        for sort, subtitle in ((RowGroup.HOST, label), (RowGroup.PYTHON, f"Python stack, {label}")):
            if thread in rows.groups(sort):
                yield _trace_lane("host", "Host", title, subtitle, rows, thread, sort)


def _devices(analysis: Analysis, names: Names, rows: TraceRows) -> Iterator[Entry]:
    work, threads = analysis.device_events, analysis.trace.threads
    labels = {device.id: device.name for device in analysis.trace.devices}
    devices = unique(work.device).tolist()
    streams = {device: unique(work.stream[work.device == device]).tolist() for device in devices}
    shown: set[int] = set()
    for device, found in streams.items():
        for thread in sorted(found, key=lambda t: -rows.groups(RowGroup.DEVICE)[t]):
            if thread not in shown:
                shown.add(thread)
                stream = f"stream {threads[thread].stream}"
                group = f"Device {device}"
                yield _trace_lane("device", group, group, stream, rows, thread, RowGroup.DEVICE)
    for device in devices:
        items = partial(idle_items, analysis, names, device)
        subtitle = f"by cause, device {device} {labels.get(device, '')}".rstrip()
        yield Entry("idle", f"Device {device}", "device idle", subtitle, items)
    for device in devices:
        if ((work.device == device) & (work.launch >= 0)).any():
            curve = partial(queue_curve, analysis, device)
            subtitle = f"outstanding launches, device {device}"
            yield Entry("queue", f"Device {device}", "queue depth", subtitle, curve=curve)


_REST = {
    EventCategory.DEVICE_ANNOTATION: "annotations on the device",
    EventCategory.OVERHEAD: "the profiler's overhead",
    EventCategory.SPAN: "the profiler's window",
    EventCategory.OTHER: "of a category not known here",
}


def _rest(analysis: Analysis, rows: TraceRows) -> Iterator[Entry]:
    for thread in rows.groups(RowGroup.REST):
        kinds = unique(analysis.trace.events.kind[rows.rows(thread, RowGroup.REST)]).tolist()
        subtitle = ", ".join(_REST[EventCategory(kind)] for kind in kinds)
        title = thread_label(analysis, thread)
        yield _trace_lane("annotations", "Other", title, subtitle, rows, thread, RowGroup.REST)


def _trace_lane(
    kind: str, group: str, title: str, subtitle: str, rows: TraceRows, thread: int, sort: RowGroup
) -> Entry:
    items = partial(rows.items, thread, sort)
    return Entry(kind, group, title, subtitle, items, thread=thread, sort=sort)


def thread_label(analysis: Analysis, thread: int) -> str:
    """Name of a thread, or its number where it has none."""
    place = analysis.trace.threads[thread]
    return (place.name or place.tid).strip()


def lane_of_rows(entries: list[Entry], rows: TraceRows, count: int) -> Int:
    """Lane that holds each row of `Events`, shape (count,)."""
    lane = np.full(count, -1, np.int64)
    for number, entry in enumerate(entries):
        if entry.sort is not None:
            lane[rows.rows(entry.thread, entry.sort)] = number
    return lane
