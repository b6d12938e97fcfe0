"""References to events, links between them, and the chain that led to one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import asdict

from tb_hookview import schema
from tb_hookview.analysis.dependencies.graph import EVIDENCE, EdgeKind, Evidence, Links
from tb_hookview.analysis.host.rows import Role, node_name
from tb_hookview.analysis.host.stacks import is_frame
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    EventRow,
    Int,
    ItemIndex,
    Nanoseconds,
    NodeIndex,
    TreeRow,
    microseconds,
)
from tb_hookview.simulation.critical_path import Part
from tb_hookview.timeline.lanes.lane import label
from tb_hookview.timeline.lanes.trace_lanes import RowGroup
from tb_hookview.timeline.merging import touching
from tb_hookview.timeline.timeline import LanePosition, Timeline
from tb_hookview.trace import EventCategory

# References to events of the timeline, rows of the trace or results, and their summaries.


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
    if subject.is_host_row:
        end = call_tree.subtree_end[subject.row]
        return np.flatnonzero((launch >= subject.row) & (launch < end))
    if subject.category not in (SPAN, "python"):
        return np.zeros(0, np.int64)
    first, last = np.searchsorted(call_tree.thread, [subject.thread, subject.thread + 1])
    mine = (launch >= first) & (launch < last)
    mine[mine] = _began_in(subject, call_tree.start[launch[mine]])
    if subject.category == SPAN:
        of = analysis.device_attribution
        mine &= (of.node >= 0) & (of.module >= subject.module)
        mine &= of.module < analysis.modules.end[subject.module]
    return np.flatnonzero(mine)


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


def summaries(timeline: Timeline, lane: int, position: ItemIndex) -> list[schema.EventSummary]:
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
        schema.EventSummary(event, str(lane), depth, name, colour, start, duration)
        for event, depth, name, colour, start, duration in zip(*columns, strict=True)
    ]


def summary(timeline: Timeline, at: LanePosition) -> schema.EventSummary:
    """The event at one position of a lane."""
    return summaries(timeline, at.lane, np.array([at.position]))[0]


MOST = 200


class Linked(NamedTuple):
    """Some events of one lane, and the relation of the subject to them."""

    relation: schema.Relation
    lane: int
    position: ItemIndex
    kind: schema.LinkKind | None = None
    evidence: schema.LinkEvidence | None = None


_Shown: TypeAlias = tuple[schema.LinkKind, schema.LinkEvidence]
_KINDS: dict[EdgeKind, schema.LinkKind] = {
    EdgeKind.HOST: "host",
    EdgeKind.LAUNCH: "launch",
    EdgeKind.STREAM: "stream",
    EdgeKind.SYNC: "sync",
    EdgeKind.HANDOVER: "handover",
    EdgeKind.QUEUE: "queue",
    EdgeKind.CROSS_STREAM: "cross_stream",
    EdgeKind.ORIGIN: "origin",
    EdgeKind.COLLECTIVE: "collective",
}
_OUT: dict[schema.LinkKind, schema.Relation] = {
    "launch": "launches",
    "autograd": "forward of",
    "sync": "waited for by",
    "cross_stream": "waited for by",
}
_IN: dict[schema.LinkKind, schema.Relation] = {
    "launch": "launched by",
    "autograd": "backward of",
    "sync": "waits for",
    "cross_stream": "waits for",
}


def links(timeline: Timeline, subject: EventRef) -> tuple[list[schema.EventLink], int]:
    """The first `MOST` links by relation and start, and how many are left out."""
    found = list(_all(timeline, subject))
    first: list[schema.EventLink] = []
    for relation, lane, position, kind, evidence in found:
        first += [
            schema.EventLink(**asdict(event), relation=relation, kind=kind, evidence=evidence)
            for event in summaries(timeline, lane, position[: MOST - len(first)])
        ]
    return first, sum(len(linked.position) for linked in found) - len(first)


def _all(timeline: Timeline, subject: EventRef) -> Iterator[Linked]:
    if subject.piece >= 0:
        yield from _of_piece(timeline, subject)
        return
    if subject.gap >= 0:
        yield from _of_gap(timeline, subject.gap)
        return
    if subject.device_event >= 0:
        yield from _between_rows(timeline, subject.event, timeline.row_links)
        yield from _between_rows(timeline, subject.event, timeline.wait_links)
        return
    if subject.category == SPAN:
        yield from _calls_of_span(timeline, subject)
    elif subject.is_host_row:
        yield from _autograd(timeline, subject)
        if (timeline.analysis.syncs.row == subject.row).any():
            yield from _between_rows(timeline, subject.event, timeline.wait_links)
        gaps = np.flatnonzero(timeline.culprit_of_gap == subject.row)
        yield from _sources(timeline, "left idle", "idle", gaps, "idle")
    if subject.category == "module":
        yield from _spans_of_call(timeline, subject)
    launched = timeline.analysis.device_events.event[inside(timeline, subject)]
    shown: _Shown = ("launch", EVIDENCE[Evidence.CORRELATION])
    yield from _events(timeline, "launches", launched, *shown)


def _between_rows(timeline: Timeline, row: int, known: Iterable[Links]) -> Iterator[Linked]:
    """Links from and to one row of the trace."""
    for kind, evidence, source, target in known:
        shown = (kind, evidence)
        yield from _events(timeline, _IN[kind], source[target == row], *shown)
        yield from _events(timeline, _OUT[kind], target[source == row], *shown)


def _events(
    timeline: Timeline,
    relation: schema.Relation,
    rows: EventRow,
    kind: schema.LinkKind | None = None,
    evidence: schema.LinkEvidence | None = None,
) -> Iterator[Linked]:
    """Links to rows of the trace, lane by lane."""
    lanes = timeline.lane_of_event[rows]
    for lane in unique(lanes).tolist():
        position = timeline.lane(lane).position_of(rows[lanes == lane])
        yield Linked(relation, lane, position, kind, evidence)


def _of_gap(timeline: Timeline, gap: int) -> Iterator[Linked]:
    analysis = timeline.analysis
    row, ending = (
        of[gap : gap + 1] for of in (timeline.culprit_of_gap, analysis.gaps.device_event)
    )
    ended = analysis.device_events.event[ending[ending >= 0]]
    yield from _events(timeline, "caused by", analysis.call_tree.event[row[row >= 0]], "idle")
    yield from _events(timeline, "ended by", ended, "idle")


def _autograd(timeline: Timeline, subject: EventRef) -> Iterator[Linked]:
    """Link an operator to its nodes, and a row inside a node to its operator."""
    analysis = timeline.analysis
    node = int(analysis.row_node[subject.row])
    inner = int(analysis.call_tree.event[analysis.nodes.row[node]]) if node >= 0 else -1
    for kind, evidence, source, target in timeline.row_links:
        if kind == "autograd":
            shown = (kind, evidence)
            yield from _events(timeline, "forward of", target[source == subject.event], *shown)
            yield from _events(timeline, "backward of", source[target == inner], *shown)


def _calls_of_span(timeline: Timeline, subject: EventRef) -> Iterator[Linked]:
    """Calls of the module that made the nodes of one of its spans."""
    forward_ops = timeline.analysis.nodes.forward_op[nodes_inside(timeline, subject)]
    calls = _call_around(timeline, subject.module, forward_ops)
    yield from _sources(timeline, "backward of", "forward", unique(calls[calls >= 0]), "autograd")


def _spans_of_call(timeline: Timeline, subject: EventRef) -> Iterator[Linked]:
    """Spans of a module whose nodes were made in one of its calls."""
    analysis = timeline.analysis
    calls = _call_around(timeline, subject.module, timeline.analysis.nodes.forward_op)
    made = analysis.nodes.row[calls == subject.row]
    start, thread = analysis.call_tree.start[made], analysis.call_tree.thread[made]
    wanted = timeline.names.module + subject.module
    for number in timeline.lanes_of("backward"):
        lane = timeline.lane(number)
        mine = np.flatnonzero(lane.name == wanted)
        mine = mine[np.argsort(lane.start[mine], kind="stable")]
        begun = start[thread == timeline.entries[number].thread]
        last = np.searchsorted(lane.start[mine], begun, side="right") - 1
        held = mine[unique(last[last >= 0])]
        yield Linked("forward of", number, held, "autograd")


def _call_around(timeline: Timeline, module: int, rows: TreeRow) -> TreeRow:
    """The call of a module in which each host row lies, -1 for none."""
    analysis = timeline.analysis
    calls = np.flatnonzero((analysis.module_calls.module == module) & (analysis.row_node < 0))
    found = lookup(calls, np.searchsorted(calls, rows, side="right") - 1)
    return np.where(rows < lookup(analysis.call_tree.subtree_end, found), found, -1)


def _sources(
    timeline: Timeline, relation: schema.Relation, lanes: str, sources: Int, kind: schema.LinkKind
) -> Iterator[Linked]:
    for number in timeline.lanes_of(lanes):
        position = timeline.lane(number).position_of(sources)
        yield Linked(relation, number, position[position >= 0], kind)


def _of_piece(timeline: Timeline, subject: EventRef) -> Iterator[Linked]:
    """What ran in a piece of the critical path, and the ends of its edge."""
    analysis, path = timeline.analysis, timeline.path
    events = analysis.device_events.event
    rows = analysis.call_tree.event
    graph = path.simulator.graph
    edge = path.recorded.edge[subject.piece : subject.piece + 1]
    ran = path.recorded.event[subject.piece : subject.piece + 1]
    yield from _events(timeline, "runs", events[ran[ran >= 0]])
    if path.recorded.part[subject.piece] == Part.HOST:
        event = path.host_events(edge)
        yield from _events(timeline, "runs", event[event >= 0])
    if edge[0] < 0:
        return
    kind = EdgeKind(int(graph.edges.kind[edge[0]]))
    shown: _Shown = (_KINDS[kind], EVIDENCE[Evidence(int(graph.edges.evidence[edge[0]]))])
    source = graph.edges.source[edge]
    before, row = graph.nodes.event[source], path.rows_at(source)
    before = before[(before >= 0) & (before != ran)]
    yield from _events(timeline, "follows", events[before], *shown)
    yield from _events(timeline, "follows", rows[row[row >= 0]], *shown)
    after, row = graph.nodes.event[graph.edges.target[edge]], path.leads_to(edge)
    yield from _events(timeline, "leads to", events[after[after >= 0]], *shown)
    yield from _events(timeline, "leads to", rows[row[row >= 0]], *shown)


# The chain around an event: calls, operators, the node, the module, Python lines.


LONGEST = 2000
"""Characters of a link's text."""

_KINDS_CHAIN: dict[EventCategory, schema.ChainKind] = {
    EventCategory.OPERATOR: "operator",
    EventCategory.ANNOTATION: "annotation",
    EventCategory.RUNTIME: "call",
}


def chain(timeline: Timeline, subject: EventRef) -> list[schema.ChainLink]:
    """Links of the chain, innermost first.

    The `id` of a link that is on no lane is None.
    """
    analysis = timeline.analysis
    if subject.category == SPAN:
        return _modules_above(timeline, subject.module)
    row, first = subject.row, -1
    if subject.is_host_row:
        first = int(analysis.call_tree.parent[row])
    elif subject.category == PIECE and row >= 0:
        first = row
    elif subject.device_event >= 0:
        row = first = int(analysis.device_events.launch[subject.device_event])
    elif subject.gap >= 0:
        row = first = int(timeline.culprit_of_gap[subject.gap])
    links = _rows(timeline, first)
    if row >= 0 and subject.module < 0:
        links += _module(timeline, row, links)
    return links + list(_lines(timeline, subject, row))


def _rows(timeline: Timeline, row: int) -> list[schema.ChainLink]:
    """A host row and those around it, but for Python frames, which are lines."""
    analysis, links = timeline.analysis, []
    kind, module = analysis.host.kind, analysis.module_calls.module
    while row >= 0:
        if kind[row] != EventCategory.PYTHON or module[row] >= 0:
            links.append(_row(timeline, row))
        row = int(analysis.call_tree.parent[row])
    return links


def _row(timeline: Timeline, row: int) -> schema.ChainLink:
    analysis = timeline.analysis
    host, event = analysis.host, int(analysis.call_tree.event[row])
    module = int(analysis.module_calls.module[row])
    if module >= 0:
        return _link("module", timeline.names.texts[timeline.names.module + module], event)
    if host.role_of(row) is Role.NODE:
        return _link("node", node_name(host.name(row)), event)
    return _link(_KINDS_CHAIN[EventCategory(int(host.kind[row]))], host.name(row), event)


def _module(timeline: Timeline, row: int, links: list[schema.ChainLink]) -> list[schema.ChainLink]:
    """The module of a row, unless one of the links is its call."""
    module = int(timeline.analysis.attribution.row_module[row])
    if module < 0:
        return []
    path = timeline.names.texts[timeline.names.module + module]
    named = any(link.kind == "module" and link.text == label(path, LONGEST) for link in links)
    return [] if named else [_link("module", path, None)]


def _modules_above(timeline: Timeline, module: int) -> list[schema.ChainLink]:
    links = []
    while (module := int(timeline.analysis.modules.parent[module])) >= 0:
        links.append(_link("module", timeline.names.texts[timeline.names.module + module], None))
    return links


def _lines(timeline: Timeline, subject: EventRef, row: int) -> Iterator[schema.ChainLink]:
    """Python frames around an event, or in the backward pass around its forward operator."""
    analysis = timeline.analysis
    if row >= 0:
        asked = int(analysis.forward_op_or_self(np.array([row]))[0])
        thread, moment = int(analysis.call_tree.thread[asked]), int(analysis.call_tree.start[asked])
        yield from _frames(timeline, thread, moment)
    elif subject.category == "python":
        at = timeline.position_of(subject.event)
        depth = int(timeline.lane(at.lane).depth[at.position])
        yield from _frames(timeline, subject.thread, subject.start, depth)


def _frames(
    timeline: Timeline, thread: int, moment: int, below: int | None = None
) -> Iterator[schema.ChainLink]:
    """Frames open on a thread at a moment, innermost first.

    Only those of the lane's rows above `below`, if that is given.
    """
    number = timeline.lane_of_thread(thread, RowGroup.PYTHON)
    if number < 0:
        return
    lane, texts = timeline.lane(number), timeline.names.texts
    for depth in range(lane.rows if below is None else below)[::-1]:
        low, high = touching(lane, depth, moment, moment + 1)
        for position in range(low, high)[::-1]:
            text = texts[int(lane.name[position])]
            if is_frame(text):
                yield _link("line", text, int(lane.source[position]))


def _link(kind: schema.ChainKind, text: str, event: int | None) -> schema.ChainLink:
    return schema.ChainLink(kind, label(text, LONGEST), event)
