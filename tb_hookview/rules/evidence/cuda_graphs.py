"""Where CUDA or HIP graphs are recorded, and compiled code that replays them."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.compiled.launches import is_graph_launch
from tb_hookview.analysis.consistency.checks import captured_launches, launches_to_run
from tb_hookview.analysis.device.events import of_graph
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, isin, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, GapIndex, TimeSet, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.evidence.host import graph_calls, launches_after, regions
from tb_hookview.trace import EventCategory

CAPTURES = ("cudaStreamBeginCapture", "hipStreamBeginCapture")
_CAPTURED = ("cudaStreamEndCapture", "hipStreamEndCapture")
RECORD_ONCE = (
    "Record graphs before the loop: run every shape two or three times first (a graph is recorded "
    "in the second or third call), pad or bucket shapes, and do not change what a graph reads: "
    'else mode="reduce-overhead" records again.'
)
_NOT_REPLAYED = (
    "CUDA or HIP graphs are recorded here, and none is replayed. Warm up first, and profile steps "
    "that replay them: a replay launches all of a graph at once, and what such steps still launch "
    "one by one is in no graph."
)

_REPLAYED = (
    "Most of the device's work is in CUDA or HIP graphs that are replayed already: bring what is "
    "still launched one by one into them, copy inputs for the next replay while one runs, read "
    "results later, or give each replay more to do by a larger batch. Have less Python between "
    "replays. Look for threads that compete for the cores, and for garbage collection."
)
_IN_GRAPHS = 0.5
"""Part of device work in replayed graphs from which on more of them are no remedy."""


def recorders(context: Context) -> TreeRow:
    """Outermost operators that record a graph, in the whole trace; ascending."""
    captures = np.flatnonzero(context.rows.beginning(*CAPTURES))
    found = unique(context.rows.outermost_operator_of(captures))
    return found[found >= 0]


def next_to_recording(context: Context, rows: TreeRow) -> Bool:
    """Whether the outermost operator of each of some rows records a graph."""
    return isin(context.rows.outermost_operator_of(rows), recorders(context))


def before_recording(context: Context, rows: TreeRow) -> Bool:
    """Which rows are the last before a graph is recorded.

    No operator begins in between, but those that put a random generator's state on the device.
    """
    tree, captures = context.call_tree, np.flatnonzero(context.rows.beginning(*CAPTURES))
    state = context.rows.named("aten::empty", "aten::fill_")
    operators = np.flatnonzero((context.host.kind == EventCategory.OPERATOR) & ~state)
    thread, start = tree.thread[captures], tree.start[captures]
    row = lookup(rows, asof(tree.thread[rows], tree.start[rows], thread, start))
    operator = lookup(operators, asof(tree.thread[operators], tree.start[operators], thread, start))
    last = (row >= 0) & (lookup(tree.start, row) > lookup(tree.start, operator))
    return isin(rows, row[last])


def while_recording(context: Context, gaps: GapIndex) -> Bool:
    """Gaps of the cause LAUNCH in which the launching thread mostly records graphs, shape (g,)."""
    captures, found = np.flatnonzero(context.rows.beginning(*CAPTURES)), np.zeros(len(gaps), bool)
    tree, table = context.call_tree, context.analysis.gaps
    thread = lookup(tree.thread, launches_after(context, gaps))
    spans = np.stack([table.start[gaps], table.end[gaps]], axis=1)
    for each in unique(tree.thread[captures]).tolist():
        inside = intervals.lengths_within(_recording_time(context, each), spans)
        found |= (thread == each) & (2 * inside > table.duration[gaps])
    return found


def _recording_time(context: Context, thread: int) -> TimeSet:
    """Time of a thread in `recorders`, and from the begin to the end of each capture."""
    tree, rows = context.call_tree, recorders(context)
    begins, ends = (
        np.flatnonzero(context.rows.beginning(*names) & (tree.thread == thread))
        for names in (CAPTURES, _CAPTURED)
    )
    place = np.searchsorted(tree.start[ends], tree.end[begins])
    begins, place = begins[place < len(ends)], place[place < len(ends)]
    captured = np.stack([tree.start[begins], tree.end[ends[place]]], axis=1)
    mine = tree.time_of(rows[tree.thread[rows] == thread])
    return intervals.normal(np.concatenate([mine, captured]))


def fix_where_recorded(context: Context) -> str:
    """Return what helps against launches where graphs are recorded but not replayed, else ""."""
    records = (context.rows.beginning(*CAPTURES) & context.rows.counted).any()
    replays = is_graph_launch(context.host).any() or context.device_events.of_graph.any()
    return _NOT_REPLAYED if records and not replays else ""


def fix_where_replayed(context: Context) -> str:
    """Return what helps against launches where most work is in replayed graphs already, else ""."""
    events = context.device_events
    return _REPLAYED if events.share(events.of_graph) > _IN_GRAPHS else ""


def captured_share(analysis: Analysis, start: int, end: int) -> float:
    """Share of the launches in a time that a graph captured; 0 where any is replayed."""
    host, events = analysis.host, analysis.device_events
    if is_graph_launch(host).any() or of_graph(host, events, np.arange(len(events))).any():
        return 0.0
    begun = [host.call_tree.start[rows(host)] for rows in (captured_launches, launches_to_run)]
    captured, run = (int(np.sum((each >= start) & (each < end))) for each in begun)
    return captured / max(captured + run, 1)


def mostly_before_code_that_replays(context: Context, gaps: GapIndex) -> bool:
    """Whether most of the time of some gaps of the cause LAUNCH ended with a launch of compiled
    code that replays a graph in the same call."""
    compiled, time = graph_calls(context) | regions(context), context.analysis.gaps.duration[gaps]
    replays = np.flatnonzero(is_graph_launch(context.host) & context.rows.counted)
    calls = context.rows.outermost_of(compiled, replays)
    mine = context.rows.outermost_of(compiled, launches_after(context, gaps))
    found = (mine >= 0) & isin(mine, unique(calls))
    return 2 * int(time[found].sum()) > int(time.sum())
