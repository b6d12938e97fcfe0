"""Operators that record a CUDA or HIP graph, and compiled code that replays one."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.compiled.launches import is_graph_launch
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, isin, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, GapIndex, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.evidence.host import graph_calls, launches_after, regions
from tb_hookview.trace import EventCategory

_CAPTURES = ("cudaStreamBeginCapture", "hipStreamBeginCapture")
RECORD_ONCE = (
    "Record graphs before the loop: run every shape two or three times first (a graph is recorded "
    "in the second or third call), pad or bucket shapes, and do not change what a graph reads: "
    'else mode="reduce-overhead" records again.'
)


def recorders(context: Context) -> TreeRow:
    """Outermost operators that record a graph, in the whole trace; ascending."""
    captures = np.flatnonzero(context.rows.beginning(*_CAPTURES))
    found = unique(context.rows.outermost_operator_of(captures))
    return found[found >= 0]


def next_to_recording(context: Context, rows: TreeRow) -> Bool:
    """Whether the outermost operator of each of some rows records a graph."""
    return isin(context.rows.outermost_operator_of(rows), recorders(context))


def before_recording(context: Context, rows: TreeRow) -> Bool:
    """Which rows are the last before a graph is recorded.

    No operator begins in between, but those that put a random generator's state on the device.
    """
    tree, captures = context.call_tree, np.flatnonzero(context.rows.beginning(*_CAPTURES))
    state = context.rows.named("aten::empty", "aten::fill_")
    operators = np.flatnonzero((context.host.kind == EventCategory.OPERATOR) & ~state)
    thread, start = tree.thread[captures], tree.start[captures]
    row = lookup(rows, asof(tree.thread[rows], tree.start[rows], thread, start))
    operator = lookup(operators, asof(tree.thread[operators], tree.start[operators], thread, start))
    last = (row >= 0) & (lookup(tree.start, row) > lookup(tree.start, operator))
    return isin(rows, row[last])


def while_recording(context: Context, gaps: GapIndex) -> Bool:
    """Gaps of the cause LAUNCH with the launching thread mostly in `recorders`, shape (g,)."""
    rows, found = recorders(context), np.zeros(len(gaps), bool)
    if not len(rows):
        return found
    tree, table = context.call_tree, context.analysis.gaps
    thread = lookup(tree.thread, launches_after(context, gaps))
    spans = np.stack([table.start[gaps], table.end[gaps]], axis=1)
    for each in unique(tree.thread[rows]).tolist():
        time = tree.time_of(rows[tree.thread[rows] == each])
        inside = intervals.lengths_within(time, spans)
        found |= (thread == each) & (2 * inside > table.duration[gaps])
    return found


def mostly_before_code_that_replays(context: Context, gaps: GapIndex) -> bool:
    """Whether most of the time of some gaps of the cause LAUNCH ended with a launch of compiled
    code that replays a graph in the same call."""
    compiled, time = graph_calls(context) | regions(context), context.analysis.gaps.duration[gaps]
    replays = np.flatnonzero(is_graph_launch(context.host) & context.rows.counted)
    calls = context.rows.outermost_of(compiled, replays)
    mine = context.rows.outermost_of(compiled, launches_after(context, gaps))
    found = (mine >= 0) & isin(mine, unique(calls))
    return 2 * int(time[found].sum()) > int(time.sum())
