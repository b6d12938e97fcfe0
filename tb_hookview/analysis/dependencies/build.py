"""From an analysis to the graph of its measured steps."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.cross_stream import by_calls, by_times
from tb_hookview.analysis.dependencies.device import (
    DeviceTimes,
    launch_edges,
    queue_edges,
    stream_edges,
)
from tb_hookview.analysis.dependencies.graph import (
    EdgeKind,
    Edges,
    EdgeSet,
    Graph,
    joined,
    lateness,
)
from tb_hookview.analysis.dependencies.host import collective_edges, handover_edges, host_edges
from tb_hookview.analysis.dependencies.nodes import Nodes, number_nodes
from tb_hookview.analysis.dependencies.points import Points, find_points
from tb_hookview.analysis.dependencies.syncs import retry_edges, sync_edges
from tb_hookview.analysis.dependencies.window import Window
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool

PAUSE = 50_000
"""Nanoseconds from which on it is kept by how much a node is later than its edges explain."""


def build(analysis: Analysis, window: Window) -> Graph:
    """Build the graph of a window."""
    points = find_points(analysis, window)
    nodes = number_nodes(analysis, window, points)
    times = DeviceTimes(analysis, window)
    waits = sync_edges(analysis, points, nodes, times)
    sets: list[EdgeSet] = [
        *host_edges(analysis, window, points, nodes, waits),
        *handover_edges(points, nodes),
        collective_edges(points, nodes),
        *launch_edges(analysis, window, points, nodes, times),
        *stream_edges(times, nodes),
        *queue_edges(analysis, window, points, nodes, times),
        *waits.edges,
        retry_edges(analysis, points, nodes, times),
        *by_calls(analysis, times, nodes),
    ]
    edges = joined(sets)
    guessed = by_times(times, nodes, lateness(nodes, edges))
    if len(guessed.source):
        edges = joined([*sets, guessed])
    late = lateness(nodes, edges)
    marked = analysis.steps.thread[window.steps[-1]] >= 0
    before = (nodes.time + nodes.duration)[nodes.history]
    return Graph(
        nodes=nodes,
        edges=edges,
        pause=np.where(late >= PAUSE, late, 0),
        peers=np.append(analysis.kinds.kind == COMMUNICATION, False)[nodes.event],
        loading=_loading(analysis, window, points, nodes, edges),
        step_end=nodes.of_point[points.step_end],
        base=int(before.max(initial=0)) if marked else 0,
        sync=points.events.sync,
        sync_end=nodes.of_point[points.sync_end],
    )


def _loading(
    analysis: Analysis, window: Window, points: Points, nodes: Nodes, edges: Edges
) -> Bool:
    """Edges of a host thread that is in a data loader: these have points at their bounds."""
    loading, tree = np.zeros(len(edges.source), bool), analysis.call_tree
    for thread in unique(tree.thread[points.events.loader]).tolist():
        rows = points.events.loader[tree.thread[points.events.loader] == thread]
        mine = np.flatnonzero(
            (edges.kind == EdgeKind.HOST) & (nodes.thread[edges.target] == thread)
        )
        spans = np.stack([nodes.time[edges.source[mine]], nodes.time[edges.target[mine]]], axis=1)
        inside = intervals.of(tree.start[rows], tree.end[rows]) - window.start
        covered = intervals.lengths_within(inside, spans)
        loading[mine] = (covered > 0) & (covered == spans[:, 1] - spans[:, 0])
    return loading
