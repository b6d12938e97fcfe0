"""Calls of the device's runtime, and how the time of each divides."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.calls.work import WORK, call_work
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import index_of
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import DeviceEventIndex, EventRow, Nanoseconds, TreeRow
from tb_hookview.tables.events.names import Columns, Names
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known, microseconds
from tb_hookview.trace import EventCategory


def runtime_calls(selection: Selection) -> Arrays:
    """The table `runtime_calls`: those that began in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    tree, step = analysis.call_tree, analysis.steps.at(analysis.call_tree.start)
    host = ~analysis.host.device_threads[tree.thread]
    calls = np.flatnonzero((analysis.host.kind == EventCategory.RUNTIME) & host & selection.rows)
    return Arrays(
        calls,
        {
            "id": lambda i: Numbers(tree.event[i]),
            "name": lambda i: names.event(tree.event[i]),
            "thread_id": lambda i: Numbers(tree.thread[i]),
            "start_us": lambda i: microseconds(tree.start[i]),
            "duration_us": lambda i: microseconds(tree.duration[i]),
            **_division(analysis, names),
            "step": lambda i: names.step(step[i]),
            "step_id": lambda i: known(step[i]),
        },
    )


def _division(analysis: Analysis, names: Names) -> Columns:
    """Parts of the time of calls; of those that waited for nothing all of it is their own."""
    times, tree, event = analysis.call_times, analysis.call_tree, analysis.device_events.event
    place = index_of(times.row, len(tree))

    def ns(column: Nanoseconds, row: TreeRow) -> Nanoseconds:
        return np.maximum(lookup(column, place[row]), 0)

    def events(column: DeviceEventIndex, row: TreeRow) -> EventRow:
        return lookup(event, lookup(column, place[row]))

    def own(row: TreeRow) -> Nanoseconds:
        return tree.duration[row] - ns(times.waited, row) - ns(times.transfer, row)

    return {
        "waited_us": lambda i: microseconds(ns(times.waited, i)),
        "transfer_us": lambda i: microseconds(ns(times.transfer, i)),
        "own_us": lambda i: microseconds(own(i)),
        "work": lambda i: Texts(
            WORK, call_work(analysis.host, analysis.calls, analysis.kernel_loads.row, i)
        ),
        "waited_for": lambda i: names.event(events(times.ahead, i)),
        "waited_for_id": lambda i: known(events(times.ahead, i)),
        "copy_id": lambda i: known(events(times.copy, i)),
        "sync_id": lambda i: known(lookup(analysis.syncs.of_call, place[i])),
    }
