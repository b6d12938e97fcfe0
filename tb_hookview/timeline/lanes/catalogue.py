"""The lanes of a trace, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from tb_hookview.analysis.activity import thread_role
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.activity import activity_events
from tb_hookview.arrays.joins import scatter, unique
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.types import EventRow, Int, NameIndex, TreeRow
from tb_hookview.schema.timeline import LaneKind
from tb_hookview.simulation.critical_path import CriticalPath, Part
from tb_hookview.simulation.path_rows import recorded_path
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.timeline.lanes.lane import PATH_NAMES, Colour, Colours, LaneItems, LaneNames
from tb_hookview.timeline.lanes.trace_lanes import (
    Curve,
    RowGroup,
    TraceRows,
    backward_items,
    backward_threads,
    forward_items,
    forward_rows,
    idle_items,
    memory_curve,
    queue_curve,
    step_items,
)
from tb_hookview.trace import EventCategory

# The lane of the critical path: what passed the time of the measured steps, piece by piece.


LOADING, _PAUSE = len(PATH_NAMES) - 2, len(PATH_NAMES) - 1
_LONG_NS = 100_000
"""Host time that is named by what holds it, and not only by the launch at its end."""
_COLOURS = {
    Part.HOST: Colour.HOST,
    Part.DEVICE: Colour.DEVICE,
    Part.LATENCY: Colour.LATENCY,
    Part.PAUSE: Colour.UNEXPLAINED,
    Part.PEERS: Colour.COMMUNICATION,
}
_OF_PART: Colours = np.array([_COLOURS[part] for part in Part], np.uint8)


class PathLane:
    """The critical path of the measured steps; the graph is built on first use.

    Args:
        analysis: the trace.
        simulator: replays these steps.
    """

    def __init__(self, analysis: Analysis, simulator: Simulator) -> None:
        self._analysis, self.simulator = analysis, simulator

    @property
    def refused(self) -> str | None:
        """Why there is none; None where there is one."""
        return self.simulator.refused

    @cached_property
    def recorded(self) -> CriticalPath:
        """The path at recorded times since the start of the window."""
        return recorded_path(self.simulator.unchanged)

    def items(self, names: LaneNames) -> LaneItems:
        """Pieces of the path; the source of an item is its place on it."""
        items = self.items_of(self.recorded, names)
        taken = np.flatnonzero(items.end > items.start)
        return LaneItems(
            items.start[taken], items.end[taken], items.name[taken], items.colour[taken], taken
        )

    def items_of(self, path: CriticalPath, names: LaneNames) -> LaneItems:
        """Pieces of a path of this graph on the trace's clock."""
        loading = np.append(self.simulator.graph.loading, False)[path.edge] & (
            path.part == Part.HOST
        )
        collective = np.append(self._analysis.kinds.kind == COMMUNICATION, False)[path.event]
        colour = _OF_PART[path.part]
        colour[loading] = Colour.DATA
        colour[(path.part == Part.DEVICE) & collective] = Colour.COMMUNICATION
        start = self.simulator.window.start
        name = self._names(path, names)
        name[loading] = names.path + LOADING
        places = np.arange(len(path.part))
        return LaneItems(path.start + start, path.end + start, name, colour, places)

    def _names(self, path: CriticalPath, names: LaneNames) -> NameIndex:
        """Name of each piece: of the device event, of the operator that ran, or of the edge."""
        analysis = self._analysis
        events = analysis.trace.events
        kind = np.append(self.simulator.graph.edges.kind, EdgeKind.HOST)[path.edge]
        name = names.path + kind
        name[path.part == Part.PAUSE] = names.path + _PAUSE
        name[path.part == Part.PEERS] = names.path + EdgeKind.COLLECTIVE
        on_device = (path.part == Part.DEVICE) & (path.event >= 0)
        name[on_device] = events.name[analysis.device_events.event[path.event[on_device]]]
        host = np.flatnonzero(path.part == Part.HOST)
        event = self.host_events(path.edge[host])
        name[host[event >= 0]] = events.name[event[event >= 0]]
        return np.asarray(name)

    def host_events(self, edge: Int) -> EventRow:
        """What the host ran on each edge: an operator, or what holds a long one; -1 for unknown."""
        graph, analysis = self.simulator.graph, self._analysis
        tree, source = analysis.call_tree, graph.edges.source[edge]
        target = graph.edges.target[edge]
        row = self.working_rows(self.leads_to(edge))
        event = lookup(tree.event, row)
        time = graph.nodes.time + self.simulator.window.start
        span = np.stack([time[source], time[target]], axis=1)
        covered = np.minimum(lookup(tree.end, row), span[:, 1]) - np.maximum(
            lookup(tree.start, row), span[:, 0]
        )
        length = span[:, 1] - span[:, 0]
        other = np.flatnonzero((length > _LONG_NS) & ((row < 0) | (2 * covered < length)))
        event[other] = activity_events(
            analysis.host, graph.nodes.thread[target[other]], span[other]
        )
        return event

    def leads_to(self, edge: Int) -> TreeRow:
        """Host row at the target of each edge, -1 for none."""
        return self.rows_at(self.simulator.graph.edges.target[edge])

    def rows_at(self, node: Int) -> TreeRow:
        """Host row at each node, -1 where that is none: a call, or what is around."""
        graph, analysis = self.simulator.graph, self._analysis
        row = np.full(len(node), -1, np.int64)
        host = np.flatnonzero(graph.nodes.thread[node] >= 0)
        moment = graph.nodes.time[node[host]] + self.simulator.window.start
        row[host] = innermost_at(analysis.call_tree, graph.nodes.thread[node[host]], moment)
        sync = scatter(graph.sync_end, graph.sync, len(graph.nodes.time))
        of_sync = lookup(analysis.syncs.row, sync[node])
        return np.where(of_sync >= 0, of_sync, row)

    def working_rows(self, row: TreeRow) -> TreeRow:
        """Operator in which each row lies; a call in none by itself, -1 for anything else."""
        operator = lookup(self._operators, row)
        kind = lookup(self._analysis.host.kind, row)
        call = kind == int(EventCategory.RUNTIME)
        return np.where((operator >= 0) | ~call, operator, row)

    @cached_property
    def _operators(self) -> TreeRow:
        analysis = self._analysis
        return analysis.call_tree.nearest(analysis.host.kind == int(EventCategory.OPERATOR))


@dataclass(frozen=True)
class LaneEntry:
    """A lane before it is made."""

    kind: LaneKind
    group: str
    title: str
    subtitle: str
    items: Callable[[], LaneItems] | None = None
    curve: Callable[[], Curve] | None = None
    """Of a queue or of memory, which are curves and have no items."""
    thread: int = -1
    """Thread of the trace that the lane is of, -1 for none."""
    row_group: RowGroup | None = None
    """Group of the rows that it shows; None where its items are our own."""
    thread_name: str | None = None
    """Thread of the host, as the report's rows name it."""
    device: str | None = None
    stream: str | None = None
    late: bool = False
    """Whether it is made only when it is asked for by itself, as that takes long."""
    note: str | None = None
    """Why it shows nothing."""


def list_lanes(
    analysis: Analysis, names: LaneNames, rows: TraceRows, path: PathLane
) -> list[LaneEntry]:
    """All lanes of a trace."""
    steps = partial(step_items, analysis, names)
    return [
        LaneEntry("steps", "", "Steps", "phases below", steps),
        _path(path, names),
        *_devices(analysis, names, rows),
        *_modules(analysis, names),
        *_threads(analysis, rows),
        *_memory(analysis),
        *_rest(analysis, rows),
    ]


def _path(path: PathLane, names: LaneNames) -> LaneEntry:
    """The critical path; why there is none, where the trace is not replayed."""
    lane = LaneEntry("path", "", "critical path", "of the measured steps", late=True)
    if path.refused is not None:
        return replace(lane, note=f"no critical path: {path.refused}")
    return replace(lane, items=partial(path.items, names))


def _modules(analysis: Analysis, names: LaneNames) -> Iterator[LaneEntry]:
    forward = unique(analysis.call_tree.thread[forward_rows(analysis)])
    items = partial(forward_items, analysis, names)
    yield from _lanes_of_modules(analysis, "forward", forward.tolist(), items)
    items = partial(backward_items, analysis, names)
    yield from _lanes_of_modules(analysis, "backward", backward_threads(analysis).tolist(), items)


def _lanes_of_modules(
    analysis: Analysis, kind: LaneKind, threads: list[int], items: Callable[[int], LaneItems]
) -> Iterator[LaneEntry]:
    """One lane for each thread, which is named where there are several."""
    for thread in threads:
        label = thread_label(analysis, thread) if len(threads) > 1 else ""
        title = f"{kind}, {label}" if label else kind
        lane = LaneEntry(kind, "Modules", title, "", partial(items, thread), thread=thread)
        yield replace(lane, thread_name=thread_name(analysis, thread))


_TITLES = {
    "forward": "forward thread",
    "backward": "autograd thread",
    "data": "data thread",
    "other": "thread",
}
"""Title of a thread by its role, in the order in which threads come."""


def _threads(analysis: Analysis, rows: TraceRows) -> Iterator[LaneEntry]:
    """Lanes of host threads: the training one first, then by role, the fullest first."""
    host, python = rows.groups(RowGroup.HOST), rows.groups(RowGroup.PYTHON)
    roles = {thread: thread_role(analysis, thread) for thread in {*host, *python}}
    order = list(_TITLES)

    def rank(thread: int) -> tuple[int, int, int]:
        return order.index(roles[thread]), -host.get(thread, 0), -python.get(thread, 0)

    main = min((t for t in roles if roles[t] in ("forward", "other")), key=rank, default=-1)
    for thread in sorted(roles, key=lambda t: (t != main, rank(t))):
        title = "main thread" if thread == main else _TITLES[roles[thread]]
        label = thread_label(analysis, thread)
        name = thread_name(analysis, thread)
        for group, subtitle in (
            (RowGroup.HOST, label),
            (RowGroup.PYTHON, f"Python stack, {label}"),
        ):
            if thread in rows.groups(group):
                lane = LaneEntry("host", "Host", title, subtitle, thread_name=name)
                yield _with_rows(lane, rows, thread, group)


def _devices(analysis: Analysis, names: LaneNames, rows: TraceRows) -> Iterator[LaneEntry]:
    device_events, threads = analysis.device_events, analysis.trace.threads
    devices = unique(device_events.device).tolist()
    streams = {
        device: unique(device_events.stream[device_events.device == device]).tolist()
        for device in devices
    }
    shown: set[int] = set()
    for device, found in streams.items():
        for thread in sorted(found, key=lambda t: -rows.groups(RowGroup.DEVICE)[t]):
            if thread not in shown:
                shown.add(thread)
                stream = threads[thread].stream
                title = f"Device {device}"
                lane = LaneEntry("device", title, title, f"stream {stream}", device=str(device))
                lane = _with_rows(lane, rows, thread, RowGroup.DEVICE)
                yield replace(lane, stream=stream)
    for device in devices:
        items = partial(idle_items, analysis, names, device)
        group, subtitle = f"Device {device}", f"device {device}, by cause"
        yield LaneEntry("idle", group, "device idle", subtitle, items, device=str(device))
    for device in devices:
        if ((device_events.device == device) & (device_events.launch >= 0)).any():
            curve = partial(queue_curve, analysis, device)
            subtitle = f"device {device}, launches"
            group, number = f"Device {device}", str(device)
            yield LaneEntry("queue", group, "queue depth", subtitle, curve=curve, device=number)


def _memory(analysis: Analysis) -> Iterator[LaneEntry]:
    """Bytes allocated and reserved, of each device of which the trace knows them."""
    if analysis.memory is None:
        return
    events = analysis.memory.events
    for number, device in enumerate(events.devices):
        for what, total in (("allocated", events.allocated), ("reserved", events.reserved)):
            if (total[events.of(number)] >= 0).any():
                curve = partial(memory_curve, analysis, events, total, number)
                yield LaneEntry(
                    "memory", "Memory", f"memory {what}", f"bytes, {device}", curve=curve
                )


_REST = {
    EventCategory.DEVICE_ANNOTATION: "annotations on the device",
    EventCategory.OVERHEAD: "the profiler's overhead",
    EventCategory.SPAN: "the profiler's window",
    EventCategory.OTHER: "of a category not known here",
}


def _rest(analysis: Analysis, rows: TraceRows) -> Iterator[LaneEntry]:
    for thread in rows.groups(RowGroup.REST):
        kinds = unique(analysis.trace.events.kind[rows.rows(thread, RowGroup.REST)]).tolist()
        subtitle = ", ".join(_REST[EventCategory(kind)] for kind in kinds)
        title = thread_label(analysis, thread)
        of_host = not analysis.host.device_threads[thread]
        name = thread_name(analysis, thread) if of_host else None
        lane = LaneEntry("annotations", "Other", title, subtitle, thread_name=name)
        yield _with_rows(lane, rows, thread, RowGroup.REST)


def _with_rows(lane: LaneEntry, rows: TraceRows, thread: int, group: RowGroup) -> LaneEntry:
    """The lane with the rows of one thread and group as its items."""
    items = partial(rows.items, thread, group)
    return replace(lane, items=items, thread=thread, row_group=group)


def thread_name(analysis: Analysis, thread: int) -> str:
    """Name of a thread as in the report's rows: its number where it has none."""
    found = analysis.trace.threads[thread]
    return found.name or found.tid


def thread_label(analysis: Analysis, thread: int) -> str:
    """Name of a thread as shown to people."""
    return thread_name(analysis, thread).strip()


def lane_of_rows(entries: list[LaneEntry], rows: TraceRows, count: int) -> Int:
    """Lane that holds each row of `Events`, shape (count,)."""
    lane = np.full(count, -1, np.int64)
    for number, entry in enumerate(entries):
        if entry.row_group is not None:
            lane[rows.rows(entry.thread, entry.row_group)] = number
    return lane
