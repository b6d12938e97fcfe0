"""What recording a trace cost its host: an estimate, by its rows.

The constants are fitted to programs that were timed unrecorded, and recorded with each option, by
torch 2.13 on a CPU; `benchmarks/recording_cost.py` compares estimates with steps. Rows of stacks
show how quick another machine is at it: a trace whose shortest Python calls take half as long was
recorded at half the cost. What CUPTI and its like add to calls of the runtime is unknown, and is
left in.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.roles import EVALUATE
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import EventRow, Float, Int
from tb_hookview.simulation.changes import Change, HostCost
from tb_hookview.trace import EventCategory, Trace

OPERATOR = 260.0
"""Nanoseconds for each row of an operator, or annotation."""
NODE = 4000.0
"""On top of that for the evaluation of an autograd node."""
INPUT = 80.0
"""For each input of an operator whose shape is recorded (`record_shapes`)."""
ALLOCATION = 80.0
"""For each block allocated or freed (`profile_memory`)."""
PYTHON = 520.0
"""For each call of a Python function (`with_stack`)."""
_SHORTEST, _QUANTILE, _ENOUGH = 60.0, 0.01, 100
"""Nanoseconds of the shortest Python calls where the constants were measured; which are the
shortest; and how many calls there have to be."""
_SPEEDS = 0.5, 2.0
"""Least and largest cost relative to the constants."""
_COST = np.zeros(max(EventCategory) + 1)
"""Of a row by its `EventCategory`."""
_COST[[EventCategory.OPERATOR, EventCategory.ANNOTATION]] = OPERATOR
_COST[EventCategory.PYTHON] = PYTHON


def without_recording(analysis: Analysis, since: int) -> Change | None:
    """Change that takes the cost of recording off the host's time from a moment on.

    None where it is unknown: no operator of torch was recorded, or times are whole microseconds, as
    profilers wrote them whose cost was never measured.
    """
    trace, events = analysis.trace, analysis.trace.events
    operators = events.duration[events.kind == EventCategory.OPERATOR]
    if not (operators % 1000).any():
        return None
    rows = np.flatnonzero((_COST[events.kind] > 0) & (events.start >= since))
    rows = rows[~analysis.host.device_threads[events.thread[rows]]]
    later, speed = np.flatnonzero(trace.memory.time >= since), _speed(trace)
    thread = np.concatenate([events.thread[rows], trace.memory.thread[later]])
    moment = np.concatenate([events.start[rows], trace.memory.time[later]])
    cost = speed * np.concatenate([_costs(trace, rows), np.full(len(later), ALLOCATION)])
    less = []
    for each in unique(thread.astype(np.int64)).tolist():
        mine = np.flatnonzero(thread == each)
        mine = mine[np.argsort(moment[mine], kind="stable")]
        less.append(HostCost(each, moment[mine], np.append(0.0, np.cumsum(cost[mine]))))
    return Change(less=tuple(less))


def _costs(trace: Trace, rows: EventRow) -> Float:
    """Cost of some rows, nanoseconds."""
    events, ns = trace.events, _COST[trace.events.kind[rows]]
    marks = np.flatnonzero(ns == OPERATOR)
    nodes = np.array([text.startswith(EVALUATE) for text in trace.strings.texts], bool)
    ns[marks] += NODE * nodes[events.name[rows[marks]]]
    if len(events.types):
        ns[marks] += INPUT * _inputs(trace)[events.types[rows[marks]]]
    return ns


def _inputs(trace: Trace) -> Int:
    """Inputs that each text of types lists."""
    used = unique(trace.events.types.astype(np.int64))
    count = np.zeros(len(trace.texts.texts), np.int64)
    count[used] = [trace.texts[text].count('"') // 2 for text in used.tolist()]
    return count


def _speed(trace: Trace) -> float:
    """Cost of recording where this was recorded, relative to the constants."""
    calls = trace.events.duration[trace.events.kind == EventCategory.PYTHON]
    if len(calls) < _ENOUGH:
        return 1.0
    return float(np.clip(np.quantile(calls, _QUANTILE) / _SHORTEST, *_SPEEDS))
