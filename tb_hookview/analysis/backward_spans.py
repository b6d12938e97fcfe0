"""Spans of modules in the backward pass: consecutive evaluations, by module.

    nodes      [a.1 ][a.1 ][a.0 ]   [a.1 ][?]           module of each
    spans      [------- a ------]   [- a-]
               [--- 1 -----][-0-]   [--1-]

A module's span lasts from the first to the last of nodes that follow each other within its part of
the tree. It ends at a node of another part, or of no module. It also ends where forward, optimizer
or data time or a step's bound lies between two nodes: these are two backward passes. An annotation
around the forward is no module, and has no span.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays import intervals
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, Nanoseconds, NodeIndex
from tb_hookview.schema.terms import Phase


class BackwardSpans(Struct, frozen=True):
    """Spans of modules over some rows, outer modules first; shape (s,)."""

    start: Nanoseconds
    end: Nanoseconds
    module: ModuleIndex
    first: Int
    """Index of the first row of each span."""


def spans_of_nodes(
    analysis: Analysis, nodes: NodeIndex, levels: int | None = None
) -> BackwardSpans:
    """Spans of modules over the nodes of a thread, in their order; `levels` as below."""
    rows = analysis.nodes.row[nodes]
    start, end = analysis.call_tree.start[rows], analysis.call_tree.end[rows]
    before = np.minimum(np.concatenate([start[:1], end[:-1]]), start)
    breaks = other_pass_between(analysis, before, start)
    owner = analysis.attribution.node_module[nodes]
    return find_backward_spans(analysis.modules, owner, start, end, breaks, levels)


def find_backward_spans(
    modules: Modules,
    owner: ModuleIndex,
    start: Nanoseconds,
    end: Nanoseconds,
    breaks: Bool,
    levels: int | None,
) -> BackwardSpans:
    """Wrap rows that follow each other into their modules.

    Args:
        modules: the module tree.
        owner: module of each row, -1 for none. Columns of rows are of shape (k,).
        start, end: of each row.
        breaks: rows at which all spans before them end.
        levels: depth of the tree from which on modules have no spans; None for any depth.
    """
    depth = lookup(modules.depth, owner)
    goes_on = ~breaks
    goes_on[:1] = False
    found: list[tuple[Nanoseconds, Nanoseconds, ModuleIndex, Int]] = []
    for level in range(int(min(depth.max(initial=-1) + 1, levels or len(modules)))):
        at_level = np.flatnonzero(modules.depth == level)
        place = np.searchsorted(at_level, owner, side="right") - 1
        module = np.where(depth >= level, at_level[place], -1)
        goes_on[1:] &= (module[1:] == module[:-1]) & (module[1:] >= 0)
        opens = np.flatnonzero(~goes_on)
        reach = np.maximum.reduceat(end, opens)
        mine = (module[opens] >= 0) & ~modules.annotation[module[opens]]
        opens = opens[mine]
        found.append((start[opens], reach[mine], module[opens], opens))
    nothing = np.zeros(0, np.int64)
    columns = zip(*found, strict=True) if found else ((nothing,),) * 4
    return BackwardSpans(*(np.concatenate(column) for column in columns))


def other_pass_between(analysis: Analysis, before: Nanoseconds, start: Nanoseconds) -> Bool:
    """Whether time of another phase, or a step's bound, lies between two moments each."""
    others = (Phase.FORWARD, Phase.OPTIMIZER, Phase.DATA)
    between = intervals.normal(np.concatenate([analysis.phases.time[p] for p in others]))
    spent = intervals.lengths_within(between, np.stack([before, start], axis=1))
    steps = analysis.steps
    return np.asarray((spent > 0) | (steps.at(start) != steps.at(before)))
