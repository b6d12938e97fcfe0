"""All that is known of one event."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import asdict

from tb_hookview.analysis.host.rows import node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE, REASONS
from tb_hookview.arrays import intervals
from tb_hookview.arrays.types import to_us
from tb_hookview.schema import Phase
from tb_hookview.schema.timeline import EventDetail
from tb_hookview.timeline.event.links import (
    PIECE,
    SPAN,
    EventRef,
    chain,
    event_ref_at,
    inside,
    links,
    summary,
)
from tb_hookview.timeline.lanes import lane
from tb_hookview.timeline.lanes.catalogue import thread_label
from tb_hookview.timeline.lanes.lane import label
from tb_hookview.timeline.timeline import LanePosition, Timeline

LONGEST_NAME = 10_000
LONGEST_VALUE = 2000
MOST_ARGUMENTS = 100


def detail(timeline: Timeline, event: int) -> EventDetail:
    """Detail of the event of an id: its place, owners, chain and links.

    Raises:
        NotFoundError: there is no such event.
    """
    at = timeline.position_of(event)
    subject = event_ref_at(timeline, at)
    linked, omitted = links(timeline, subject)
    name = timeline.names.texts[int(timeline.lane(at.lane).name[at.position])]
    in_short = asdict(summary(timeline, at)) | {"name": label(name, LONGEST_NAME)}
    return EventDetail(
        **in_short,
        category=subject.category,
        **_whereabouts(timeline, subject),
        **_owners(timeline, subject, at),
        self_us=_microseconds(_self_time(timeline, subject)),
        device_us=_microseconds(_device_time(timeline, subject)),
        chain=chain(timeline, subject),
        links=linked,
        links_omitted=omitted,
        args=_arguments(timeline, subject, name),
    )


def _whereabouts(timeline: Timeline, subject: EventRef) -> dict[str, Any]:
    """Thread of a host event, device and stream of others, step; None where it has none."""
    analysis = timeline.analysis
    device_events, threads = analysis.device_events, analysis.trace.threads
    moment, device, stream, thread = subject.start, None, None, None
    if subject.device_event >= 0:
        device = str(device_events.device[subject.device_event])
        stream = threads[subject.thread].stream
        launch = int(device_events.launch[subject.device_event])
        moment = int(analysis.call_tree.start[launch]) if launch >= 0 else moment
    elif subject.gap >= 0:
        device = str(analysis.gaps.device[subject.gap])
    elif subject.thread >= 0:
        thread = thread_label(analysis, subject.thread)
    if subject.gap >= 0:
        step = int(analysis.gap_step[subject.gap])
    else:
        step = int(analysis.steps.at(np.array([moment]))[0])
    name = analysis.steps.name[step] if step >= 0 else None
    return {"thread": thread, "device": device, "stream": stream, "step": name}


class _OwnerIndex(NamedTuple):
    """Indices of what an event belongs to, -1 for none."""

    phase: int = -1
    module: int = -1
    node: int = -1
    evidence: int = -1
    reason: int = -1


def _owner(timeline: Timeline, subject: EventRef, at: LanePosition) -> _OwnerIndex:
    analysis, event, row = timeline.analysis, subject.device_event, subject.row
    if event >= 0:
        of, launch = analysis.device_attribution, int(analysis.device_events.launch[event])
        phase = int(analysis.phases.row[launch]) if launch >= 0 else -1
        return _OwnerIndex(
            phase, *(int(c[event]) for c in (of.module, of.node, of.evidence, of.reason))
        )
    if subject.category == SPAN:
        return _OwnerIndex(int(Phase.BACKWARD), subject.module)
    if row >= 0:
        attribution, node = analysis.attribution, int(analysis.row_node[row])
        module, evidence = int(attribution.row_module[row]), int(attribution.row_evidence[row])
        reason = int(attribution.node_reason[node]) if node >= 0 > evidence else -1
        return _OwnerIndex(int(analysis.phases.row[row]), module, node, evidence, reason)
    if subject.category == "python":
        colour = int(timeline.lane(at.lane).colour[at.position])
        return _OwnerIndex(int(np.flatnonzero(colour == lane.OF_PHASE)[0]))
    return _OwnerIndex(subject.phase)


def _owners(timeline: Timeline, subject: EventRef, at: LanePosition) -> dict[str, Any]:
    """Phase, module and node of an event, with the evidence; None for unknown."""
    analysis, owner = timeline.analysis, _owner(timeline, subject, at)
    module = subject.module if subject.module >= 0 else owner.module
    texts, first = timeline.names.texts, timeline.names.module
    row = int(analysis.nodes.row[owner.node]) if owner.node >= 0 else -1
    return {
        "phase": Phase(owner.phase).name.lower() if owner.phase >= 0 else None,
        "module": texts[first + module] if module >= 0 else None,
        "node": node_name(analysis.host.name(row)) if row >= 0 else None,
        "evidence": EVIDENCE[owner.evidence] if owner.evidence >= 0 else None,
        "no_module": REASONS[owner.reason] if owner.reason >= 0 else None,
    }


def _self_time(timeline: Timeline, subject: EventRef) -> int | None:
    """Time of a host row less rows inside, of a phase less gaps; nanoseconds."""
    if subject.is_host_row:
        return _own_time(timeline, subject.row)
    if subject.phase < 0:
        return None
    window = np.array([[subject.start, subject.end]], np.int64)
    phase = timeline.analysis.phases.time[subject.phase]
    return int(intervals.lengths_within(phase, window)[0])


def _device_time(timeline: Timeline, subject: EventRef) -> int | None:
    """Time of the device events launched inside a host row or module, nanoseconds."""
    analysis = timeline.analysis
    unasked = subject.category == PIECE or (subject.row < 0 and subject.category != "python")
    if not analysis.launches_known or unasked:
        return None
    return int(analysis.device_events.duration[inside(timeline, subject)].sum())


def _microseconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else to_us(nanoseconds)


def _own_time(timeline: Timeline, row: int) -> int:
    """Time of a host row less that of the rows directly inside it."""
    call_tree = timeline.analysis.call_tree
    below = np.arange(row + 1, call_tree.subtree_end[row])
    children = below[call_tree.parent[below] == row]
    taken = np.minimum(call_tree.end[children], call_tree.end[row]) - call_tree.start[children]
    return max(int(call_tree.duration[row] - taken.sum()), 0)


def _arguments(timeline: Timeline, subject: EventRef, name: str) -> dict[str, str] | None:
    """Arguments as they stand in the file, as text."""
    if subject.event < 0:
        return {}
    if subject.module >= 0:
        events = timeline.analysis.trace.events
        name = timeline.analysis.trace.strings[int(events.name[subject.event])]
    found = timeline.arguments.of(subject.event, name)
    if found is None:
        return None
    first = list(found.items())[:MOST_ARGUMENTS]
    return {label(key, 200): label(_text(value), LONGEST_VALUE) for key, value in first}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
