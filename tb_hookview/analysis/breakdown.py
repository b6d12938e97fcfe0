"""Steps taken apart as torch_tb_profiler does: each moment to the first category that holds it.

    kernel > copy > set > communication > runtime > data loading > other host work > rest

A step ends with the last device work that was launched in it, and begins no earlier than the step
before it ended:

    host      |-- step 1 --|-- step 2 --|
    device         |work of 1  |work of 2     |
    here      |-- step 1 ------|-- step 2 ----|

Last steps whose device work the trace does not hold, or holds far less of than of the step before,
are left out: the profiler stopped before their work ran.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.roles import Role
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.trace import EventCategory

CATEGORIES = ("kernel", "copy", "set", "communication", "runtime", "data", "host", "other")
"""Categories, first claim first; the last is what none of the others holds."""
_COLLECTIVES = ("nccl:", "gloo:", "mpi:", "ucc:", "hccl:", "xccl:")
_WHOLE = 0.8
"""A last step with less than this share of the device events of the step before is cut off."""


class Breakdown(Struct, frozen=True):
    """The first s steps of the analysis, those whose device work is in the trace."""

    window: Int
    """Start and end with the device work that each launched, shape (s, 2), nanoseconds."""
    time: Int
    """Time by category, shape (s, len(CATEGORIES)), nanoseconds; rows sum to the window."""


def find_breakdown(analysis: Analysis) -> Breakdown:
    """Take every step apart."""
    window, kept = device_steps(analysis)
    window = window[:kept]
    taken, covered = intervals.EMPTY, [np.zeros(kept, np.int64)]
    for claim in _claims(analysis):
        if len(claim):
            taken = intervals.normal(np.concatenate([taken, claim]))
        covered.append(intervals.lengths_within(taken, window))
    covered.append(window[:, 1] - window[:, 0])
    return Breakdown(window, np.asarray(np.diff(np.stack(covered, axis=1)), np.int64))


def device_steps(analysis: Analysis) -> tuple[Int, int]:
    """Windows of all steps with the device work launched in each, and how many of them are whole.

    Work is launched in the step that its call lies in as a whole. The first step begins no earlier
    than the end of work that was launched before it and ended before its own work began.
    """
    host, work = analysis.steps.window, analysis.device_events
    step = _launching_step(analysis)
    launched = np.bincount(step[step >= 0], minlength=len(host))
    if not launched.any():
        return host, len(host)
    last = np.full(len(host), np.iinfo(np.int64).min)
    np.maximum.at(last, step[step >= 0], work.end[step >= 0])
    end = np.maximum.accumulate(np.maximum(host[:, 1], last))
    before = host[0, 0]
    if launched[0]:
        earlier = (step < 0) & (work.end < work.start[step == 0].min())
        before = max(before, work.end[earlier].max(initial=before))
    start = np.maximum(host[:, 0], np.concatenate([[before], end[:-1]]))
    return np.stack([start, np.maximum(end, start)], axis=1), _whole_steps(launched)


def _launching_step(analysis: Analysis) -> Int:
    """Index of the step in which each piece of work was launched, -1 for none, shape (d,)."""
    launch, window = analysis.device_events.launch, analysis.steps.window
    start, end = (lookup(c, launch) for c in (analysis.call_tree.start, analysis.call_tree.end))
    step = np.searchsorted(window[:, 0], start, side="right") - 1
    inside = (launch >= 0) & (step >= 0) & (end <= window[np.maximum(step, 0), 1])
    return np.where(inside, step, -1)


def _whole_steps(launched: Int) -> int:
    """How many steps remain when those at the end whose device work is missing are left out."""
    last = int(np.flatnonzero(launched)[-1])
    cut = last > 0 and launched[last - 1] * _WHOLE > launched[last]
    return last if cut else last + 1


def _claims(analysis: Analysis) -> list[Int]:
    """Intervals that each category lays claim to, in their order; they may overlap."""
    work, host = analysis.device_events, analysis.host
    kind = analysis.trace.events.kind[work.event]
    collective = (analysis.kinds.kind == COMMUNICATION) & (kind == EventCategory.KERNEL)
    says_so = _named_collectives(analysis)
    rest = isin(host.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])
    rest &= ~says_so & (host.role != Role.DATA)
    return [
        _of_work(analysis, (kind == EventCategory.KERNEL) & ~collective),
        _of_work(analysis, kind == EventCategory.COPY),
        _of_work(analysis, kind == EventCategory.SET),
        np.concatenate([_of_work(analysis, collective), _of_rows(analysis, says_so)]),
        _of_rows(analysis, host.kind == EventCategory.RUNTIME),
        _of_rows(analysis, host.role == Role.DATA),
        _of_rows(analysis, rest),
    ]


def _named_collectives(analysis: Analysis) -> Bool:
    """Host rows that a process group put around a collective."""
    texts = analysis.trace.strings.texts
    named = np.array([text.startswith(_COLLECTIVES) for text in texts] or [False])
    return np.asarray(named[analysis.host.string] & (analysis.host.kind != EventCategory.RUNTIME))


def _of_work(analysis: Analysis, wanted: Bool) -> Int:
    return np.stack(
        [analysis.device_events.start[wanted], analysis.device_events.end[wanted]], axis=1
    )


def _of_rows(analysis: Analysis, wanted: Bool) -> Int:
    """The rows wanted, but not those that lie within another one and so add no time."""
    call_tree, rows = analysis.call_tree, np.flatnonzero(wanted)
    parent = call_tree.parent[rows]
    around = (parent >= 0) & wanted[parent]
    outer = rows[~(around & (call_tree.end[rows] <= call_tree.end[parent]))]
    return np.stack([call_tree.start[outer], call_tree.end[outer]], axis=1)
