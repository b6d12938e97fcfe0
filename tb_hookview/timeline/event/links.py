"""Links of an event: launches, autograd's arrows, syncs, idle time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from msgspec.structs import asdict

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import EventRow, Int, ItemIndex, TreeRow
from tb_hookview.schema.timeline import EventLink, Relation
from tb_hookview.timeline.event.reference import SPAN, EventRef, inside, nodes_inside
from tb_hookview.timeline.event.summary import summaries
from tb_hookview.timeline.timeline import Timeline

MOST = 200


class Linked(NamedTuple):
    """Some events of one lane, and the relation of the subject to them."""

    relation: Relation
    lane: int
    position: ItemIndex


def links(timeline: Timeline, subject: EventRef) -> tuple[list[EventLink], int]:
    """The first `MOST` links by relation and start, and how many are left out."""
    found = list(_all(timeline, subject))
    first: list[EventLink] = []
    for linked in found:
        events = summaries(timeline, linked.lane, linked.position[: MOST - len(first)])
        first += [EventLink(**asdict(event), relation=linked.relation) for event in events]
    return first, sum(len(linked.position) for linked in found) - len(first)


def _all(timeline: Timeline, subject: EventRef) -> Iterator[Linked]:
    if subject.gap >= 0:
        yield from _of_gap(timeline, subject.gap)
        return
    if subject.device_event >= 0:
        yield from _of_device_event(timeline, subject.device_event)
        return
    if subject.category == SPAN:
        yield from _calls_of_span(timeline, subject)
    elif subject.is_host_row:
        yield from _autograd(timeline, subject)
        yield from _of_sync(timeline, subject.row)
        yield from _left_idle(timeline, subject.row)
    if subject.category == "module":
        yield from _spans_of_call(timeline, subject)
    launched = timeline.analysis.device_events.event[inside(timeline, subject)]
    yield from _events(timeline, "launches", launched)


def _events(timeline: Timeline, relation: Relation, rows: EventRow) -> Iterator[Linked]:
    """Links to rows of the trace, lane by lane."""
    lanes = timeline.lane_of_event[rows]
    for lane in unique(lanes).tolist():
        position = timeline.lane(lane).position_of(rows[lanes == lane])
        yield Linked(relation, lane, position)


def _host_rows(timeline: Timeline, relation: Relation, rows: TreeRow) -> Iterator[Linked]:
    return _events(timeline, relation, timeline.analysis.call_tree.event[rows[rows >= 0]])


def _of_gap(timeline: Timeline, gap: int) -> Iterator[Linked]:
    analysis = timeline.analysis
    ending = analysis.gaps.device_event[gap : gap + 1]
    yield from _host_rows(timeline, "caused by", timeline.culprit_of_gap[gap : gap + 1])
    yield from _events(timeline, "ended by", analysis.device_events.event[ending[ending >= 0]])


def _of_device_event(timeline: Timeline, device_event: int) -> Iterator[Linked]:
    analysis = timeline.analysis
    launch = analysis.device_events.launch[device_event : device_event + 1]
    yield from _host_rows(timeline, "launched by", launch)
    syncs = np.flatnonzero(analysis.syncs.blocking_event == device_event)
    yield from _host_rows(timeline, "waited for by", analysis.syncs.row[syncs])


def _of_sync(timeline: Timeline, row: int) -> Iterator[Linked]:
    analysis = timeline.analysis
    blocking = analysis.syncs.blocking_event[analysis.syncs.row == row]
    yield from _events(timeline, "waits for", analysis.device_events.event[blocking[blocking >= 0]])


def _autograd(timeline: Timeline, subject: EventRef) -> Iterator[Linked]:
    """Link an operator to its nodes, and a row inside a node to its operator."""
    analysis = timeline.analysis
    forward_ops = timeline.analysis.nodes.forward_op
    made = np.flatnonzero(forward_ops == subject.row)
    yield from _host_rows(timeline, "forward of", analysis.nodes.row[made])
    node = int(analysis.row_node[subject.row])
    if node >= 0:
        yield from _host_rows(timeline, "backward of", forward_ops[node : node + 1])


def _calls_of_span(timeline: Timeline, subject: EventRef) -> Iterator[Linked]:
    """Calls of the module that made the nodes of one of its spans."""
    forward_ops = timeline.analysis.nodes.forward_op[nodes_inside(timeline, subject)]
    calls = _call_around(timeline, subject.module, forward_ops)
    yield from _sources(timeline, "backward of", "forward", unique(calls[calls >= 0]))


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
        yield Linked("forward of", number, held)


def _call_around(timeline: Timeline, module: int, rows: TreeRow) -> TreeRow:
    """The call of a module in which each host row lies, -1 for none."""
    analysis = timeline.analysis
    calls = np.flatnonzero((analysis.module_calls.module == module) & (analysis.row_node < 0))
    found = lookup(calls, np.searchsorted(calls, rows, side="right") - 1)
    return np.where(rows < lookup(analysis.call_tree.subtree_end, found), found, -1)


def _sources(timeline: Timeline, relation: Relation, kind: str, sources: Int) -> Iterator[Linked]:
    for number in timeline.lanes_of(kind):
        position = timeline.lane(number).position_of(sources)
        yield Linked(relation, number, position[position >= 0])


def _left_idle(timeline: Timeline, row: int) -> Iterator[Linked]:
    gaps = np.flatnonzero(timeline.culprit_of_gap == row)
    return _sources(timeline, "left idle", "idle", gaps)
