"""The length of a step with some resources alone, and which of them decides it.

Everything else takes no time. What is left of each resource:

    host           edges of host threads, also their launches; a sync returns at once
    data           those within a data loader
    device         device events but collectives, and what passes from one to the next
    communication  collectives and the pauses before them; on the host (gloo), waiting for them

Loading the code of kernels takes no time either: later steps do not spend it.

The host and its data loader take turns on one thread, as device and communication do where one
needs the other. So two sides are compared, each with both of its resources.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.build import PAUSE
from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.arrays.joins import isin, mask_of
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.schema import Bound
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.critical_path import Part
from tb_hookview.simulation.replay import NEVER, Lengths
from tb_hookview.simulation.simulator import Outcome, Simulator

HOST_SIDE: tuple[Bound, Bound] = ("host", "data")
DEVICE_SIDE: tuple[Bound, Bound] = ("device", "communication")
"""The second of each side can overlap with the other side, where it is set up so."""
EVEN = 0.05
"""Share of the longer side within which both count as even: half of all predictions are nearer to
what happened than that, nearly all within twice as much (`benchmarks/results/validation.md`)."""
_LITTLE = 0.2
"""Part of the longer side by which it is longer, up to which speeding it up alone saves little."""
_EQUAL = 0.9
"""Part of what one resource of a side takes, or saves, from which on the other does as much."""


_DEVICE_PARTS = (Part.DEVICE, Part.PEERS)
_WORKS = (EdgeKind.HOST, EdgeKind.HANDOVER)
_RUNS = (EdgeKind.STREAM, EdgeKind.CROSS_STREAM)

_AS_RECORDED = (
    "_edges",
    "_ends",
    "_host_edges",
    "_device_edges",
    "_unexplained_syncs",
    "_each_of_device",
    "device_side",
    "unexplained",
    "queued",
)
"""Properties of `Alone` that do not depend on the lags of host threads."""


class Alone(Struct, frozen=True, dict=True):
    """Replays of one selection's steps with some resources alone."""

    simulator: Simulator
    """It replays the steps (`Simulator.refused` is None)."""
    before: Outcome | None = None
    """What they are replays of; None for the trace as recorded, without what happens once."""

    @property
    def base(self) -> Outcome:
        """What they are replays of."""
        return self.before or self.simulator.steady

    def step(self, *resources: Bound, change: Change | None = None) -> float:
        """Length of a step with some resources of one side alone, nanoseconds.

        Args:
            resources: those that take time.
            change: what else is changed.
        """
        simulator, of_host = self.simulator, resources[0] in HOST_SIDE
        lengths = self.base.replay.lengths
        if change is not None:
            lengths = simulator.lengths(change, lengths)
        there = self._host_edges if of_host else self._device_edges
        replay = simulator.replay(self._left(lengths, frozenset(resources), there))
        last = replay.end(simulator.measure.events).max(initial=0)
        ends = self._ends if of_host else simulator.graph.step_end[-1:]
        end = max(last, replay.time[ends].max())
        return float(end) / len(simulator.window.steps)

    @cached_property
    def _ends(self) -> Int:
        """Nodes one of which ends the host's part: where no step is marked, those of any thread."""
        simulator, nodes = self.simulator, self.simulator.graph.nodes
        end = simulator.graph.step_end[-1:]
        if simulator.analysis.steps.thread[simulator.window.steps[-1]] >= 0:
            return end
        points = nodes.of_point
        return np.append(points[nodes.time[points] <= nodes.time[end]], end)

    def _left(self, lengths: Lengths, resources: frozenset[Bound], there: Bool) -> Lengths:
        """What is left of lengths with some resources alone, and of edges those that are there."""
        graph = self.simulator.graph
        passes = np.zeros(len(lengths.lag), bool)
        for name, edges in self._edges.items():
            if name in resources:
                passes |= edges
        device, communication = (name in resources for name in DEVICE_SIDE)
        runs = np.where(graph.peers, communication, device) & ~graph.nodes.history
        pauses = graph.late_for_peers & communication
        follows = there | graph.edges.of(EdgeKind.HOST)
        return Lengths(
            np.where(runs, lengths.duration, 0),
            np.where(passes, lengths.lag, np.where(follows, 0, NEVER)),
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
            "device": edges.of(*_RUNS) & ~self.simulator.graph.nodes.history[edges.target],
            "communication": edges.of(EdgeKind.COLLECTIVE),
        }

    @cached_property
    def _host_edges(self) -> Bool:
        """Edges of the host's side."""
        return self.simulator.graph.edges.of(*_WORKS)

    @cached_property
    def _device_edges(self) -> Bool:
        """Edges of the device's side; where host threads run collectives they are in between."""
        waits = self._edges["communication"].any()
        between = (*_WORKS, EdgeKind.COLLECTIVE) if waits else ()
        return self.simulator.graph.edges.of(*_RUNS, *between)

    @cached_property
    def _unexplained_syncs(self) -> Bool:
        """Edges of the host in which it waited for what the trace does not show."""
        graph = self.simulator.graph
        ends = mask_of(graph.sync_end, len(graph.nodes.time))
        waits = ends[graph.edges.target] & graph.edges.of(EdgeKind.HOST)
        return np.asarray(waits & (graph.edges.lag >= PAUSE))

    @property
    def each(self) -> dict[Bound, float]:
        """Length of a step with each resource alone, nanoseconds."""
        return {**self._each_of_host, **self._each_of_device}

    @cached_property
    def _each_of_host(self) -> dict[Bound, float]:
        loads = self._edges["data"].any()
        return {"host": self.step("host"), "data": self.step("data") if loads else 0.0}

    @cached_property
    def _each_of_device(self) -> dict[Bound, float]:
        communicates = self.communication_known and (
            self.simulator.graph.peers.any() or self._edges["communication"].any()
        )
        return {
            "device": self.step("device") if self.has_events else 0.0,
            "communication": self.step("communication") if communicates else 0.0,
        }

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
        if self.simulator.unrecorded is None:
            return None
        other = Alone(self.simulator, self.simulator.later)
        other.__dict__.update({name: getattr(self, name) for name in _AS_RECORDED})
        return other

    def saved(self, side: Literal["host", "device"], change: Change) -> float:
        """By how much a change shortens a step with one side alone, nanoseconds."""
        if side == "host":
            return self.host_side - self.step(*HOST_SIDE, change=change)
        touches = len(change.pauses) or any(len(each.events) for each in change.device)
        if not touches and not self._edges["communication"].any():
            return 0.0
        return self.device_side - self.step(*DEVICE_SIDE, change=change)

    @cached_property
    def margin(self) -> float:
        """Difference of the two sides up to which they are even, nanoseconds."""
        off = self.simulator.error / max(self.simulator.recorded.step, 1)
        return max(off, EVEN) * max(self.host_side, self.device_side)

    @cached_property
    def bound(self) -> Bound:
        """What decides the length of a step."""
        if self.unexplained - self.queued > max(self.host_side, self.device_side):
            return "unknown"
        if not self.device_known:
            return "communication" if self._mostly((Part.PEERS,)) else "unknown"
        if abs(self.host_side - self.device_side) <= self.margin or self._path_disagrees:
            return "even"
        if self.host_side > self.device_side:
            return self._decisive(HOST_SIDE, self.host_side, self.device_side)
        return self._decisive(DEVICE_SIDE, self.device_side, self.host_side)

    @property
    def pauses_decide(self) -> bool:
        """Whether pauses that nothing explains are longer than either side."""
        return self.unexplained > max(self.host_side, self.device_side)

    @cached_property
    def _path_disagrees(self) -> bool:
        """Whether most of the critical path is of the shorter side, so neither decides alone.

        Not so where the longer one fills the step, and as short as the other would save much of it.
        """
        shorter, longer = sorted((self.host_side, self.device_side))
        fills = self.base.pace.step <= longer + self.margin
        parts = _DEVICE_PARTS if longer == self.host_side else (Part.HOST,)
        return not (fills and longer - shorter > _LITTLE * longer) and self._mostly(parts)

    def _mostly(self, parts: tuple[Part, ...]) -> bool:
        """Whether these are most of the critical path."""
        path = self.base.path
        time = path.end - path.start
        return bool(2 * time[isin(path.part, parts)].sum() > time.sum())

    def _decisive(self, side: tuple[Bound, Bound], whole: float, other: float) -> Bound:
        """The resource of a side without which a step is shortest; of equals the second.

        Where the other side is longer than each of both, it is the longer one.
        """
        first, second = side
        if max(self.each[first], self.each[second]) <= other:
            return second if self.each[second] >= _EQUAL * self.each[first] else first
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
        path = self.base.path
        waits = self._unexplained_syncs[path.edge] & (path.part == Part.HOST)
        return self._on_path((path.part == Part.PAUSE) | waits)

    @cached_property
    def queued(self) -> float:
        """Part of `unexplained` before the first event of a stream, nanoseconds per step.

        The device was probably busy with what was queued before the recording, or by another
        process: the steps that go on do not have it.
        """
        return self._on_path((self.base.path.part == Part.PAUSE) & self._opens)

    @cached_property
    def _opens(self) -> Bool:
        """Pieces of the critical path that lead to the first event of a stream."""
        graph, edge = self.simulator.graph, self.base.path.edge
        event = graph.nodes.event[graph.edges.target[edge]]
        first = self.simulator.analysis.timing.first_of_stream
        return np.asarray((edge >= 0) & (lookup(first, event) == 1))

    def _on_path(self, pieces: Bool) -> float:
        """Time of some pieces of the critical path, nanoseconds per step."""
        path = self.base.path
        return float((path.end - path.start)[pieces].sum()) / len(self.simulator.window.steps)
