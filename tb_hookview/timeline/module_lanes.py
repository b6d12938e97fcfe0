"""Lanes of modules: their calls, and the stretches of the backward pass that belong to each.

    nodes      [a.1 ][a.1 ][a.0 ]   [a.1 ][?]           module of each
    lane       [------- a ------]   [- a-]
               [--- 1 -----][-0-]   [--1-]

In the backward pass a module's stretch lasts from the first to the last of the nodes that follow
each other within its part of the tree. It ends where a node of another part, or of no module, comes
between, and where forward, optimizer or data time or a step's bound lies between.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis import intervals
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.modules import Modules
from tb_hookview.analysis.phases import Phase
from tb_hookview.timeline.colours import OF_PHASE, Colour
from tb_hookview.timeline.lanes import Items
from tb_hookview.timeline.names import Names
from tb_hookview.trace.columns import Bool, Int


def forward_rows(analysis: Analysis) -> Int:
    """Forest rows of the calls of modules outside the backward pass."""
    return np.flatnonzero((analysis.ranges.module >= 0) & (analysis.row_node < 0))


def forward_items(analysis: Analysis, names: Names, thread: int) -> Items:
    """Calls of modules on a thread; the source of an item is its forest row."""
    rows = forward_rows(analysis)
    rows = rows[analysis.forest.thread[rows] == thread]
    return Items(
        start=analysis.forest.start[rows],
        end=analysis.forest.end[rows],
        name=names.module + analysis.ranges.module[rows],
        colour=OF_PHASE[analysis.phases.row[rows]],
        source=rows,
    )


def backward_threads(analysis: Analysis) -> Int:
    """Threads on which nodes ran that belong to a module."""
    owned = analysis.attribution.node_module >= 0
    return np.unique(analysis.forest.thread[analysis.nodes.position[owned]])


def backward_items(analysis: Analysis, names: Names, thread: int) -> Items:
    """Stretches of modules on a thread, and calls of modules within nodes.

    The source of an item is the forest row of its first node, or of the call.
    """
    forest, ranges = analysis.forest, analysis.ranges
    nodes = np.flatnonzero(forest.thread[analysis.nodes.position] == thread)
    start, end, module, row = _stretches(analysis, nodes)
    again = np.flatnonzero((ranges.module >= 0) & (analysis.row_node >= 0))
    again = again[forest.thread[again] == thread]
    name = np.concatenate([names.module + module, names.recomputed + ranges.module[again]])
    return Items(
        start=np.concatenate([start, forest.start[again]]),
        end=np.concatenate([end, forest.end[again]]),
        name=name,
        colour=np.full(len(name), Colour.BACKWARD, np.uint8),
        source=np.concatenate([row, again]),
    )


def _stretches(analysis: Analysis, nodes: Int) -> tuple[Int, Int, Int, Int]:
    """Start, end, module and first node's forest row of each stretch, outer modules first."""
    position = analysis.nodes.position[nodes]
    start, end = analysis.forest.start[position], analysis.forest.end[position]
    chain = _chains(analysis.modules)[analysis.attribution.node_module[nodes]]
    common = _common(chain, _fresh(analysis, start, end))
    found: list[tuple[Int, Int, Int, Int]] = []
    for level in range(chain.shape[1]):
        opens = np.flatnonzero(common <= level)
        module = chain[opens, level]
        reach = np.maximum.reduceat(end, opens) if len(opens) else end
        mine = module >= 0
        opens = opens[mine]
        found.append((start[opens], reach[mine], module[mine], position[opens]))
    nothing = np.zeros(0, np.int64)
    columns = zip(*found, strict=True) if found else ((nothing,),) * 4
    first, last, module, row = (np.concatenate(column) for column in columns)
    return first, last, module, row


def _chains(modules: Modules) -> Int:
    """Modules from the root down to each, -1 behind; the last row is that of no module."""
    levels = [np.arange(len(modules))]
    while (levels[-1] >= 0).any():
        above = levels[-1]
        levels.append(np.where(above >= 0, modules.parent[above], -1))
    upwards = np.stack(levels[:-1] or levels, axis=1)
    depth = (upwards >= 0).sum(axis=1)
    place = depth[:, None] - 1 - np.arange(upwards.shape[1])
    chain = np.take_along_axis(upwards, np.maximum(place, 0), axis=1)
    chain[place < 0] = -1
    return np.concatenate([chain, np.full((1, chain.shape[1]), -1)])


def _common(chain: Int, fresh: Bool) -> Int:
    """How much of the chain of each node continues that of the node before."""
    equal = np.zeros(chain.shape, bool)
    equal[1:] = (chain[1:] == chain[:-1]) & (chain[1:] >= 0)
    equal[fresh] = False
    return np.asarray(np.logical_and.accumulate(equal, axis=1).sum(axis=1))


def _fresh(analysis: Analysis, start: Int, end: Int) -> Bool:
    """Which nodes begin anew: time of another kind, or a step's bound, lies before them."""
    before = np.minimum(np.concatenate([start[:1], end[:-1]]), start)
    gaps = np.stack([before, start], axis=1)
    others = (Phase.FORWARD, Phase.OPTIMIZER, Phase.DATA)
    between = intervals.normal(np.concatenate([analysis.phases.time[p] for p in others]))
    steps = analysis.steps.at(start) != analysis.steps.at(before)
    return np.asarray((intervals.lengths_within(between, gaps) > 0) | steps)
