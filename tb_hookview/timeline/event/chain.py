"""The chain around an event: calls, operators, the node, the module, Python lines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.roles import Role, node_name
from tb_hookview.analysis.host.stacks import is_frame
from tb_hookview.schema.timeline import ChainKind, ChainLink
from tb_hookview.timeline.event.reference import PIECE, SPAN, EventRef
from tb_hookview.timeline.lanes.names import label
from tb_hookview.timeline.lanes.trace_lanes import RowGroup
from tb_hookview.timeline.merging import touching
from tb_hookview.timeline.timeline import Timeline
from tb_hookview.trace import EventCategory

LONGEST = 2000
"""Characters of a link's text."""

_KINDS: dict[EventCategory, ChainKind] = {
    EventCategory.OPERATOR: "operator",
    EventCategory.ANNOTATION: "annotation",
    EventCategory.RUNTIME: "call",
}


def chain(timeline: Timeline, subject: EventRef) -> list[ChainLink]:
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


def _rows(timeline: Timeline, row: int) -> list[ChainLink]:
    """A host row and those around it, but for Python frames, which are lines."""
    analysis, links = timeline.analysis, []
    kind, module = analysis.host.kind, analysis.module_calls.module
    while row >= 0:
        if kind[row] != EventCategory.PYTHON or module[row] >= 0:
            links.append(_row(timeline, row))
        row = int(analysis.call_tree.parent[row])
    return links


def _row(timeline: Timeline, row: int) -> ChainLink:
    analysis = timeline.analysis
    host, event = analysis.host, int(analysis.call_tree.event[row])
    module = int(analysis.module_calls.module[row])
    if module >= 0:
        return _link("module", timeline.names.texts[timeline.names.module + module], event)
    if host.role_of(row) is Role.NODE:
        return _link("node", node_name(host.name(row)), event)
    return _link(_KINDS[EventCategory(int(host.kind[row]))], host.name(row), event)


def _module(timeline: Timeline, row: int, links: list[ChainLink]) -> list[ChainLink]:
    """The module of a row, unless one of the links is its call."""
    module = int(timeline.analysis.attribution.row_module[row])
    if module < 0:
        return []
    path = timeline.names.texts[timeline.names.module + module]
    named = any(link.kind == "module" and link.text == label(path, LONGEST) for link in links)
    return [] if named else [_link("module", path, None)]


def _modules_above(timeline: Timeline, module: int) -> list[ChainLink]:
    links = []
    while (module := int(timeline.analysis.modules.parent[module])) >= 0:
        links.append(_link("module", timeline.names.texts[timeline.names.module + module], None))
    return links


def _lines(timeline: Timeline, subject: EventRef, row: int) -> Iterator[ChainLink]:
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
) -> Iterator[ChainLink]:
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


def _link(kind: ChainKind, text: str, event: int | None) -> ChainLink:
    return ChainLink(kind, label(text, LONGEST), event)
