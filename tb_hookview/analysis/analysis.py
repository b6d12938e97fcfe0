"""One trace, attributed: every step of the analysis in order, kept for any number of reports."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.nodes import Nodes, find_nodes
from tb_hookview.analysis.consistency import clock_jumps, external_id_conflicts, unusable_marks
from tb_hookview.analysis.device.events import DeviceEvents, device_work, repeated_launches
from tb_hookview.analysis.device.kinds import COMMUNICATION, WorkKinds, work_kinds
from tb_hookview.analysis.host.operators import OperatorRows, operator_rows
from tb_hookview.analysis.host.roles import Role, roles
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.host.runtime_calls import call_rows
from tb_hookview.analysis.idle.causes import find_gaps
from tb_hookview.analysis.idle.full_queue import launches_onto_full_queue
from tb_hookview.analysis.idle.gaps import Gaps
from tb_hookview.analysis.idle.launch_timing import LaunchTiming
from tb_hookview.analysis.modules.attribution import (
    Attribution,
    DeviceAttribution,
    attribute,
    attribute_device_events,
)
from tb_hookview.analysis.modules.sources import module_sources
from tb_hookview.analysis.modules.tree import ModuleCalls, Modules, find_modules
from tb_hookview.analysis.phases import Phases, Steps, find_phases, find_steps
from tb_hookview.analysis.syncs.detection import Syncs, find_syncs
from tb_hookview.arrays import nesting as nesting
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import CallTree
from tb_hookview.arrays.types import Int
from tb_hookview.progress import Count, Progress, uncounted
from tb_hookview.trace import EventCategory, Trace, read_trace


class Analysis(Struct, frozen=True, dict=True):
    """Everything known about one trace. Nothing in it is changed after it is made."""

    host: HostRows
    bounds: tuple[int, int]
    """First start and last end of host and device rows, nanoseconds."""
    row_node: Int
    """Index into `nodes` for each forest row, -1 outside the backward pass."""
    nodes: Nodes
    modules: Modules
    module_calls: ModuleCalls
    attribution: Attribution
    device_events: DeviceEvents
    kinds: WorkKinds
    device_attribution: DeviceAttribution
    phases: Phases
    steps: Steps
    syncs: Syncs
    calls: Int
    """`Call` of each forest row: what it may do to the host."""
    gaps: Gaps
    """Idle time of the devices, billed to its causes."""
    blocked_launches: Int
    """Forest rows of the launches that waited for room in a device's full queue."""
    contradictions: dict[str, int]
    """What in the trace contradicts itself or says nothing, with how often; may be 0."""

    @property
    def trace(self) -> Trace:
        """The trace as it was read."""
        return self.host.trace

    @property
    def call_tree(self) -> CallTree:
        """The nested host rows."""
        return self.host.call_tree

    @cached_property
    def sync_idle(self) -> Int | None:
        """Device idle time that each wait caused, nanoseconds; None without launched work."""
        return (
            self.gaps.by_sync(len(self.syncs)) if (self.device_events.launch >= 0).any() else None
        )

    @cached_property
    def operators(self) -> OperatorRows:
        """Which host rows are calls of operators."""
        return operator_rows(self.host)

    @cached_property
    def module_sources(self) -> tuple[str | None, ...]:
        """`file.py:line` of each module; None where the trace does not tell."""
        return module_sources(self.host, self.modules, self.module_calls)

    @cached_property
    def launches_known(self) -> bool:
        """Whether device work can be told by what launched it: calls are there, and rows that say
        what they were for."""
        operators = isin(
            self.trace.events.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)]
        )
        telling = operators.any() or (self.module_calls.module >= 0).any()
        return bool((self.device_events.launch >= 0).any() and telling)


_CONFLICT = "calls whose External id names another operator than the one around them in time"
_REPEATED = (
    "kernels, copies and sets whose correlation id several calls bear, "
    "counted to the last of these before them"
)
_JUMP = (
    "times at which nothing happened for an hour or more: a clock that jumped, or recordings "
    "put together; lengths across them mean nothing"
)


def load(path: str | Path, progress: Progress | None = None, count: Count = uncounted) -> Analysis:
    """Read a trace file and attribute all of it. What `progress` or `count` raises ends the work.

    Raises:
        TraceError: the file cannot be read, or is no trace.
    """
    say = progress or (lambda _stage, _fraction: None)
    trace = read_trace(path, say, count)
    say("attribution", None)
    return analyze_trace(trace)


def analyze_trace(trace: Trace) -> Analysis:
    """Attribute a trace that has been read."""
    event_role = roles(trace).astype(np.int64)
    call_tree = _call_tree(trace, _nested_rows(trace, event_role))
    host = HostRows(trace, call_tree, event_role[call_tree.event])
    nodes = find_nodes(host)
    row_node = nodes.of_row
    forward_ops = nodes.forward_op
    modules, ranges = find_modules(host, forward_ops)
    attribution = attribute(host, nodes, row_node, modules, ranges)
    work = device_work(trace, call_tree)
    calls = call_rows(host)
    syncs = find_syncs(host, work, calls)
    kinds = work_kinds(host, work)
    time = LaunchTiming(host, work, syncs, calls, kinds.kind == COMMUNICATION)
    bounds = _bounds(trace)
    steps = find_steps(trace, event_role, *bounds)
    return Analysis(
        host=host,
        bounds=bounds,
        row_node=row_node,
        nodes=nodes,
        modules=modules,
        module_calls=ranges,
        attribution=attribution,
        device_events=work,
        kinds=kinds,
        device_attribution=attribute_device_events(work, row_node, attribution),
        phases=find_phases(host, row_node, ranges, forward_ops),
        steps=steps,
        syncs=syncs,
        calls=calls,
        gaps=find_gaps(time, bounds),
        blocked_launches=launches_onto_full_queue(time),
        contradictions={
            _CONFLICT: external_id_conflicts(host),
            _REPEATED: repeated_launches(trace, call_tree, work),
            _JUMP: clock_jumps(trace, *bounds),
            **unusable_marks(host, modules),
        },
    )


def _call_tree(trace: Trace, rows: Int) -> CallTree:
    events = trace.events
    return nesting.build(rows, events.thread[rows], events.start[rows], events.duration[rows])


def _nested_rows(trace: Trace, role: Int) -> Int:
    """Host rows that nest: operators, annotations, runtime calls, module rows of stacks.

    Steps are left out: they are found by time, and their bounds cross those of annotations.
    """
    kind = trace.events.kind
    nesting = isin(
        kind,
        [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION), int(EventCategory.RUNTIME)],
    )
    nesting |= role == Role.MODULE_LABEL
    return np.flatnonzero(nesting & (role != Role.STEP))


_OUTSIDE_TIME = (EventCategory.SPAN, EventCategory.DEVICE_ANNOTATION, EventCategory.OVERHEAD)


def _bounds(trace: Trace) -> tuple[int, int]:
    """Bounds of what happened; the profiler's own rows and empty rows at time 0 do not count."""
    events = trace.events
    inside = ~isin(events.kind, [int(kind) for kind in _OUTSIDE_TIME])
    inside &= (events.start != 0) | (events.duration != 0)
    if not inside.any():
        return 0, 0
    return int(events.start[inside].min()), int(events.end[inside].max())
