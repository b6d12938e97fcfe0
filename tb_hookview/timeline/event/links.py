"""Links of an event: launches, autograd's arrows, syncs, idle time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import asdict

from tb_hookview.analysis.dependencies.graph import EdgeKind, Evidence
from tb_hookview.analysis.dependencies.links import EVIDENCE, Links
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import EventRow, Int, ItemIndex, TreeRow
from tb_hookview.schema.timeline import EventLink, LinkEvidence, LinkKind, Relation
from tb_hookview.simulation.critical_path import Part
from tb_hookview.timeline.event.reference import SPAN, EventRef, inside, nodes_inside, summaries
from tb_hookview.timeline.timeline import Timeline

MOST = 200


class Linked(NamedTuple):
    """Some events of one lane, and the relation of the subject to them."""

    relation: Relation
    lane: int
    position: ItemIndex
    kind: LinkKind | None = None
    evidence: LinkEvidence | None = None


_Shown: TypeAlias = tuple[LinkKind, LinkEvidence]
_KINDS: dict[EdgeKind, LinkKind] = {
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
_OUT: dict[LinkKind, Relation] = {
    "launch": "launches",
    "autograd": "forward of",
    "sync": "waited for by",
    "cross_stream": "waited for by",
}
_IN: dict[LinkKind, Relation] = {
    "launch": "launched by",
    "autograd": "backward of",
    "sync": "waits for",
    "cross_stream": "waits for",
}


def links(timeline: Timeline, subject: EventRef) -> tuple[list[EventLink], int]:
    """The first `MOST` links by relation and start, and how many are left out."""
    found = list(_all(timeline, subject))
    first: list[EventLink] = []
    for relation, lane, position, kind, evidence in found:
        first += [
            EventLink(**asdict(event), relation=relation, kind=kind, evidence=evidence)
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
        yield from _left_idle(timeline, subject.row)
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
    relation: Relation,
    rows: EventRow,
    kind: LinkKind | None = None,
    evidence: LinkEvidence | None = None,
) -> Iterator[Linked]:
    """Links to rows of the trace, lane by lane."""
    lanes = timeline.lane_of_event[rows]
    for lane in unique(lanes).tolist():
        position = timeline.lane(lane).position_of(rows[lanes == lane])
        yield Linked(relation, lane, position, kind, evidence)


def _host_rows(timeline: Timeline, relation: Relation, rows: TreeRow) -> Iterator[Linked]:
    return _events(timeline, relation, timeline.analysis.call_tree.event[rows[rows >= 0]], "idle")


def _of_gap(timeline: Timeline, gap: int) -> Iterator[Linked]:
    analysis = timeline.analysis
    ending = analysis.gaps.device_event[gap : gap + 1]
    yield from _host_rows(timeline, "caused by", timeline.culprit_of_gap[gap : gap + 1])
    yield from _events(
        timeline, "ended by", analysis.device_events.event[ending[ending >= 0]], "idle"
    )


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
    timeline: Timeline, relation: Relation, lanes: str, sources: Int, kind: LinkKind
) -> Iterator[Linked]:
    for number in timeline.lanes_of(lanes):
        position = timeline.lane(number).position_of(sources)
        yield Linked(relation, number, position[position >= 0], kind)


def _left_idle(timeline: Timeline, row: int) -> Iterator[Linked]:
    gaps = np.flatnonzero(timeline.culprit_of_gap == row)
    return _sources(timeline, "left idle", "idle", gaps, "idle")


def _of_piece(timeline: Timeline, subject: EventRef) -> Iterator[Linked]:
    """What ran in a piece of the critical path, and the ends of its edge."""
    analysis, path = timeline.analysis, timeline.path
    events, rows, graph = (
        analysis.device_events.event,
        analysis.call_tree.event,
        path.simulator.graph,
    )
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
