"""Steps by torch_tb_profiler's categories: each moment has the first category that holds it.

    kernel > copy > set > communication > runtime > data loading > other host work > rest

A step ends with the last device event that was launched in it, and begins no earlier than the step
before it ended:

    host      |-- step 1 --|-- step 2 --|
    device         |events of 1|events of 2   |
    here      |-- step 1 ------|-- step 2 ----|

Last steps with no device events in the trace, or far fewer than the step before, are left out: the
profiler stopped before they ran.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.steps import launching_step, whole_steps
from tb_hookview.arrays import intervals
from tb_hookview.arrays.sums import greatest_by
from tb_hookview.arrays.types import Bool, Intervals, Nanoseconds
from tb_hookview.trace import EventCategory

CATEGORIES = ("kernel", "copy", "set", "communication", "runtime", "data", "host", "other")
"""Categories, first claim first; the last is what none of the others holds."""
_COLLECTIVES = ("nccl:", "gloo:", "mpi:", "ucc:", "hccl:", "xccl:")
"""How names begin that a process group puts around a collective."""


class Breakdown(Struct, frozen=True):
    """The first s steps of the analysis, those whose device events are in the trace."""

    window: Intervals
    """Start and end of each with the device events that it launched, shape (s, 2)."""
    time: Nanoseconds
    """Time by category, shape (s, len(CATEGORIES)); rows sum to the window."""


def find_breakdown(analysis: Analysis) -> Breakdown:
    """Measure the categories of every step."""
    window, whole = device_steps(analysis)
    window = window[:whole]
    taken, covered = intervals.EMPTY, [np.zeros(whole, np.int64)]
    for claim in _claims(analysis):
        if len(claim):
            taken = intervals.normal(np.concatenate([taken, claim]))
            covered.append(intervals.lengths_within(taken, window))
        else:
            covered.append(covered[-1])
    covered.append(window[:, 1] - window[:, 0])
    return Breakdown(window, np.asarray(np.diff(np.stack(covered, axis=1)), np.int64))


def device_steps(analysis: Analysis) -> tuple[Intervals, int]:
    """Windows of all steps, their device events, and the number of whole steps.

    A device event is launched in the step that its call lies in as a whole. The first step begins
    no earlier than the end of those launched before it that ended before its own began.
    """
    host, device_events = analysis.steps.with_recording, analysis.device_events
    step = launching_step(analysis.steps, analysis.call_tree, device_events)
    launched = np.bincount(step[step >= 0], minlength=len(host))
    if not launched.any():
        return host, len(host)
    last = greatest_by(step[step >= 0], device_events.end[step >= 0], len(host))
    end = np.maximum.accumulate(np.maximum(host[:, 1], last))
    before = host[0, 0]
    if launched[0]:
        earlier = (step < 0) & (device_events.end < device_events.start[step == 0].min())
        before = max(before, device_events.end[earlier].max(initial=before))
    start = np.maximum(host[:, 0], np.concatenate([[before], end[:-1]]))
    return np.stack([start, np.maximum(end, start)], axis=1), whole_steps(launched)


def _claims(analysis: Analysis) -> list[Intervals]:
    """Intervals that each category claims, in their order; they may overlap."""
    host, work = analysis.host, analysis.device_events
    collective = (analysis.kinds.kind == COMMUNICATION) & work.is_kernel
    named = host.is_named(lambda text: text.startswith(_COLLECTIVES))
    named &= host.kind != EventCategory.RUNTIME
    rest = host.operators_and_annotations & ~named & (host.role != Role.DATA)
    return [
        _of_events(analysis, work.is_kernel & ~collective),
        _of_events(analysis, work.is_copy),
        _of_events(analysis, work.category == EventCategory.SET),
        np.concatenate([_of_events(analysis, collective), _of_rows(analysis, named)]),
        _of_rows(analysis, host.kind == EventCategory.RUNTIME),
        _of_rows(analysis, host.role == Role.DATA),
        _of_rows(analysis, rest),
    ]


def _of_events(analysis: Analysis, wanted: Bool) -> Intervals:
    device_events = analysis.device_events
    return np.stack([device_events.start[wanted], device_events.end[wanted]], axis=1)


def _of_rows(analysis: Analysis, wanted: Bool) -> Intervals:
    """Intervals of the wanted rows that are not within another one."""
    call_tree, rows = analysis.call_tree, np.flatnonzero(wanted)
    parent = call_tree.parent[rows]
    around = (parent >= 0) & wanted[parent]
    outer = rows[~(around & (call_tree.end[rows] <= call_tree.end[parent]))]
    return np.stack([call_tree.start[outer], call_tree.end[outer]], axis=1)
