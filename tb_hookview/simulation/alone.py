"""The length of a step with some resources alone, and which of them decides it.

Everything else takes no time. What is left of each resource:

    host           edges of host threads, also their launches; a sync returns at once
    data           those within a data loader
    device         device events but collectives, and what passes from one to the next
    communication  collectives and the pauses before them; on the host (gloo), waiting for them

The host and its data loader take turns on one thread, as device and communication do where one
needs the other. So two sides are compared, each with both of its resources.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_hookview.analysis.dependencies.build import PAUSE
from tb_hookview.analysis.dependencies.graph import EdgeKind, Graph
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.schema import Bound
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.critical_path import Part, critical_path
from tb_hookview.simulation.replay import Lengths, Replayer, recorded
from tb_hookview.simulation.simulator import Simulator

HOST_SIDE: tuple[Bound, Bound] = ("host", "data")
DEVICE_SIDE: tuple[Bound, Bound] = ("device", "communication")
"""The second of each side can overlap with the other side, where it is set up so."""
_RESOURCES = (*HOST_SIDE, *DEVICE_SIDE)
EVEN = 0.05
"""Share of the longer side within which both count as even: half of all predictions are nearer to
what happened than that, nearly all within twice as much (`docs/validation.md`)."""
_EQUAL = 0.9
"""Part of what one resource of a side saves from which on the other saves as much."""


_DEVICE_PARTS = (Part.DEVICE, Part.PEERS)
_WORKS = (EdgeKind.HOST, EdgeKind.HANDOVER)
_RUNS = (EdgeKind.STREAM, EdgeKind.CROSS_STREAM)
_CHAINED = (EdgeKind.HOST, EdgeKind.STREAM)
"""A host thread and a stream have one next node each."""

_OF_GRAPH = ("_edges", "_host_edges", "_device_edges", "_unexplained_syncs", "unexplained")
"""Properties of `Alone` that do not depend on lengths."""


class _Edges(NamedTuple):
    """Some edges of a graph."""

    edge: Int
    replayer: Replayer
    """Replays the graph without the others."""

    @classmethod
    def of(cls, graph: Graph, kinds: tuple[EdgeKind, ...]) -> _Edges:
        """The edges of some kinds."""
        edges = graph.edges
        chosen = np.flatnonzero(edges.of(*kinds))
        columns = ("source", "target", "lag", "from_end", "kind", "evidence")
        some = {name: getattr(edges, name)[chosen] for name in columns}
        return cls(chosen, Replayer(replace(graph, edges=replace(edges, **some)), _CHAINED))


class Alone(Struct, frozen=True, dict=True):
    """Replays of one selection's steps with some resources alone."""

    simulator: Simulator
    """It replays the steps (`Simulator.refused` is None)."""
    before: Lengths | None = None
    """What they are replays of; None for the trace as recorded."""

    def step(self, *resources: Bound, change: Change | None = None) -> float:
        """Length of a step with some resources of one side alone, nanoseconds.

        Args:
            resources: those that take time.
            change: what else is changed.
        """
        simulator, graph = self.simulator, self.simulator.graph
        lengths = self.before or recorded(graph)
        if change is not None:
            lengths = simulator.lengths(change, lengths)
        edges, replayer = self._host_edges if resources[0] in HOST_SIDE else self._device_edges
        left = self._left(lengths, frozenset(resources))
        replay = replayer(Lengths(left.duration, left.lag[edges], left.pause))
        events = graph.nodes.of_event[simulator.window.step >= 0]
        end = max(replay.end[events].max(initial=0), replay.time[graph.step_end[-1]])
        return float(end) / len(simulator.window.steps)

    def _left(self, lengths: Lengths, resources: frozenset[Bound]) -> Lengths:
        """What is left of lengths with some resources alone."""
        graph = self.simulator.graph
        passes = np.zeros(len(lengths.lag), bool)
        for name, edges in self._edges.items():
            if name in resources:
                passes |= edges
        device, communication = (name in resources for name in DEVICE_SIDE)
        runs = np.where(graph.peers, communication, device) & ~graph.nodes.history
        pauses = graph.peers & communication
        return Lengths(
            np.where(runs, lengths.duration, 0),
            np.where(passes, lengths.lag, 0),
            np.where(pauses, lengths.pause, 0),
        )

    @cached_property
    def _edges(self) -> dict[Bound, Bool]:
        """Edges whose lags are time of each resource."""
        edges, loading = self.simulator.graph.edges, self.simulator.graph.loading
        works = edges.of(*_WORKS)
        return {
            "host": works & ~loading & ~self._unexplained_syncs,
            "data": works & loading,
            "device": edges.of(*_RUNS),
            "communication": edges.of(EdgeKind.COLLECTIVE),
        }

    @cached_property
    def _host_edges(self) -> _Edges:
        """Edges of the host's side."""
        return _Edges.of(self.simulator.graph, _WORKS)

    @cached_property
    def _device_edges(self) -> _Edges:
        """Edges of the device's side; where host threads run collectives they are in between."""
        waits = self._edges["communication"].any()
        return _Edges.of(
            self.simulator.graph, (*_WORKS, *_RUNS, EdgeKind.COLLECTIVE) if waits else _RUNS
        )

    @cached_property
    def _unexplained_syncs(self) -> Bool:
        """Edges of the host in which it waited for what the trace does not show."""
        graph = self.simulator.graph
        ends = np.zeros(len(graph.nodes.time), bool)
        ends[graph.sync_end] = True
        waits = ends[graph.edges.target] & graph.edges.of(EdgeKind.HOST)
        return np.asarray(waits & (graph.edges.lag >= PAUSE))

    @cached_property
    def each(self) -> dict[Bound, float]:
        """Length of a step with each resource alone, nanoseconds."""
        there = {
            "host": True,
            "data": self._edges["data"].any(),
            "device": self.has_events,
            "communication": self.communication_known
            and (self.simulator.graph.peers.any() or self._edges["communication"].any()),
        }
        return {name: self.step(name) if there[name] else 0.0 for name in _RESOURCES}

    @cached_property
    def host_side(self) -> float:
        """Length of a step with the host and its data loader alone, nanoseconds."""
        return self.step(*HOST_SIDE) if self.each["data"] else self.each["host"]

    @cached_property
    def device_side(self) -> float:
        """Length of a step with device and communication alone, nanoseconds."""
        return self.step(*DEVICE_SIDE) if self.each["communication"] else self.each["device"]

    @cached_property
    def unrecorded(self) -> Alone | None:
        """The same without the cost of recording; None where that is unknown."""
        base = self.simulator.unrecorded
        if base is None:
            return None
        other = Alone(self.simulator, base.replay.lengths)
        other.__dict__.update({name: getattr(self, name) for name in _OF_GRAPH})
        return other

    def saved(self, side: Literal["host", "device"], change: Change) -> float:
        """By how much a change shortens a step with one side alone, nanoseconds."""
        if side == "host":
            return self.host_side - self.step(*HOST_SIDE, change=change)
        return self.device_side - self.step(*DEVICE_SIDE, change=change)

    @cached_property
    def margin(self) -> float:
        """Difference of the two sides up to which they are even, nanoseconds."""
        return max(self.simulator.error, EVEN * max(self.host_side, self.device_side))

    @cached_property
    def bound(self) -> Bound:
        """What decides the length of a step."""
        if not self.device_known or self.unexplained > max(self.host_side, self.device_side):
            return "unknown"
        if abs(self.host_side - self.device_side) <= self.margin or self._path_disagrees:
            return "even"
        if self.host_side > self.device_side:
            return self._decisive(HOST_SIDE, self.host_side, self.device_side)
        return self._decisive(DEVICE_SIDE, self.device_side, self.host_side)

    @cached_property
    def _path_disagrees(self) -> bool:
        """Whether most of the critical path is of the shorter side: neither alone decides then."""
        base = self.simulator.unrecorded if self.before is not None else None
        path = critical_path(base.replay, base.pace) if base else self.simulator.unchanged.path
        shorter = _DEVICE_PARTS if self.host_side > self.device_side else (Part.HOST,)
        time = path.end - path.start
        return bool(2 * time[isin(path.part, shorter)].sum() > time.sum())

    def _decisive(self, side: tuple[Bound, Bound], whole: float, other: float) -> Bound:
        """The resource of a side without which a step is shortest; of equals the second."""
        first, second = side
        without_first = whole - max(self.each[second], other)
        without_second = whole - max(self.each[first], other)
        return second if without_second >= _EQUAL * without_first else first

    @property
    def device_known(self) -> bool:
        """Whether the trace shows what the device does, or that the model does not run on one."""
        return self.has_events or self.simulator.analysis.on_host

    @property
    def has_events(self) -> bool:
        """Whether the window has a device event."""
        return bool(len(self.simulator.window.events))

    @cached_property
    def communication_known(self) -> bool:
        """Whether collectives would be seen: on a device, or on threads of the host."""
        return self.has_events or bool(self._edges["communication"].any())

    @cached_property
    def unexplained(self) -> float:
        """Pauses on the critical path of a step that nothing in the trace explains, nanoseconds."""
        simulator, path = self.simulator, self.simulator.unchanged.path
        waits = self._unexplained_syncs[path.edge] & (path.part == Part.HOST)
        time = (path.end - path.start)[(path.part == Part.PAUSE) | waits].sum()
        return float(time) / len(simulator.window.steps)
