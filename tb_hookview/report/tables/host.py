"""The tables of the host: its threads, operators by name, and calls that allocate.

A thread works while an operator, an annotation or a call of the device's runtime is open on it.
What it does in Python between these shows only in traces with stacks, where frames of its main loop
are open all the time, and says nothing about work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.activity import thread_role
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import Call
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.operators import OperatorCalls
from tb_hookview.analysis.phases import REASONS
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Intervals, TimeSet, to_us
from tb_hookview.schema import Phase
from tb_hookview.tables.events.names import first_events
from tb_hookview.tables.events.operators import by_name, operator_columns
from tb_hookview.tables.model.columns import Arrays, listed


class _Rows(NamedTuple):
    """Rows of the call tree of one thread, from `first` up to `end`."""

    thread: int
    first: int
    end: int


def thread_rows(selection: Selection) -> list[schema.Thread]:
    """One row per host thread that did anything in the selection, busiest first."""
    analysis = selection.analysis
    windows = _windows(selection)
    table = []
    for rows in _threads(analysis):
        chosen = bool(selection.rows[rows.first : rows.end].any())
        row = _row(analysis, rows, windows)
        if chosen or row.busy_us:
            table.append(row)
    return sorted(table, key=lambda row: row.busy_us, reverse=True)


def _windows(selection: Selection) -> Intervals | None:
    """Bounds of the chosen steps; None for the whole trace."""
    if selection.chosen is None:
        return None
    return np.asarray(selection.analysis.steps.window[list(selection.chosen)])


def _threads(analysis: Analysis) -> list[_Rows]:
    """Threads of the host: those that are no device's."""
    thread = analysis.call_tree.thread
    first = np.flatnonzero(np.diff(thread, prepend=-1))
    end = np.append(first[1:], len(thread))
    hosts = ~analysis.host.device_threads[thread[first]]
    return list(map(_Rows, *(column[hosts].tolist() for column in (thread[first], first, end))))


def _row(analysis: Analysis, rows: _Rows, windows: Intervals | None) -> schema.Thread:
    place = analysis.trace.threads[rows.thread]
    times = _phase_times(analysis, rows)
    spent = _with_unknown(analysis, [_length(time, windows) for time in times])
    by_phase = {phase.name.lower(): to_us(spent[phase]) for phase in Phase if spent[phase]}
    blocked = _length(_blocked(analysis, rows.thread), windows)
    return schema.Thread(
        id=rows.thread,
        thread=place.name or place.tid,
        process=place.pid,
        role=thread_role(analysis, rows.thread),
        busy_us=to_us(sum(spent)),
        by_phase=by_phase,
        blocked_us=to_us(blocked) if analysis.syncs_known else None,
    )


def _with_unknown(analysis: Analysis, spent: list[int]) -> list[int]:
    """Time by phase, that of an unknown phase in `other`, as part of it may be there already."""
    known = [*analysis.phases.known.tolist(), True]
    shown = [time if sure else 0 for time, sure in zip(spent, known, strict=True)]
    shown[Phase.OTHER] += sum(spent) - sum(shown)
    return shown


def _length(time: TimeSet, windows: Intervals | None) -> int:
    """Nanoseconds of a set of time that lie in the windows (None: all)."""
    if windows is None:
        return intervals.length(time)
    return int(intervals.lengths_within(time, windows).sum())


def _phase_times(analysis: Analysis, rows: _Rows) -> list[TimeSet]:
    """Time in which any row of the thread was open, by phase: disjoint sets."""
    call_tree, reason = analysis.call_tree, analysis.phases.reason
    mine = slice(rows.first, rows.end)
    start = call_tree.start[mine]
    end = call_tree.end[mine]
    parent = call_tree.parent[mine]
    own = reason[mine]
    # Others lie as a whole within one of the same phase; some straddle the end of what is around.
    adds = np.flatnonzero((own != lookup(reason, parent)) | (end > lookup(call_tree.end, parent)))
    taken, times = intervals.EMPTY, [intervals.EMPTY] * len(Phase)
    closures = intervals.EMPTY
    for number, phase in enumerate(REASONS):
        found = adds[own[adds] == number]
        if len(found):
            whole = intervals.of(start[found], end[found])
            if phase == Phase.OPTIMIZER:
                closures, whole = whole, intervals.subtract(whole, analysis.phases.closures)
            left = intervals.subtract(whole, taken)
            times[phase] = intervals.normal(np.concatenate([times[phase], left]))
            taken = intervals.normal(np.concatenate([taken, whole]))
    between = intervals.subtract(closures, taken)  # the optimizer's row is open around a closure
    times[Phase.OTHER] = intervals.normal(np.concatenate([times[Phase.OTHER], between]))
    return times


def _blocked(analysis: Analysis, thread: int) -> TimeSet:
    syncs = analysis.syncs
    mine = (analysis.call_tree.thread[syncs.row] == thread) & ~syncs.by_profiler
    return intervals.of(syncs.start[mine], syncs.end[mine])


def operator_rows(selection: Selection) -> list[schema.Operator]:
    """One row per name, most expensive on the device first, then on the host.

    Calls count where they began in the selection, device events where their launches do.
    """
    calls = OperatorCalls(selection)
    groups = by_name(calls)
    host, device = groups.sum(calls.self_host), groups.sum(calls.self_device)
    order = np.lexsort((groups.first, -host, -device))[: schema.OPERATORS]
    columns = Arrays(order, operator_columns(groups)).take(
        schema.Operator.__struct_fields__, range(len(order))
    )
    return [schema.Operator(*row) for row in zip(*map(listed, columns.values()), strict=True)]


def allocation_rows(selection: Selection) -> list[schema.Allocation]:
    """One row per call's name, most expensive first; calls that began in the selection.

    A call inside another of these is part of it.
    """
    analysis, host = selection.analysis, selection.analysis.host
    calls = analysis.calls == Call.ALLOCATE
    if not calls.any():
        return []
    outermost = analysis.call_tree.nearest_above(calls) < 0
    wanted = np.flatnonzero(calls & outermost)
    first = first_events(host.string[wanted], analysis.call_tree.event[wanted])
    rows = wanted[selection.rows[wanted]]
    charged = selection.gaps & (analysis.gaps.cause == Cause.ALLOCATOR)
    idle = sum_by(analysis.gaps.row[charged], analysis.gaps.duration[charged], len(host))
    waited = np.zeros(len(host), np.int64)
    waited[analysis.call_times.row] = analysis.call_times.waited
    table = []
    for string in unique(host.string[rows]).tolist():
        mine = rows[host.string[rows] == string]
        table.append(
            schema.Allocation(
                id=int(first[string]),
                api=analysis.trace.strings[string],
                count=len(mine),
                blocked_us=to_us(analysis.call_tree.duration[mine].sum()),
                waited_us=to_us(waited[mine].sum()),
                device_idle_us=to_us(idle[mine].sum()) if len(analysis.device_events) else None,
            )
        )
    return sorted(table, key=lambda row: row.blocked_us, reverse=True)
