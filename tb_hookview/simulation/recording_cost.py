"""What recording a trace cost its host: an estimate, by its rows.

The constants are fitted to programs that were timed unrecorded, and recorded with each option, by
torch 2.13 on a CPU; `benchmarks/recording_cost.py` compares estimates with steps. How quick another
machine is at it is known from rows of stacks (a trace whose shortest Python calls take half as long
was recorded at half the cost), else from the recorder's marks, which it times. On a virtual host of
an H200, where marks cost up to six times as much, 18 of 27 estimates are within 15% of timed steps,
and 8 were without that. What CUPTI and its like add to calls of the runtime is unknown, and is left
in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.roles import EVALUATE
from tb_hookview.arrays.joins import unique, unique_inverse
from tb_hookview.arrays.types import EventRow, Float, Index, Int, Nanoseconds
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
"""Least and largest cost relative to the constants, by Python calls."""
_MARK_US = {"forward": 2.6, "gradient": 1.3}
"""Microseconds of the recorder's marks where the constants were measured."""
_MARK_SPEEDS, _MODULES = (0.5, 6.0), 16
"""The same by marks, and how many modules there have to be: few marks find cold caches."""
_MARKS = (EventCategory.OPERATOR, EventCategory.ANNOTATION)


def without_recording(analysis: Analysis, since: int) -> Change | None:
    """Change that takes the cost of recording off the host's time from a moment on.

    None where it is unknown: no operator of torch was recorded, or times are whole microseconds, as
    profilers wrote them whose cost was never measured.
    """
    trace, events = analysis.trace, analysis.trace.events
    operators = events.duration[events.kind == EventCategory.OPERATOR]
    if not (operators % 1000).any():
        return None
    speed, memory = _speed(trace), trace.memory
    marks, calls = (_rows(analysis, since, *kinds) for kinds in (_MARKS, (EventCategory.PYTHON,)))
    later = np.flatnonzero(memory.time >= since)
    return Change(
        less=(
            *_by_thread(events.thread[marks], events.start[marks], speed * _costs(trace, marks)),
            *_by_thread(events.thread[calls], events.start[calls], speed * PYTHON),
            *_by_thread(memory.thread[later], memory.time[later], speed * ALLOCATION),
        )
    )


def _rows(analysis: Analysis, since: int, *kinds: EventCategory) -> EventRow:
    """Rows of host threads of some categories from a moment on."""
    events = analysis.trace.events
    of_kind = reduce(np.logical_or, (events.kind == kind for kind in kinds))
    rows = np.flatnonzero(of_kind & (events.start >= since))
    return rows[~analysis.host.device_threads[events.thread[rows]]]


def _by_thread(thread: Index | Int, moment: Nanoseconds, cost: Float | float) -> Iterator[HostCost]:
    """Yield the cost of some rows by thread: of each row, or the same of all, nanoseconds."""
    for each in unique(thread).tolist():
        mine = thread == each
        if isinstance(cost, float):
            moments = np.sort(moment[mine])
            total: Float = np.arange(len(moments) + 1) * np.float64(cost)
        else:
            order = np.argsort(moment[mine], kind="stable")
            moments, total = moment[mine][order], np.append(0.0, np.cumsum(cost[mine][order]))
        yield HostCost(each, moments, total)


def _costs(trace: Trace, marks: EventRow) -> Float:
    """Cost of some operators and annotations, nanoseconds."""
    events, ns = trace.events, np.full(len(marks), OPERATOR)
    names, place = unique_inverse(events.name[marks])
    evaluates = [trace.strings[name].startswith(EVALUATE) for name in names.tolist()]
    ns += NODE * np.array(evaluates, bool)[place]
    if len(events.types):
        texts, place = unique_inverse(events.types[marks])
        inputs = [trace.texts[text].count('"') // 2 for text in texts.tolist()]
        ns += INPUT * np.array(inputs, np.int64)[place]
    return ns


def _speed(trace: Trace) -> float:
    """Cost of recording where this was recorded, relative to the constants."""
    calls = trace.events.duration[trace.events.kind == EventCategory.PYTHON]
    if len(calls) < _ENOUGH:
        return _speed_of_marks(trace)
    short = int(_QUANTILE * len(calls))
    return float(np.clip(np.partition(calls, short)[short] / _SHORTEST, *_SPEEDS))


def _speed_of_marks(trace: Trace) -> float:
    """The same by the recorder's marks: the geometric mean of both kinds."""
    manifest = trace.manifest
    if manifest is None or len(manifest.modules) < _MODULES:
        return 1.0
    ratios = [(manifest.cost_us.get(kind) or 0.0) / us for kind, us in _MARK_US.items()]
    speed = math.sqrt(math.prod(ratios))
    return float(np.clip(speed, *_MARK_SPEEDS)) if speed else 1.0
