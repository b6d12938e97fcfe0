"""`Analysis`: one trace with its attribution, made once for any number of reports."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.nodes import Nodes, find_nodes
from tb_hookview.analysis.consistency import clock_jumps, external_id_conflicts, unusable_marks
from tb_hookview.analysis.device.events import (
    DeviceEvents,
    find_device_events,
    repeated_launches,
)
from tb_hookview.analysis.device.kinds import COMMUNICATION, DeviceEventKinds, device_event_kinds
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
from tb_hookview.analysis.modules.compiled import compiled_modules
from tb_hookview.analysis.modules.sources import module_sources
from tb_hookview.analysis.modules.tree import ModuleCalls, Modules, find_modules
from tb_hookview.analysis.phases import Phases, find_phases
from tb_hookview.analysis.steps import Steps, StepTimes, find_steps, step_times
from tb_hookview.analysis.syncs.detection import Syncs, find_syncs
from tb_hookview.arrays import intervals, nesting
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, EventRow, Int, Nanoseconds, NodeIndex, TreeRow
from tb_hookview.trace import EventCategory, Trace


class Analysis(Struct, frozen=True, dict=True):
    """Everything known about one trace. Nothing in it is changed after it is made."""

    host: HostRows
    bounds: tuple[int, int]
    """First start and last end of host and device rows, nanoseconds."""
    row_node: NodeIndex
    """Node inside which each row of the call tree is, -1 outside the backward pass."""
    nodes: Nodes
    modules: Modules
    module_calls: ModuleCalls
    attribution: Attribution
    device_events: DeviceEvents
    kinds: DeviceEventKinds
    device_attribution: DeviceAttribution
    phases: Phases
    steps: Steps
    syncs: Syncs
    calls: Int
    """`Call` of each row of the call tree: what it may do to the host."""
    gaps: Gaps
    """Idle time of the devices, attributed to its causes."""
    blocked_launches: TreeRow
    """The launches that waited for room in a device's full queue."""
    launches_known: bool
    """Whether device events can be attributed by their launches.

    They can if the trace has launches, and operators, annotations or calls of modules around them.
    """
    contradictions: dict[str, int]
    """Count of each contradiction in the trace; may be 0."""

    @property
    def trace(self) -> Trace:
        """The trace as it was read."""
        return self.host.trace

    @property
    def call_tree(self) -> CallTree:
        """The nested host rows."""
        return self.host.call_tree

    def forward_op_or_self(self, row: TreeRow) -> TreeRow:
        """Forward operator of the node around each row of the call tree, else the row.

        Python frames lead to it: the autograd thread has none of its own.
        """
        forward_op = lookup(self.nodes.forward_op, self.row_node[row])
        return np.where(forward_op >= 0, forward_op, row)

    @cached_property
    def step_times(self) -> StepTimes:
        """Times of every step."""
        rows = self.blocked_launches
        queue_full = intervals.of(self.call_tree.start[rows], self.call_tree.end[rows])
        return step_times(
            self.steps, self.phases, self.syncs, self.device_events, self.gaps, queue_full
        )

    @cached_property
    def sync_idle(self) -> Nanoseconds | None:
        """Device idle time that each sync caused; None without a known launch."""
        if not (self.device_events.launch >= 0).any():
            return None
        return self.gaps.by_sync(len(self.syncs))

    @cached_property
    def operators(self) -> OperatorRows:
        """Host rows that are calls of operators."""
        return operator_rows(self.host)

    @cached_property
    def compiled_modules(self) -> Bool:
        """Whether each module ran inside of compiled regions, if at all."""
        return compiled_modules(self.host, self.modules, self.module_calls)

    @cached_property
    def module_sources(self) -> tuple[str | None, ...]:
        """`file.py:line` of each module; None where it is not known."""
        return module_sources(self.host, self.modules, self.module_calls)


_CONFLICT = "calls whose External id names another operator than the one around them in time"
_REPEATED = (
    "kernels, copies and sets whose correlation id several calls have, "
    "attributed to the last of these before them"
)
_JUMP = (
    "times at which nothing happened for an hour or more: a clock that jumped, or recordings "
    "put together; lengths across them mean nothing"
)


def analyze_trace(trace: Trace) -> Analysis:
    """Attribute a trace that has been read."""
    event_role = roles(trace).astype(np.int64)
    call_tree = _call_tree(trace, _nested_rows(trace, event_role))
    host = HostRows(trace, call_tree, event_role[call_tree.event])
    nodes = find_nodes(host)
    modules, module_calls = find_modules(host, nodes.forward_op)
    attribution = attribute(host, nodes, modules, module_calls)
    device_events = find_device_events(trace, call_tree)
    calls = call_rows(host)
    syncs = find_syncs(host, device_events, calls)
    kinds = device_event_kinds(host, device_events)
    timing = LaunchTiming(host, device_events, syncs, calls, kinds.kind == COMMUNICATION)
    bounds = _bounds(trace)
    phases = find_phases(host, nodes.of_row, module_calls, nodes.forward_op)
    launches_known = _launches_known(host, module_calls, device_events)
    launched = call_tree.start[device_events.launch[device_events.launch >= 0]]
    return Analysis(
        host=host,
        bounds=bounds,
        row_node=nodes.of_row,
        nodes=nodes,
        modules=modules,
        module_calls=module_calls,
        attribution=attribution,
        device_events=device_events,
        kinds=kinds,
        device_attribution=attribute_device_events(device_events, nodes.of_row, attribution),
        phases=phases,
        steps=find_steps(
            trace, event_role, bounds, launched if launches_known else call_tree.start
        ),
        syncs=syncs,
        calls=calls,
        gaps=find_gaps(timing, bounds),
        blocked_launches=launches_onto_full_queue(timing),
        launches_known=launches_known,
        contradictions=_contradictions(host, modules, device_events, bounds),
    )


def _launches_known(host: HostRows, module_calls: ModuleCalls, device_events: DeviceEvents) -> bool:
    if not (device_events.launch >= 0).any():
        return False
    named = [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)]
    return bool((module_calls.module >= 0).any() or isin(host.trace.events.kind, named).any())


def _contradictions(
    host: HostRows, modules: Modules, device_events: DeviceEvents, bounds: tuple[int, int]
) -> dict[str, int]:
    return {
        _CONFLICT: external_id_conflicts(host),
        _REPEATED: repeated_launches(host.trace, host.call_tree, device_events),
        _JUMP: clock_jumps(host.trace, *bounds),
        **unusable_marks(host, modules),
    }


def _call_tree(trace: Trace, rows: EventRow) -> CallTree:
    events = trace.events
    return nesting.build(rows, events.thread[rows], events.start[rows], events.duration[rows])


def _nested_rows(trace: Trace, role: Int) -> EventRow:
    """Host rows that nest: operators, annotations, runtime calls, module rows of stacks.

    Steps are left out: they are found by time, and their bounds cross those of annotations.
    """
    kind = trace.events.kind
    nested = isin(
        kind,
        [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION), int(EventCategory.RUNTIME)],
    )
    nested |= role == Role.MODULE_LABEL
    return np.flatnonzero(nested & (role != Role.STEP))


_OUTSIDE_TIME = (EventCategory.SPAN, EventCategory.DEVICE_ANNOTATION, EventCategory.OVERHEAD)


def _bounds(trace: Trace) -> tuple[int, int]:
    """First start and last end, nanoseconds.

    The profiler's own rows, and empty rows at time 0, do not count.
    """
    events = trace.events
    inside = ~isin(events.kind, [int(kind) for kind in _OUTSIDE_TIME])
    inside &= (events.start != 0) | (events.duration != 0)
    if not inside.any():
        return 0, 0
    return int(events.start[inside].min()), int(events.end[inside].max())
