"""The lane of the critical path: what passed the time of the measured steps, piece by piece."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.activity import activity_events
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.types import EventRow, Int, NameIndex, TreeRow
from tb_hookview.simulation.critical_path import CriticalPath, Part
from tb_hookview.simulation.recorded_path import recorded_path
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.timeline.lanes.colours import Colour, Colours
from tb_hookview.timeline.lanes.lane import LaneItems
from tb_hookview.timeline.lanes.names import PATH_NAMES, LaneNames
from tb_hookview.trace import EventCategory

LOADING, _PAUSE = len(PATH_NAMES) - 2, len(PATH_NAMES) - 1
_LONG_NS = 100_000
"""Host time that is named by what holds it, and not only by the launch at its end."""
_COLOURS = {
    Part.HOST: Colour.HOST,
    Part.DEVICE: Colour.DEVICE,
    Part.LATENCY: Colour.LATENCY,
    Part.PAUSE: Colour.UNEXPLAINED,
    Part.PEERS: Colour.COMMUNICATION,
}
_OF_PART: Colours = np.array([_COLOURS[part] for part in Part], np.uint8)


class PathLane:
    """The critical path of the measured steps; the graph is built on first use.

    Args:
        analysis: the trace.
        simulator: replays these steps.
    """

    def __init__(self, analysis: Analysis, simulator: Simulator) -> None:
        self._analysis, self.simulator = analysis, simulator

    @property
    def refused(self) -> str | None:
        """Why there is none; None where there is one."""
        return self.simulator.refused

    @cached_property
    def recorded(self) -> CriticalPath:
        """The path at recorded times since the start of the window."""
        return recorded_path(self.simulator.unchanged)

    def items(self, names: LaneNames) -> LaneItems:
        """Pieces of the path; the source of an item is its place on it."""
        items = self.items_of(self.recorded, names)
        taken = np.flatnonzero(items.end > items.start)
        return LaneItems(
            items.start[taken], items.end[taken], items.name[taken], items.colour[taken], taken
        )

    def items_of(self, path: CriticalPath, names: LaneNames) -> LaneItems:
        """Pieces of a path of this graph on the trace's clock."""
        loading = np.append(self.simulator.graph.loading, False)[path.edge] & (
            path.part == Part.HOST
        )
        collective = np.append(self._analysis.kinds.kind == COMMUNICATION, False)[path.event]
        colour = _OF_PART[path.part]
        colour[loading] = Colour.DATA
        colour[(path.part == Part.DEVICE) & collective] = Colour.COMMUNICATION
        start = self.simulator.window.start
        name = self._names(path, names)
        name[loading] = names.path + LOADING
        places = np.arange(len(path.part))
        return LaneItems(path.start + start, path.end + start, name, colour, places)

    def _names(self, path: CriticalPath, names: LaneNames) -> NameIndex:
        """Name of each piece: of the device event, of the operator that ran, or of the edge."""
        analysis = self._analysis
        events = analysis.trace.events
        kind = np.append(self.simulator.graph.edges.kind, EdgeKind.HOST)[path.edge]
        name = names.path + kind
        name[path.part == Part.PAUSE] = names.path + _PAUSE
        name[path.part == Part.PEERS] = names.path + EdgeKind.COLLECTIVE
        on_device = (path.part == Part.DEVICE) & (path.event >= 0)
        name[on_device] = events.name[analysis.device_events.event[path.event[on_device]]]
        host = np.flatnonzero(path.part == Part.HOST)
        event = self.host_events(path.edge[host])
        name[host[event >= 0]] = events.name[event[event >= 0]]
        return np.asarray(name)

    def host_events(self, edge: Int) -> EventRow:
        """What the host ran on each edge: an operator, or what holds a long one; -1 for unknown."""
        graph, analysis = self.simulator.graph, self._analysis
        tree, source = analysis.call_tree, graph.edges.source[edge]
        target = graph.edges.target[edge]
        row = self.working_rows(self.leads_to(edge))
        event = lookup(tree.event, row)
        time = graph.nodes.time + self.simulator.window.start
        span = np.stack([time[source], time[target]], axis=1)
        covered = np.minimum(lookup(tree.end, row), span[:, 1]) - np.maximum(
            lookup(tree.start, row), span[:, 0]
        )
        length = span[:, 1] - span[:, 0]
        other = np.flatnonzero((length > _LONG_NS) & ((row < 0) | (2 * covered < length)))
        event[other] = activity_events(
            analysis.host, graph.nodes.thread[target[other]], span[other]
        )
        return event

    def leads_to(self, edge: Int) -> TreeRow:
        """Host row at the target of each edge, -1 for none."""
        return self.rows_at(self.simulator.graph.edges.target[edge])

    def rows_at(self, node: Int) -> TreeRow:
        """Host row at each node, -1 where that is none: a call, or what is around."""
        graph, analysis = self.simulator.graph, self._analysis
        row = np.full(len(node), -1, np.int64)
        host = np.flatnonzero(graph.nodes.thread[node] >= 0)
        moment = graph.nodes.time[node[host]] + self.simulator.window.start
        row[host] = innermost_at(analysis.call_tree, graph.nodes.thread[node[host]], moment)
        sync = np.full(len(graph.nodes.time), -1, np.int64)
        sync[graph.sync_end] = graph.sync
        of_sync = lookup(analysis.syncs.row, sync[node])
        return np.where(of_sync >= 0, of_sync, row)

    def working_rows(self, row: TreeRow) -> TreeRow:
        """Operator in which each row lies; a call in none by itself, -1 for anything else."""
        operator = lookup(self._operators, row)
        kind = lookup(self._analysis.host.kind.astype(np.int64), row)
        call = kind == int(EventCategory.RUNTIME)
        return np.where((operator >= 0) | ~call, operator, row)

    @cached_property
    def _operators(self) -> TreeRow:
        analysis = self._analysis
        return analysis.call_tree.nearest(analysis.host.kind == int(EventCategory.OPERATOR))
