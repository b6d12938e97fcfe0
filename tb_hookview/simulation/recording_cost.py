"""What recording a trace cost its host: an estimate, by its rows.

The constants are fitted to programs that were timed unrecorded, and recorded with each option, by
torch 2.13 on a CPU and next to an H200; `benchmarks/recording_cost.py` and
`sample_traces/validate.py` compare estimates with steps. How quick another machine is, or the same
one under load, is known from the trace's cheapest operators, which do next to nothing. The recorder
times its own marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from tb_hookview.analysis.activity import thread_role
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import TIMED_MARKS, HostRows, Role
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, median, unique, unique_inverse
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.types import (
    EventRow,
    Float,
    Index,
    Int,
    Nanoseconds,
    ThreadIndex,
    TreeRow,
)
from tb_hookview.simulation.changes import Change, HostCost
from tb_hookview.simulation.replay import Quiet
from tb_hookview.trace import EventCategory, Trace
from tb_hookview.trace.format.manifest import Manifest

OPERATOR = 260.0
"""Nanoseconds for each row of an operator, or annotation."""
NODE, NODE_OF_CALLER = 4000.0, 1000.0
"""On top of that for the evaluation of an autograd node: on a thread of the backward's own, as
recordings of an H200 have it, and on the thread that calls the backward, as on a CPU."""
INPUT = 130.0
"""For each input of an operator whose shape is recorded (`record_shapes`)."""
ALLOCATION = 300.0
"""For each block allocated or freed (`profile_memory`)."""
PYTHON = 520.0
"""For each call of a Python function (`with_stack`)."""
_BETWEEN = 4
"""Times the median between two of their beginnings and ends that it is at most."""
CALL = 2500.0
"""For each call of the device's runtime or driver."""
_NEAR = 20_000
"""Nanoseconds after the beginning of a row, and its cost, in which recording may take more than
that: later, until the next begins, nothing is recorded."""
_REQUEST = "Activity Buffer Request"
"""Overhead of the profiler while the host waits for it."""
_CHEAP = ("aten::as_strided", "detach")
_CHEAP_NS, _CHEAP_WITH_SHAPES_NS, _ENOUGH = 280.0, 350.0, 16
"""Median of the cheapest operators where the constants were measured, nanoseconds, without and with
the shapes of their inputs recorded, which lengthens them; and how many there have to be."""
_TIMED = 2
"""Steps that the recorder timed without recording, from which on they bound the estimate."""
MOST = 3.0
"""Times the estimated cost that they may show it to have been: more is not what rows cost, but
steps that differ."""
_SPEEDS = 0.5, 6.0
"""Least and largest cost relative to the constants."""
_COSTS = {
    EventCategory.OPERATOR: OPERATOR,
    EventCategory.ANNOTATION: OPERATOR,
    EventCategory.RUNTIME: CALL,
}
"""By category, of what is in the call tree."""


def without_recording(analysis: Analysis, since: int) -> Change | None:
    """Change that takes the cost of recording off the host's time from a moment on.

    None where it is unknown: no operator of torch was recorded, or times are whole microseconds, as
    profilers wrote them whose cost was never measured.
    """
    host, tree = analysis.host, analysis.call_tree
    trace = analysis.trace
    events, memory = trace.events, trace.memory
    if not (tree.duration[host.kind == EventCategory.OPERATOR] % 1000).any():
        return None
    speed = _speed(host)
    costly = isin(host.kind, list(_COSTS)) & ~host.device_threads[tree.thread]
    rows = np.flatnonzero(costly & (tree.start >= since))
    calls = np.flatnonzero((events.kind == EventCategory.PYTHON) & (events.start >= since))
    blocks, requests = np.flatnonzero(memory.time >= since), buffer_requests(host, since)
    parts = (
        (tree.thread[rows], tree.start[rows], _costs(analysis, rows, speed)),
        (events.thread[calls], events.start[calls], _python(trace, calls, speed)),
        (memory.thread[blocks], memory.time[blocks], speed * ALLOCATION),
        (*requests[:2], (requests[2] - requests[1]).astype(np.float64)),
    )
    thread = np.concatenate([each for each, _, _ in parts])
    moment = np.concatenate([at for _, at, _ in parts])
    ns = np.concatenate([np.broadcast_to(cost, len(at)) for _, at, cost in parts])
    return Change(less=tuple(_by_thread(thread, moment, ns, (since, analysis.bounds[1]))))


def part_of_costs(change: Change, part: float) -> Change:
    """A change that takes off a part of what another takes off the host, or a multiple."""
    return replace(
        change, less=tuple(each._replace(total=part * each.total) for each in change.less)
    )


def timed_unrecorded(manifest: Manifest | None) -> tuple[float, float]:
    """Bounds of a step without recording, by those that the recorder timed; nanoseconds.

    A host that queues work for a device may run ahead: such steps do not bound it from above.
    """
    if manifest is None or len(manifest.unrecorded_us) < _TIMED:
        return 0.0, np.inf
    most = 1000 * max(manifest.unrecorded_us) if manifest.on_host else np.inf
    return 1000 * min(manifest.unrecorded_us), most


def _python(trace: Trace, calls: EventRow, speed: float) -> float:
    """Cost of a call of a Python function, nanoseconds.

    Half of it passes before each moment at which one begins or ends, and half of these moments
    have no more than the median between them and the one before. So it would be twice the median
    at most if all calls cost the same. What is recorded of a function for the first time costs
    more: seven timed recordings of `sample_traces/gpu` need up to four times.
    """
    events = trace.events
    moment = np.concatenate([events.start[calls], events.end[calls]])
    thread = np.tile(events.thread[calls], 2)
    order = np.lexsort((moment, thread))
    between = np.diff(moment[order])[np.diff(thread[order]) == 0]
    return min(speed * PYTHON, _BETWEEN * median(between)) if len(between) else speed * PYTHON


def buffer_requests(host: HostRows, since: int) -> tuple[ThreadIndex, Nanoseconds, Nanoseconds]:
    """Thread, start and end of each time in which the profiler made room for what it records.

    The driver does so in a call that launches: its thread is that of the innermost row around it.
    """
    events, tree = host.trace.events, host.call_tree
    names = [name for name, text in enumerate(host.trace.strings.texts) if text == _REQUEST]
    wanted = (events.kind == EventCategory.OVERHEAD) & isin(events.name, names)
    rows = np.flatnonzero(wanted & (events.start >= since))
    start, end = events.start[rows], events.end[rows]
    thread, latest = np.full(len(rows), -1, np.int64), np.full(len(rows), -1, np.int64)
    for each in unique(tree.thread[~host.device_threads[tree.thread]]).tolist():
        around = innermost_at(tree, np.full(len(rows), each), start)
        inside = (around >= 0) & (lookup(tree.end, around) >= end)
        begins = np.where(inside, lookup(tree.start, around), -1)
        thread = np.where(begins > latest, each, thread)
        latest = np.maximum(latest, begins)
    found = thread >= 0
    return thread[found], start[found], end[found]


def _by_thread(
    thread: Index | Int, moment: Nanoseconds, ns: Float, within: tuple[int, int]
) -> Iterator[HostCost]:
    """Yield the costs of rows that begin within two moments, by thread."""
    order = np.lexsort((moment, thread))
    thread, moment, ns = thread[order], moment[order], ns[order]
    opens = np.flatnonzero(np.diff(thread, prepend=-1))
    for begin, end in pairwise([*opens.tolist(), len(order)]):
        at, cost = moment[begin:end], ns[begin:end]
        over = at + np.rint(cost).astype(np.int64) + _NEAR
        quiet = intervals.of(np.append(within[0], over), np.append(at, within[1]))
        total = np.append(0.0, np.cumsum(cost))
        yield HostCost(at, total, Quiet(int(thread[begin]), quiet))


def _costs(analysis: Analysis, rows: TreeRow, speed: float) -> Float:
    """Cost of some rows of the host, nanoseconds."""
    host = analysis.host
    trace, kind, role = host.trace, host.kind[rows], host.role[rows]
    each = np.zeros(len(EventCategory))
    each[list(_COSTS)] = list(_COSTS.values())
    ns = each[kind] + _node(analysis)[host.call_tree.thread[rows]] * (role == Role.NODE)
    if len(types := trace.events.types):
        operators = np.flatnonzero(kind == EventCategory.OPERATOR)
        texts, place = unique_inverse(types[host.call_tree.event[rows[operators]]])
        inputs = [trace.texts[text].count('"') // 2 for text in texts.tolist()]
        ns[operators] += INPUT * np.array(inputs, np.int64)[place]
    ns *= speed
    calls = kind == EventCategory.RUNTIME
    ns[calls] = _call(host, rows[calls], speed)
    for mark, us in (trace.manifest.cost_us if trace.manifest else {}).items():
        if us is not None:
            ns[isin(role, [int(each) for each in TIMED_MARKS.get(mark, ())])] = 1000 * us
    return np.asarray(ns)


def _node(analysis: Analysis) -> Float:
    """What the evaluation of a node costs on each thread, nanoseconds."""
    ns = np.full(len(analysis.trace.threads), NODE)
    for thread in unique(analysis.call_tree.thread[analysis.nodes.row]).tolist():
        if thread_role(analysis, thread) == "forward":
            ns[thread] = NODE_OF_CALLER
    return ns


def _call(host: HostRows, calls: TreeRow, speed: float) -> float:
    """Cost of a call of the runtime or driver, nanoseconds.

    It passes until the next call of the thread begins: it is no more than that takes in the densest
    quarter of the calls.
    """
    tree = host.call_tree
    between = np.diff(tree.start[calls])[np.diff(tree.thread[calls]) == 0]
    return min(speed * CALL, float(np.quantile(between, 0.25)) if len(between) else np.inf)


def _speed(host: HostRows) -> float:
    """Cost of recording where this was recorded, relative to the constants."""
    tree, cheap = host.call_tree, host.named(_CHEAP.__contains__)
    if len(cheap) < _ENOUGH:
        return 1.0
    shapes = lookup(host.trace.events.types, tree.event[cheap]) > 0
    usual = _CHEAP_WITH_SHAPES_NS if shapes.any() else _CHEAP_NS
    return float(np.clip(np.median(tree.duration[cheap]) / usual, *_SPEEDS))
