"""What a trace leaves unknown, counted with the reason: phases, kernels, queues, devices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.compiled.graphs import is_compiled
from tb_hookview.analysis.consistency.checks import Fault, counted
from tb_hookview.analysis.device.kinds import OTHER
from tb_hookview.analysis.host.activity import calls_runtime
from tb_hookview.analysis.host.rows import EVALUATE, Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import isin, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import greatest_by, least_by, sum_by
from tb_hookview.arrays.types import Bool
from tb_hookview.schema.terms import Phase
from tb_hookview.trace import EventCategory

_SHOWN = {"no-host", "no-forward", "replayed-graphs"}


def outside_phases(analysis: Analysis) -> Iterator[Fault]:
    """Count what is in no phase, by reason; host rows where no device event shows it already."""
    found = list(_of_device(analysis))
    yield from found
    if not analysis.phases.known[Phase.FORWARD] and _SHOWN.isdisjoint(
        fault.code for fault in found
    ):
        other = analysis.phases.row == Phase.OTHER
        yield from counted("no-forward-host", int(np.count_nonzero(other)))


def optimizers_in_backward(analysis: Analysis) -> Iterator[Fault]:
    """Count the calls of optimizers in autograd nodes, as in hooks of gradients."""
    tree, updating = analysis.call_tree, analysis.host.role == Role.OPTIMIZER
    rows = np.flatnonzero(updating & (analysis.row_node >= 0) & (tree.nearest_above(updating) < 0))
    if len(rows):
        yield Fault("optimizer-in-backward", len(rows), time=int(tree.duration[rows].sum()))


def updates_in_graphs(analysis: Analysis) -> Iterator[Fault]:
    """Count the calls of `zero_grad` where no `step` is seen, and compiled code may hold it."""
    host = analysis.host
    texts, rows = host.trace.strings.texts, np.flatnonzero(host.role == Role.OPTIMIZER)
    stepped = any(".step" in texts[name] for name in unique(host.string[rows]).tolist())
    stepped |= bool(analysis.phases.unmarked.any())
    if not stepped and any(map(is_compiled, texts)):
        yield from counted("compiled-update", len(rows))


def _of_device(analysis: Analysis) -> Iterator[Fault]:
    if not analysis.launches_known:
        yield from counted("no-host", len(analysis.device_events))
        return
    sums, duration = between_nodes(analysis), analysis.device_events.duration
    if sums.any():
        yield Fault("gradient-sums", int(sums.sum()), time=int(duration[sums].sum()))
    replayed = analysis.replayed_graphs.unplaced
    yield from replayed_graphs(analysis)
    rest = analysis.without_phase & ~sums & ~replayed
    if duration[rest].sum() > duration[replayed].sum():  # else the forward is probably in graphs
        yield from counted("no-forward", int(rest.sum()))


def replayed_graphs(analysis: Analysis) -> Iterator[Fault]:
    """Count the device events of graphs that were launched in no known phase."""
    duration, replayed = analysis.device_events.duration, analysis.replayed_graphs.unplaced
    if replayed.any():
        time = int(duration[replayed].sum())
        share = time / max(int(duration.sum()), 1)
        yield Fault("replayed-graphs", int(replayed.sum()), time=time, share=share)


def between_nodes(analysis: Analysis) -> Bool:
    """Device events that autograd threads launched between their first and last node, in none.

    Only old traces have these: an evaluation is around the node and the sums before it.
    """
    host, nodes, launch = analysis.host, analysis.nodes, analysis.device_events.launch
    texts = host.trace.strings
    names = unique(host.string[nodes.row]).tolist()
    if not names or any(texts[name].startswith(EVALUATE) for name in names):
        return np.zeros(len(launch), bool)
    thread = host.call_tree.thread
    first = least_by(thread[nodes.row], nodes.row, len(host.trace.threads), len(host))
    last = greatest_by(thread[nodes.row], nodes.row, len(host.trace.threads), -1)
    elsewhere = ~isin(analysis.phases.row, [int(Phase.BACKWARD), int(Phase.OTHER)])
    last[thread[elsewhere]] = -1
    last[analysis.steps.thread[analysis.steps.thread >= 0]] = -1
    between = (launch > lookup(first, thread[launch])) & (launch < lookup(last, thread[launch]))
    return np.asarray(between & (launch >= 0) & (lookup(nodes.of_row, launch) < 0))


_UNNAMED_SHARE = 0.1
"""Of device time."""
_NAMED = 3


def unnamed_kernels(analysis: Analysis) -> Iterator[Fault]:
    """Count the device events of kind `other`, and name those with the most time."""
    duration = analysis.device_events.duration
    other = np.flatnonzero(analysis.kinds.kind == OTHER)
    time, whole = int(duration[other].sum()), int(duration.sum())
    if not whole or time <= _UNNAMED_SHARE * whole:
        return
    names, place = unique_inverse(analysis.trace.events.name[analysis.device_events.event[other]])
    total = sum_by(place, duration[other], len(names))
    top = np.argsort(-total, kind="stable")[:_NAMED]
    texts = tuple(analysis.trace.strings[name] for name in names[top].tolist())
    yield Fault("unnamed-kernels", len(other), share=time / whole, names=texts)


_LATE_NS = 100_000_000
"""The profiler itself takes less to start."""
_LATE_SHARE = 0.1
"""Of the time that the profiler recorded."""


def late_first_row(analysis: Analysis) -> Iterator[Fault]:
    """Time that the profiler recorded before its first row, where that is long.

    Without Python stacks, or operators, what the host does by itself leaves no row. Steps
    say which time is reported.
    """
    events, (first, last) = analysis.trace.events, analysis.bounds
    around = (events.kind == EventCategory.SPAN) & (events.start <= first) & (events.end > first)
    if not around.any() or analysis.steps.marked:
        return
    begin = int(events.start[around].max())
    late, length = first - begin, max(last, int(events.end[around].max())) - begin
    if late >= max(_LATE_NS, _LATE_SHARE * length):
        yield Fault("late-first-row", 1, time=late, share=late / length)


_BY_CALLS = frozenset(
    {
        *(Cause.SYNC, Cause.COPY, Cause.ALLOCATOR, Cause.KERNEL_LOADING, Cause.LAUNCH),
        *(Cause.PROFILER, Cause.DEVICE),
    }
)
"""Causes of idle time that calls of a device's runtime show."""
_BY_NAMES = frozenset({Cause.DATA_LOADING})
"""Causes that operators and annotations show."""


def unseen_causes(analysis: Analysis) -> frozenset[Cause]:
    """Causes of idle time that nothing in the trace would show: no idle time has one."""
    called = calls_runtime(analysis.host) or len(analysis.device_events.launches) > 0
    named = bool(analysis.phases.known[Phase.DATA])
    unseen = (frozenset() if called else _BY_CALLS) | (frozenset() if named else _BY_NAMES)
    if not called and not named:
        unseen |= {Cause.COMMUNICATION}
    return unseen - {Cause(cause) for cause in unique(analysis.gaps.cause).tolist()}


_UNSEEN_SHARE = 0.01
"""Of the trace's duration."""


def unseen_queue(analysis: Analysis) -> Iterator[Fault]:
    """Count the streams whose first event the trace does not show why it began so late.

    A queue runs in order: what was queued before the recording, or by another process, is not in
    the file, and the device is taken to have idled meanwhile.
    """
    gaps, events = analysis.gaps, analysis.device_events
    ended = np.flatnonzero((gaps.cause == Cause.UNKNOWN) & (gaps.device_event >= 0))
    event = gaps.device_event[ended]
    opens = analysis.timing.first_of_stream[event] & (events.launch[event] >= 0)
    opens &= gaps.start[ended] >= analysis.timing.launch_start[event]
    time = int(gaps.duration[ended[opens]].sum())
    first, last = analysis.bounds
    if time > _UNSEEN_SHARE * (last - first):
        streams = len(unique(events.stream[event[opens]]))
        yield Fault("unseen-queue", streams, time=time, share=time / (last - first))


_PREEMPTED_SHARE = 0.01
"""Of device time."""


def preempted_kernels(analysis: Analysis) -> Iterator[Fault]:
    """Count the kernels that ran far longer than equal launches, and the time beyond these."""
    time, whole = analysis.preempted, int(analysis.device_events.duration.sum())
    if whole and time.sum() > _PREEMPTED_SHARE * whole:
        share = float(time.sum() / whole)
        yield Fault("preempted", int(np.count_nonzero(time)), time=int(time.sum()), share=share)


def unrecorded_device(analysis: Analysis) -> Iterator[Fault]:
    """Count what only a device has, where neither its events nor calls of its runtime are there."""
    yield from counted("unrecorded-device", analysis.of_unrecorded_device)


def unrecorded_steps(analysis: Analysis) -> Iterator[Fault]:
    """Count the steps of a trace in which no thread ran what a profiler of operators shows.

    A step alone may be the rest after the last one, and an optimizer without operators is of a
    trace that was recorded, or stored, without them.
    """
    kind, role, steps = analysis.host.kind, analysis.host.role, len(analysis.steps.name)
    ran = isin(kind, [int(EventCategory.OPERATOR), int(EventCategory.RUNTIME)])
    ran |= role == Role.OPTIMIZER
    if steps > 1 and not (ran.any() or len(analysis.device_events)):
        yield from counted("unrecorded-steps", steps)
