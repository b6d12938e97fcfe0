"""Forward, backward, optimizer, data and other; and the steps of a trace.

A host row is in the phase of the first of these that holds: inside an autograd node's evaluation
(backward), inside an `Optimizer.*` annotation or a marked call that scales or clips gradients
(optimizer), inside a `DataLoader` annotation, inside a module's call or an operator that made an
autograd node or holds one that did (forward). The rest is other. A forward that runs inside the
optimizer's step, as a closure does, is forward all the same.
That an operator carries a sequence number says nothing: it is the number the *next* node will get,
and `loss.item()` carries one too.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import ModuleCalls
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.schema.terms import Phase
from tb_hookview.trace import EventCategory, Trace

_UPDATING = (Role.OPTIMIZER, Role.FUNCTION_MARK)
REASONS = (
    Phase.BACKWARD,
    Phase.FORWARD,
    Phase.OPTIMIZER,
    Phase.DATA,
    Phase.FORWARD,
    Phase.OTHER,
)
"""What each reason for a phase makes of a row, first match first; forward has two: inside the
optimizer, and elsewhere."""


class Phases(Struct, frozen=True):
    """Phase of each host row, and the host time of each phase."""

    row: Int
    """Phase of each forest row, shape (n,)."""
    reason: Int
    """Per forest row, the place in `REASONS` of what makes it so."""
    time: tuple[Int, ...]
    """Per phase up to FORWARD, the set of time it holds (shape (k, 2)); the sets are disjoint,
    and a moment belongs to the first phase that any thread is in."""


def find_phases(host: HostRows, row_node: Int, ranges: ModuleCalls, forward_ops: Int) -> Phases:
    """Tell the phase of every forest row.

    Args:
        trace: for the kinds of rows.
        forest: host rows.
        role: role of each, shape (n,).
        row_node: index of the node inside which each is, -1 outside the backward pass.
        ranges: calls of modules.
        forward_ops: positions of the operators that made nodes.
    """
    updating = isin(host.role, [int(role) for role in _UPDATING])
    forward = (ranges.module >= 0) & (ranges.role != Role.LABEL)
    forward |= _operators_up_from(host, forward_ops)
    closure = forward & (host.call_tree.nearest_above(updating) >= 0)
    tests = (row_node >= 0, closure, updating, host.role == Role.DATA, forward)
    reason = np.full(len(host), len(tests), np.int64)
    taken, times = intervals.EMPTY, [intervals.EMPTY] * len(Phase)
    for number, test in enumerate(tests):
        inside = host.call_tree.nearest(test) >= 0
        reason[inside & (reason == len(tests))] = number
        whole = intervals.of(host.call_tree.start[test], host.call_tree.end[test])
        phase = REASONS[number]
        times[phase] = _union(times[phase], intervals.subtract(whole, taken))
        taken = _union(taken, whole)
    return Phases(np.array(REASONS)[reason], reason, tuple(times[: Phase.OTHER]))


def _union(first: Int, second: Int) -> Int:
    return intervals.normal(np.concatenate([first, second]))


def _operators_up_from(host: HostRows, forward_ops: Int) -> Bool:
    """The given operators, and the operators around them."""
    operator = host.kind == EventCategory.OPERATOR
    result = np.zeros(len(host), bool)
    hop = unique(forward_ops[forward_ops >= 0])
    while len(hop):
        result[hop] = operator[hop]
        hop = unique(host.call_tree.parent[hop])
        hop = hop[hop >= 0]
    return result


class Steps(Struct, frozen=True):
    """Steps of the training loop in order of time, shape (s,)."""

    name: tuple[str, ...]
    window: Int
    """Start and end of each, shape (s, 2), nanoseconds, host side."""
    thread: Int
    """Thread on which each is marked; -1 for a step without a mark."""

    def at(self, time: Int) -> Int:
        """Index of the step in which each moment lies, -1 outside all."""
        place = np.searchsorted(self.window[:, 0], time, side="right") - 1
        inside = (place >= 0) & (time <= self.window[np.maximum(place, 0), 1])
        return np.where(inside, place, -1)


def find_steps(trace: Trace, role: Int, first: int, last: int) -> Steps:
    """Steps by the host's `ProfilerStep#N` rows; without any, the whole trace is one step.

    Args:
        trace: the trace.
        role: role of every event (not of forest rows).
        first, last: bounds of the trace, nanoseconds.
    """
    events = trace.events
    rows = np.flatnonzero((role == Role.STEP) & (events.kind != EventCategory.DEVICE_ANNOTATION))
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    if not len(rows):
        return Steps(("whole trace",), np.array([[first, last]], np.int64), np.array([-1]))
    start = events.start[rows]
    end = start + events.duration[rows]
    end[:-1] = np.minimum(end[:-1], start[1:])  # a step's end and the next one's start may cross
    names = tuple(trace.strings[name] for name in events.name[rows])
    return Steps(names, np.stack([start, end], axis=1), events.thread[rows].astype(np.int64))
