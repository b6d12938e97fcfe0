"""`Analysis`: one trace with its attribution, made once for any number of reports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.nodes import Nodes, find_nodes, made_nodes, of_device_threads
from tb_hookview.analysis.calls.division import CallTimes, clock_ahead, divide_calls
from tb_hookview.analysis.calls.waits import Retries, find_growth, find_retries
from tb_hookview.analysis.collectives.calls import find_host_waits
from tb_hookview.analysis.compiled.attribution import (
    CallsAgain,
    Compiled,
    find_calls_again,
    node_parts,
    place_compiled,
    place_device_events,
    with_compiled_rows,
)
from tb_hookview.analysis.compiled.graphs import compiling_rows
from tb_hookview.analysis.compiled.times import CompiledUnits, find_compiled_units
from tb_hookview.analysis.consistency.checks import (
    ClockErrors,
    Fault,
    clock_errors,
    find_faults,
    launches_to_run,
    partial_rows,
)
from tb_hookview.analysis.device.events import DeviceEvents, LaunchTiming, find_device_events
from tb_hookview.analysis.device.kinds import COMMUNICATION, DeviceEventKinds, device_event_kinds
from tb_hookview.analysis.device.preemption import find_preempted
from tb_hookview.analysis.flops.formulas import CallWork, DeviceWork, call_work, device_work
from tb_hookview.analysis.flops.peaks import flops_per_ns
from tb_hookview.analysis.host.activity import (
    OperatorRows,
    calls_runtime,
    only_of_devices,
    operator_rows,
    runs_on_cpu,
)
from tb_hookview.analysis.host.library_starts import call_rows
from tb_hookview.analysis.host.rows import HostRows, Role, roles
from tb_hookview.analysis.host.stacks import call_tree_of
from tb_hookview.analysis.idle.causes import find_gaps
from tb_hookview.analysis.idle.gaps import Cause, Gaps, KernelLoads, find_kernel_loads, launching_in
from tb_hookview.analysis.loaders import loads_once
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.analysis.modules.attribution import (
    Attribution,
    DeviceAttribution,
    Parts,
    attribute,
    attribute_device_events,
    compiled_modules,
)
from tb_hookview.analysis.modules.tree import ModuleCalls, Modules, find_modules, module_sources
from tb_hookview.analysis.phases import Phases, ReplayedGraphs, find_phases, find_replayed_graphs
from tb_hookview.analysis.steps import (
    StepDeviceEvents,
    Steps,
    StepTimes,
    find_steps,
    of_program,
    step_device_events,
    step_faults,
    step_times,
    without_lost,
)
from tb_hookview.analysis.syncs.detection import Syncs, find_syncs
from tb_hookview.arrays.joins import first_of_each, isin, mask_of, unique, unique_inverse
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import (
    Bool,
    EventRow,
    Float,
    Int,
    Nanoseconds,
    NodeIndex,
    StepIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.schema.terms import Phase
from tb_hookview.trace import EventCategory, Trace

_PARTS_OF_NS = 1024.0
"""A power of two: float64 adds such parts up exactly for hours."""


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
    compiled: Compiled | None
    """What our recorder's map places; None without one."""
    device_attribution: DeviceAttribution
    device_parts: Parts
    """Time of device events by module."""
    phases: Phases
    steps: Steps
    call_times: CallTimes
    """How the time of calls of the runtime divides."""
    syncs: Syncs
    clocks: ClockErrors
    """Contradictions of the clocks of host and device."""
    timing: LaunchTiming
    """Times of device events and of the calls that launched them."""
    launches_known: bool
    """Whether device events can be attributed by their launches.

    They can if the trace has launches, and operators, annotations or calls of modules around them.
    """

    @property
    def trace(self) -> Trace:
        """The trace as it was read."""
        return self.host.trace

    @property
    def call_tree(self) -> CallTree:
        """The nested host rows."""
        return self.host.call_tree

    @property
    def calls(self) -> Int:
        """`Call` of each row of the call tree: what it may do to the host."""
        return self.timing.call

    @cached_property
    def retries(self) -> Retries:
        """Waits of the caching allocator after an allocation that failed."""
        return find_retries(self.timing)

    @cached_property
    def growth(self) -> Bool:
        """Calls by which caching allocators grow once, shape (n,)."""
        steps, step = self.steps, self.steps.at(self.call_tree.start)
        measured = np.where(lookup(steps.counted, step) == 1, step, -1)
        return find_growth(self.timing, measured, int(steps.counted.sum()) if steps.marked else 0)

    @cached_property
    def clock_ahead(self) -> int:
        """Correction of the devices' clock, nanoseconds: 0 where nothing contradicts the host's."""
        return clock_ahead(self.timing, self.call_times)

    @property
    def blocked_launches(self) -> TreeRow:
        """The launches that waited for room in a device's full queue."""
        return self.call_times.onto_full_queue

    @cached_property
    def kernel_loads(self) -> KernelLoads:
        """Calls in which the host loaded the code of kernels."""
        return find_kernel_loads(self.timing, self.call_times)

    @cached_property
    def loads_once(self) -> TreeRow:
        """Calls of data loaders in which their workers start or end."""
        return loads_once(self.host, self.steps)

    @cached_property
    def preempted(self) -> Nanoseconds:
        """Time by which each device event outlasts equal launches, shape (d,)."""
        return find_preempted(self.host, self.device_events, self.kinds.kind != COMMUNICATION)

    @cached_property
    def gaps(self) -> Gaps:
        """Idle time of the devices, attributed to its causes."""
        return find_gaps(
            self.timing,
            self.call_times,
            self.syncs,
            self.kernel_loads,
            self.bounds,
            self.steps.window,
        )

    @cached_property
    def gap_step(self) -> StepIndex:
        """Step in which each gap lies, -1 outside all."""
        step = self.steps.at(self.gaps.start)
        inside = self.gaps.end <= lookup(self.steps.window[:, 1], step)
        return np.where((step >= 0) & inside, step, -1)

    @cached_property
    def idle_once(self) -> Bool:
        """Gaps for what happens once: kernels are loaded, caching allocators grow, and where no
        step is marked code is compiled; shape (g,)."""
        cause, grows = self.gaps.cause, lookup(self.growth, self.gaps.row) == 1
        once = (cause == Cause.KERNEL_LOADING) | ((cause == Cause.ALLOCATOR) & grows)
        return np.asarray(once | self.idle_compiling)

    @cached_property
    def compiling(self) -> Bool:
        """Rows in which torch.compile compiles, also those inside each other; shape (n,)."""
        return compiling_rows(self.host)

    @cached_property
    def compile_time(self) -> TimeSet:
        """Time in which some thread compiles."""
        return self.call_tree.time_of(np.flatnonzero(self.compiling))

    @cached_property
    def idle_compiling(self) -> Bool:
        """Gaps of the cause LAUNCH in which code is compiled for most of their time, where no step
        is marked: in later steps of others that recurs; shape (g,)."""
        if self.steps.marked:
            return np.zeros(len(self.gaps), bool)
        return launching_in(self.gaps, self.compile_time)

    @cached_property
    def idle_before_call(self) -> Nanoseconds:
        """Duration of each gap; of one for a late launch, less the part in which that call ran."""
        gaps, tree = self.gaps, self.call_tree
        launch = lookup(self.device_events.launch, gaps.device_event)
        begun = np.maximum(gaps.start, lookup(tree.start, launch))
        inside = np.maximum(np.minimum(gaps.end, lookup(tree.end, launch)) - begun, 0)
        late = (gaps.cause == Cause.LAUNCH) & (launch >= 0)
        return np.asarray(gaps.duration - np.where(late, inside, 0))

    def idle_within(self, steps: Sequence[int], *, whole: bool = False) -> Nanoseconds:
        """`idle_before_call` of gaps of some steps; those that only the bounds part are as one.

        Args:
            steps: these steps.
            whole: all between the same two device events are as one.
        """
        number = self.gaps.whole if whole else self.gaps.uncut
        inside = isin(self.gap_step, steps)
        return sum_by(number, np.where(inside, self.idle_before_call, 0), len(number))[number]

    @cached_property
    def idle_around(self) -> Nanoseconds:
        """`idle_before_call`; of gaps before the first event of a device, of all of them."""
        gaps, idle = self.gaps, self.idle_before_call
        leading = isin(gaps.device_event, first_of_each(self.device_events.device))
        _, device = unique_inverse(gaps.device)
        around = np.bincount(device, np.where(leading, idle, 0)).astype(np.int64)
        return np.where(leading, around[device], idle)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """What puts in doubt the trace."""
        steps, measured = self.steps, None
        if steps.warm_up >= 0:
            measured = isin(self.device_event_step, np.flatnonzero(steps.counted))
        found = find_faults(
            self.host,
            self.nodes,
            self.modules,
            self.device_events,
            self.clocks,
            self.bounds,
            measured,
        )
        return (*found, *step_faults(self.steps))

    @cached_property
    def node_parts(self) -> Parts:
        """Host time of nodes by module."""
        again = self.calls_again.parts
        return node_parts(self.nodes, self.attribution, self.compiled, again)

    @cached_property
    def calls_again(self) -> CallsAgain:
        """Calls of modules that nodes run again."""
        of = self.nodes, self.attribution, self.module_calls, self.call_tree
        return find_calls_again(*of)

    def forward_op_or_self(self, row: TreeRow) -> TreeRow:
        """Forward operator of the node around each row of the call tree, else the row.

        Python frames lead to it: the autograd thread has none of its own.
        """
        forward_op = lookup(self.nodes.forward_op, self.row_node[row])
        return np.where(forward_op >= 0, forward_op, row)

    @cached_property
    def in_backward(self) -> Bool:
        """Device events launched in the backward phase, shape (d,)."""
        return np.asarray(lookup(self.phases.row, self.device_events.launch) == Phase.BACKWARD)

    @cached_property
    def without_phase(self) -> Bool:
        """Device events that may be the forward's, where the trace does not show it, shape (d,)."""
        launched = lookup(self.phases.row, self.device_events.launch) == Phase.OTHER
        return np.asarray(launched & (not self.phases.known[Phase.FORWARD]))

    @cached_property
    def replayed_graphs(self) -> ReplayedGraphs:
        """Graphs that were launched in no known pass, and what is unknown because of them."""
        of = self.host, self.device_events, self.phases, self.device_event_step
        return find_replayed_graphs(*of, len(self.steps.name))

    @cached_property
    def step_times(self) -> StepTimes:
        """Times of every step."""
        rows = self.blocked_launches
        queue_full = self.call_tree.time_of(rows)
        return step_times(
            self.steps,
            self.phases,
            self.syncs,
            self.device_events,
            self.gaps,
            queue_full,
            self.communication_waits,
        )

    @cached_property
    def communication_waits(self) -> TimeSet:
        """Time in which the training thread waits for collectives of the host."""
        threads = unique(self.steps.thread)
        return find_host_waits(self.host, threads[threads >= 0])

    @cached_property
    def step_device_events(self) -> StepDeviceEvents:
        """Device events of every step."""
        return step_device_events(
            self.steps, self.device_events, self.device_event_step, self.launched_before
        )

    @cached_property
    def sync_idle(self) -> Nanoseconds | None:
        """Device idle time that each sync caused; None without a known launch."""
        if not len(self.device_events.launches):
            return None
        return self.gaps.by_sync(len(self.syncs))

    @cached_property
    def launched_before(self) -> Bool:
        """Device events that were launched before the trace began, shape (d,).

        Their launch is not in the trace, and no event before them on their stream has one there;
        or they began before the first launch of all. A stream runs its events in order.
        """
        events = self.device_events
        known = events.launch >= 0
        if not known.any():
            return np.zeros(len(events), bool)
        first = np.full(
            len(self.trace.threads), lookup(self.call_tree.start, events.launch)[known].min()
        )
        seen = unique(events.stream[known])
        first[seen] = np.iinfo(np.int64).max
        np.minimum.at(first, events.stream[known], events.start[known])
        return np.asarray(~known & (events.start < first[events.stream]))

    @cached_property
    def device_event_step(self) -> StepIndex:
        """Step to which each device event belongs, -1 for none, shape (d,).

        The one in which it was launched; of an event without a launch the one in which it began,
        unless it was launched before the trace began.
        """
        events = self.device_events
        launched = lookup(self.call_tree.start, events.launch)
        step = self.steps.at(np.where(events.launch >= 0, launched, events.start))
        return np.where(self.launched_before, -1, step)

    @cached_property
    def made_nodes(self) -> Bool:
        """Rows of the call tree that made an autograd node, shape (n,)."""
        return made_nodes(self.host, self.row_node)

    @cached_property
    def memory(self) -> MemoryUse | None:
        """Blocks of torch's allocators; None for a trace recorded without `profile_memory`."""
        if not (self.trace.memory.amount != 0).any():
            return None
        of = self.phases, self.attribution, self.steps
        return MemoryUse(self.host, *of, self.made_nodes)

    @cached_property
    def operators(self) -> OperatorRows:
        """Host rows that are calls of operators."""
        return operator_rows(self.host)

    @cached_property
    def on_host(self) -> bool:
        """Whether the model ran on the CPU: the recorder or operators say so, and no device ran.

        Without either, a trace with no device event may be of a training whose device was not
        recorded.
        """
        noted = self.trace.manifest
        if len(self.device_events) or (noted is not None and noted.on_device):
            return False
        known = noted is not None and noted.on_host
        return known or runs_on_cpu(self.host, self.operators, self.row_node >= 0)

    @cached_property
    def syncs_known(self) -> bool:
        """Whether calls of a device's runtime are there, or the model ran on the CPU."""
        return bool(len(self.syncs) or calls_runtime(self.host) or self.on_host)

    @property
    def of_another_recorder(self) -> bool:
        """Whether no event has a category of torch's profiler."""
        return bool((self.trace.events.kind == EventCategory.OTHER).all())

    @cached_property
    def of_unrecorded_device(self) -> int:
        """Operators, nodes and memory events of a device, where it was not recorded itself."""
        if len(self.device_events) or calls_runtime(self.host):
            return 0
        return only_of_devices(self.host) + of_device_threads(self.host, self.nodes)

    @property
    def device_unseen(self) -> bool:
        """Whether the trace has a device's operators, memory or launches, but nothing it ran."""
        if len(self.device_events) or self.on_host:
            return False
        return bool(self.of_unrecorded_device or len(launches_to_run(self.host)))

    @cached_property
    def call_work(self) -> CallWork:
        """FLOPs and bytes of calls of operators, by the shapes of their inputs."""
        return call_work(self.host, partial_rows(self.host, self.device_events))

    @cached_property
    def device_work(self) -> DeviceWork:
        """FLOPs and bytes of device events, by the calls that launched them."""
        return device_work(self.host, self.device_events, self.kinds, self.call_work)

    @cached_property
    def ran(self) -> Bool:
        """Whether each host row launched device events, shape (n,); all rows without a device.

        What is captured into a graph does not run.
        """
        if not len(self.device_events):
            return np.ones(len(self.call_tree), bool)
        return self.call_tree.holds(mask_of(self.device_events.launches, len(self.call_tree)))

    @cached_property
    def counted_calls(self) -> Bool:
        """Calls of known FLOPs that ran, in no other such call; shape (n,)."""
        return np.asarray(self.call_work.outermost & self.ran)

    @cached_property
    def time_at_peak(self) -> Float:
        """Nanoseconds that each device event's FLOPs take at its device's peak, shape (d,).

        0 for events without FLOPs, NaN where the peak is unknown. In whole parts of a nanosecond,
        so that sums are exact and the same in any order.
        """
        work, events = self.device_work, self.device_events
        dtype = lookup(self.call_work.dtype, work.call)
        peak = flops_per_ns(self.trace.devices, events.device, dtype, self.kinds.tensor_core)
        time = np.where(work.flops > 0, work.flops / peak, 0.0)
        return np.asarray(np.rint(time * _PARTS_OF_NS) / _PARTS_OF_NS)

    @cached_property
    def compiled_units(self) -> CompiledUnits:
        """Rows that run compiled code."""
        return find_compiled_units(self.host, self.nodes)

    @cached_property
    def compiled_modules(self) -> Bool:
        """Whether each module ran inside of compiled regions, where they ran."""
        return compiled_modules(self.host, self.modules, self.module_calls)

    @cached_property
    def module_sources(self) -> tuple[str | None, ...]:
        """`file.py:line` of each module; None where it is not known."""
        return module_sources(self.host, self.modules, self.module_calls)


def analyze_trace(trace: Trace) -> Analysis:
    """Attribute a trace that has been read."""
    event_role = roles(trace).astype(np.int64)
    call_tree, bounds = call_tree_of(trace, _nested_rows(trace, event_role)), _bounds(trace)
    host = HostRows(trace, call_tree, event_role[call_tree.event])
    nodes = find_nodes(host)
    modules, module_calls = find_modules(host, nodes)
    device_events = find_device_events(trace, call_tree)
    attribution, compiled = _attributed(host, nodes, modules, module_calls, device_events)
    phases = find_phases(host, nodes.of_row, module_calls, nodes.forward_op)
    launched = attribute_device_events(device_events, nodes.of_row, phases.row, attribution)
    placed = place_device_events(device_events, launched, compiled)
    calls = call_rows(host)
    kinds = device_event_kinds(host, device_events)
    timing = LaunchTiming(host, device_events, calls, kinds.of_peers(device_events))
    clocks = clock_errors(host, device_events, calls)
    call_times = divide_calls(timing, clocks.skew)
    syncs = find_syncs(host, calls, call_times, device_events.duration)
    launches_known = phases.rows_known and len(device_events.launches) > 0
    active = _activity(host, device_events, known=launches_known)
    steps = find_steps(trace, event_role, bounds, active)
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
        compiled=compiled,
        device_attribution=placed[0],
        device_parts=placed[1],
        phases=phases,
        steps=without_lost(of_program(steps, host, device_events, syncs), host, device_events),
        call_times=call_times,
        syncs=syncs,
        clocks=clocks,
        timing=timing,
        launches_known=launches_known,
    )


def _attributed(
    host: HostRows,
    nodes: Nodes,
    modules: Modules,
    module_calls: ModuleCalls,
    device_events: DeviceEvents,
) -> tuple[Attribution, Compiled | None]:
    """The attribution, with compiled graphs placed where the recorder left their map."""
    base = attribute(host, nodes, modules, module_calls)
    compiled = place_compiled(host, nodes, modules, module_calls, base, device_events)
    return (with_compiled_rows(compiled) if compiled else base), compiled


def _activity(host: HostRows, device_events: DeviceEvents, *, known: bool) -> Nanoseconds:
    """Starts of launches; where these are not known of all host rows, without any of the events.

    A loader that is asked for a batch after the last one, and the garbage collector, work in no
    step: their rows count where there are no others.
    """
    tree = host.call_tree
    if known:
        return tree.start[device_events.launch[device_events.launch >= 0]]
    if not len(tree):
        return device_events.start
    waiting = tree.inside(isin(host.role, [int(Role.DATA), int(Role.COLLECTION)]))
    return tree.start if waiting.all() else tree.start[~waiting]


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
