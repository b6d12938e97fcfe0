"""References to events of the timeline, rows of the trace or results, and their summaries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_hookview.arrays.types import Bool, DeviceEventIndex, ItemIndex, Nanoseconds, NodeIndex
from tb_hookview.arrays.units import microseconds
from tb_hookview.schema.timeline import EventSummary
from tb_hookview.timeline.timeline import LanePosition, Timeline
from tb_hookview.trace import EventCategory


@dataclass(frozen=True)
class EventRef:
    """One event; indices are -1 where they do not apply, times nanoseconds."""

    category: str
    start: int
    end: int
    event: int = -1
    """Row of `Events`."""
    row: int = -1
    """Host row: the event itself, or (`module_backward`) its first node."""
    device_event: int = -1
    """Index into `DeviceEvents`."""
    thread: int = -1
    module: int = -1
    """Of the lanes of modules."""
    step: int = -1
    """Of steps themselves."""
    phase: int = -1
    """Of phases themselves."""
    gap: int = -1
    """Row of `Gaps`."""
    piece: int = -1
    """Place on the critical path, of a piece of it."""

    @property
    def is_host_row(self) -> bool:
        """Whether it is one host row, including what is inside it."""
        return self.row >= 0 and self.category not in (SPAN, PIECE)


SPAN = "module_backward"
"""Category of a module's span of the backward pass, which is many rows."""
PIECE = "critical_path"
"""Category of a piece of the critical path; `device_event` or `row` is what ran, or what it leads
to."""


def event_ref_at(timeline: Timeline, at: LanePosition) -> EventRef:
    """The event at a position of a lane."""
    lane = timeline.lane(at.lane)
    start, end = int(lane.start[at.position]), int(lane.end[at.position])
    source, name = int(lane.source[at.position]), int(lane.name[at.position])
    names = timeline.names
    kind = timeline.entries[at.lane].kind
    if kind == "steps":
        if source >= 0:
            return EventRef("step", start, end, step=source)
        return EventRef("phase", start, end, phase=name - names.phase)
    if kind == "idle":
        return EventRef("idle", start, end, gap=source)
    if kind == "path":
        return _piece(timeline, source, start, end)
    if kind == "forward":
        return _call(timeline, "module", start, end, source, name - names.module)
    if kind == "backward" and name >= names.recomputed:
        return _call(timeline, "recompute", start, end, source, name - names.recomputed)
    if kind == "backward":
        thread = int(timeline.analysis.call_tree.thread[source])
        module = name - names.module
        return EventRef(SPAN, start, end, row=source, thread=thread, module=module)
    return _traced(timeline, source, start, end)


def _call(
    timeline: Timeline, category: str, start: int, end: int, row: int, module: int
) -> EventRef:
    call_tree = timeline.analysis.call_tree
    event, thread = int(call_tree.event[row]), int(call_tree.thread[row])
    return EventRef(category, start, end, event=event, row=row, thread=thread, module=module)


def _piece(timeline: Timeline, piece: int, start: int, end: int) -> EventRef:
    path, graph = timeline.path.recorded, timeline.path.simulator.graph
    event, edge = int(path.event[piece]), path.edge[piece : piece + 1]
    row = int(timeline.path.leads_to(edge)[0]) if event < 0 else -1
    if event < 0 and row < 0:
        event = int(graph.nodes.event[graph.edges.target[edge[0]]])
    thread = int(path.thread[piece])
    if event >= 0:
        thread = int(timeline.analysis.device_events.stream[event])
    return EventRef(PIECE, start, end, row=row, device_event=event, thread=thread, piece=piece)


def _traced(timeline: Timeline, event: int, start: int, end: int) -> EventRef:
    events = timeline.analysis.trace.events
    return EventRef(
        category=EventCategory(int(events.kind[event])).name.lower(),
        start=start,
        end=end,
        event=event,
        row=int(timeline.call_tree_row[event]),
        device_event=int(timeline.device_event[event]),
        thread=int(events.thread[event]),
    )


def inside(timeline: Timeline, subject: EventRef) -> DeviceEventIndex:
    """Device events launched inside a host row, a frame or a module's span."""
    analysis = timeline.analysis
    call_tree, launch = analysis.call_tree, analysis.device_events.launch
    if subject.category == SPAN:
        first, last = np.searchsorted(call_tree.thread, [subject.thread, subject.thread + 1])
        mine = (launch >= first) & (launch < last) & (analysis.device_attribution.node >= 0)
        mine[mine] = _began_in(subject, call_tree.start[launch[mine]])
        owner = analysis.device_attribution.module
        mine &= (owner >= subject.module) & (owner < analysis.modules.end[subject.module])
        return np.flatnonzero(mine)
    if subject.is_host_row:
        end = call_tree.subtree_end[subject.row]
        return np.flatnonzero((launch >= subject.row) & (launch < end))
    if subject.category == "python":
        first, last = np.searchsorted(call_tree.thread, [subject.thread, subject.thread + 1])
        mine = (launch >= first) & (launch < last)
        mine[mine] = _began_in(subject, call_tree.start[launch[mine]])
        return np.flatnonzero(mine)
    return np.zeros(0, np.int64)


def _began_in(subject: EventRef, moments: Nanoseconds) -> Bool:
    return np.asarray((moments >= subject.start) & (moments < subject.end))


def nodes_inside(timeline: Timeline, subject: EventRef) -> NodeIndex:
    """Nodes of a module, including modules below it, that began in its span."""
    analysis = timeline.analysis
    row, owner = analysis.nodes.row, analysis.attribution.node_module
    mine = analysis.call_tree.thread[row] == subject.thread
    mine &= _began_in(subject, analysis.call_tree.start[row])
    mine &= (owner >= subject.module) & (owner < analysis.modules.end[subject.module])
    return np.flatnonzero(mine)


def summaries(timeline: Timeline, lane: int, position: ItemIndex) -> list[EventSummary]:
    """Some events of a lane."""
    items = timeline.lane(lane)
    columns = (
        timeline.ids(lane, position).tolist(),
        items.depth[position].tolist(),
        [timeline.names.labels[name] for name in items.name[position].tolist()],
        items.colour[position].tolist(),
        microseconds(items.start[position] - timeline.origin),
        microseconds(items.end[position] - items.start[position]),
    )
    return [
        EventSummary(event, str(lane), depth, name, colour, start, duration)
        for event, depth, name, colour, start, duration in zip(*columns, strict=True)
    ]


def summary(timeline: Timeline, at: LanePosition) -> EventSummary:
    """The event at one position of a lane."""
    return summaries(timeline, at.lane, np.array([at.position]))[0]
