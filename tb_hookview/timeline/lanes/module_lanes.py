"""Lanes of modules: their calls, and their spans of the backward pass.

    nodes      [a.1 ][a.1 ][a.0 ]   [a.1 ][?]           module of each
    lane       [------- a ------]   [- a-]
               [--- 1 -----][-0-]   [--1-]

In the backward pass a module's span lasts from the first to the last of the nodes that follow
each other within its part of the tree. It ends where a node of another part, or of no module, comes
between, and where forward, optimizer or data time or a step's bound lies between.

A call or span in which the host waited for at least half of the time, in that module itself and
not in one below, has the colour of syncs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.backward_spans import spans_of_nodes
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import asof, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, ModuleIndex, Nanoseconds, ThreadIndex, TreeRow
from tb_hookview.timeline.lanes.colours import OF_PHASE, Colour
from tb_hookview.timeline.lanes.lane import LaneItems
from tb_hookview.timeline.lanes.names import LaneNames

SHARE = 0.01
"""Least part of a mean step that a sync costs; `HIGHLIGHT_THRESHOLD` of the page."""


def costly_syncs(analysis: Analysis) -> Bool:
    """Whether each sync made the device idle for that part of a step.

    A host that waits for a device at work loses nothing. Where idle time is unknown, the time of
    the sync itself counts; the profiler's own sync never does.
    """
    syncs, idle = analysis.syncs, analysis.sync_idle
    lost = syncs.duration if idle is None else np.minimum(syncs.duration, idle)
    steps = analysis.steps.window[list(Selection(analysis, None).averaged.steps)]
    step = float((steps[:, 1] - steps[:, 0]).mean()) if len(steps) else 0.0
    return np.asarray(~syncs.by_profiler & (lost > 0) & (lost >= SHARE * step))


MOST_LEVELS = 200
"""Modules below each other that have a row; further down there is none."""


def forward_rows(analysis: Analysis) -> TreeRow:
    """Rows of the call tree that are calls of modules outside the backward pass."""
    return np.flatnonzero((analysis.module_calls.module >= 0) & (analysis.row_node < 0))


def forward_items(analysis: Analysis, names: LaneNames, thread: int) -> LaneItems:
    """Calls of modules on a thread; the source of an item is its host row."""
    call_tree, module_calls = analysis.call_tree, analysis.module_calls
    rows = forward_rows(analysis)
    rows = rows[call_tree.thread[rows] == thread]
    start, end, module = call_tree.start[rows], call_tree.end[rows], module_calls.module[rows]
    owner = lookup(module_calls.module, module_calls.innermost(call_tree))
    syncs = _syncs(analysis, thread, owner, False)
    blocked = _mostly_blocked(start, end, module, syncs)
    colour = np.where(blocked, Colour.WAIT, OF_PHASE[analysis.phases.row[rows]])
    return LaneItems(start, end, names.module + module, colour.astype(np.uint8), rows)


def backward_threads(analysis: Analysis) -> ThreadIndex:
    """Threads on which nodes ran that belong to a module."""
    annotation = analysis.modules.annotation.astype(np.int64)
    owned = lookup(annotation, analysis.attribution.node_module) == 0
    return unique(analysis.call_tree.thread[analysis.nodes.row[owned]])


def backward_items(analysis: Analysis, names: LaneNames, thread: int) -> LaneItems:
    """Spans of modules on a thread, and calls of modules within nodes.

    The source of an item is the host row of its first node, or of the call.
    """
    call_tree, module_calls = analysis.call_tree, analysis.module_calls
    nodes = np.flatnonzero(call_tree.thread[analysis.nodes.row] == thread)
    spans = spans_of_nodes(analysis, nodes, MOST_LEVELS)
    start, end, module = spans.start, spans.end, spans.module
    again = np.flatnonzero((module_calls.module >= 0) & (analysis.row_node >= 0))
    again = again[call_tree.thread[again] == thread]
    recomputed = names.recomputed + module_calls.module[again]
    syncs = _syncs(analysis, thread, analysis.attribution.row_module, True)
    blocked = np.append(_mostly_blocked(start, end, module, syncs), np.zeros(len(again), bool))
    return LaneItems(
        start=np.concatenate([start, call_tree.start[again]]),
        end=np.concatenate([end, call_tree.end[again]]),
        name=np.concatenate([names.module + module, recomputed]),
        colour=np.where(blocked, Colour.WAIT, Colour.BACKWARD).astype(np.uint8),
        source=np.concatenate([analysis.nodes.row[nodes[spans.first]], again]),
    )


class _Syncs(NamedTuple):
    """Syncs of a thread, with the module of each."""

    start: Nanoseconds
    length: Nanoseconds
    module: ModuleIndex


def _syncs(analysis: Analysis, thread: int, module: ModuleIndex, backward: bool) -> _Syncs:
    """Costly syncs of a thread inside or outside of nodes.

    Args:
        analysis: of the trace.
        thread: the thread.
        module: the module of each row of the call tree.
        backward: whether inside.
    """
    syncs = analysis.syncs
    mine = costly_syncs(analysis) & (analysis.call_tree.thread[syncs.row] == thread)
    mine &= (analysis.row_node[syncs.row] >= 0) == backward
    start = syncs.start[mine]
    return _Syncs(start, syncs.end[mine] - start, module[syncs.row[mine]])


def _mostly_blocked(
    start: Nanoseconds, end: Nanoseconds, module: ModuleIndex, syncs: _Syncs
) -> Bool:
    """Items during half of which or more the host was in costly syncs of the module itself."""
    held = asof(module, start, syncs.module, syncs.start)
    inside = (held >= 0) & (syncs.module >= 0)
    inside &= lookup(end, held) > syncs.start
    waited = np.bincount(held[inside], syncs.length[inside], minlength=len(start))
    return np.asarray((waited > 0) & (2 * waited >= end - start))
