"""The critical path at the times of the recording, so that it lies next to what was recorded.

The chain is that of the replay with nothing changed. Its pieces begin where their nodes were
recorded, and each goes on until the next: so they have no holes, and differ from the replay's by
the replay's error.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.arrays.types import Nanoseconds
from tb_hookview.simulation.critical_path import CriticalPath, Part
from tb_hookview.simulation.simulator import Prediction


def recorded_path(unchanged: Prediction) -> CriticalPath:
    """Critical path of the replay with nothing changed, at recorded times since the origin."""
    path, pace = unchanged.path, unchanged.pace
    nodes = unchanged.replay.graph.nodes
    end = int(nodes.time[pace.last] + nodes.duration[pace.last])
    begins = np.clip(_begins(unchanged), pace.since, end)
    start = np.maximum.accumulate(begins)
    return CriticalPath(
        path.part,
        path.edge,
        start,
        np.append(start[1:], end)[: len(start)],
        path.event,
        path.thread,
    )


def _begins(unchanged: Prediction) -> Nanoseconds:
    """Recorded moment at which each piece begins."""
    path, graph = unchanged.path, unchanged.replay.graph
    nodes, edges, lengths = graph.nodes, graph.edges, unchanged.replay.lengths
    last = path.edge < 0
    source = np.where(last, unchanged.pace.last, edges.source[path.edge])
    target = np.where(last, unchanged.pace.last, edges.target[path.edge])
    begins = nodes.time[source]
    left = np.where(edges.from_end[path.edge], nodes.duration[source], 0)
    left = left + np.minimum(lengths.lag[path.edge], 0)
    runs = np.minimum(begins + left, nodes.time[target])
    rests = np.maximum(runs, nodes.time[target] - lengths.pause[target])
    late = (path.part == Part.PEERS) & (edges.kind[path.edge] != EdgeKind.COLLECTIVE)
    rested = (path.part == Part.PAUSE) | late
    return np.where((path.part == Part.DEVICE) | last, begins, np.where(rested, rests, runs))
