"""Time of the host's edges by module: a thread is in the innermost module that is open on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, Intervals, ModuleIndex, Nanoseconds, TreeRow
from tb_hookview.simulation.changes import HostEdges


class HostSpans(NamedTuple):
    """Parts of the time of host edges that are of one module each, by edge and time; shape (k,)."""

    edge: Int
    """Edge of the graph, ascending."""
    module: ModuleIndex
    """-1 outside modules."""
    time: Intervals
    """On the trace's clock, shape (k, 2)."""


def split_by_module(analysis: Analysis, edges: HostEdges) -> HostSpans:
    """Split edges where the module changes."""
    none = np.zeros(0, np.int64)
    parts = [HostSpans(none, none, np.zeros((0, 2), np.int64))]
    rows = _changes(analysis)
    for each in unique(edges.thread).tolist():
        mine = np.flatnonzero(edges.thread == each)
        moment, module = _timeline(analysis, rows[analysis.call_tree.thread[rows] == each])
        parts.append(_cut(edges.edge[mine], edges.time[mine], moment, module))
    edge, module, spans = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(edge, kind="stable")
    return HostSpans(edge[order], module[order], spans[order])


def _changes(analysis: Analysis) -> TreeRow:
    """Rows that are of another module than the row around them."""
    tree, module = analysis.call_tree, analysis.attribution.row_module
    return np.flatnonzero((module != lookup(module, tree.parent)) & (tree.end > tree.start))


def _timeline(analysis: Analysis, rows: TreeRow) -> tuple[Nanoseconds, ModuleIndex]:
    """Moments from which on a thread is in a module, ascending, and which one that is."""
    tree, module = analysis.call_tree, analysis.attribution.row_module
    above = lookup(module, tree.parent[rows])
    moment = np.concatenate([tree.end[rows][::-1], tree.start[rows]])
    order = np.argsort(moment, kind="stable")  # of one moment: inner ends first, outer starts first
    entered = np.concatenate([above[::-1], module[rows]])[order]
    return (
        np.concatenate([[np.iinfo(np.int64).min], moment[order]]),
        np.concatenate([[-1], entered]),
    )


def _cut(edge: Int, time: Intervals, moment: Nanoseconds, module: ModuleIndex) -> HostSpans:
    """Cut each edge at the moments inside of it."""
    first = np.searchsorted(moment, time[:, 0], side="right") - 1
    last = np.maximum(np.searchsorted(moment, time[:, 1], side="left") - 1, first)
    count = last - first + 1
    which = np.repeat(np.arange(len(edge)), count)
    place = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + first[which]
    until = np.append(moment, np.iinfo(np.int64).max)[place + 1]
    spans = np.stack(
        [np.maximum(moment[place], time[which, 0]), np.minimum(until, time[which, 1])], axis=1
    )
    keep = (spans[:, 1] > spans[:, 0]) | (count[which] == 1)
    return HostSpans(edge[which][keep], module[place][keep], spans[keep])
