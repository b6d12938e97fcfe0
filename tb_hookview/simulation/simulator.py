"""Predictions of how long a step takes with something changed."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.build import build
from tb_hookview.analysis.dependencies.graph import Graph
from tb_hookview.analysis.dependencies.window import Window, find_window
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.types import Int
from tb_hookview.simulation.changes import Change, Changer, HostEdges
from tb_hookview.simulation.critical_path import CriticalPath, binding_chain, critical_path
from tb_hookview.simulation.host_spans import HostSpans, split_by_module
from tb_hookview.simulation.measure import Measure, Pace
from tb_hookview.simulation.replay import Lengths, Replay, Replayer, recorded
from tb_hookview.simulation.slack import Slack, find_slack


class Prediction(Struct, frozen=True, dict=True):
    """Length of a step with something changed, nanoseconds."""

    simulator: Simulator
    change: Change
    replay: Replay
    pace: Pace

    @property
    def step(self) -> float:
        """Nanoseconds a step."""
        return self.pace.step

    @cached_property
    def low(self) -> float:
        """Lower bound: without the pauses that nothing explains, less `Simulator.error`."""
        lengths = self.replay.lengths
        known = np.where(self.simulator.graph.peers, lengths.pause, 0)
        if (known == lengths.pause).all():
            return max(self.step - self.simulator.error, 0.0)
        without = Lengths(lengths.duration, lengths.lag, known)
        step = min(self.simulator.step_of(without), self.step)
        return max(step - self.simulator.error, 0.0)

    @property
    def high(self) -> float:
        """Upper bound: with as many pauses as recorded, plus `Simulator.error`."""
        return self.step + self.simulator.error

    @cached_property
    def path(self) -> CriticalPath:
        """What decides the length of a step."""
        return critical_path(self.replay, self.pace)

    @cached_property
    def slack(self) -> Slack:
        """By how much longer parts may take with the step as long."""
        return self.simulator.slack(self)


class Simulator(Struct, frozen=True, dict=True):
    """Replays the steps of one selection."""

    selection: Selection

    @property
    def analysis(self) -> Analysis:
        """The trace."""
        return self.selection.analysis

    @cached_property
    def window(self) -> Window:
        """The steps that are replayed."""
        return find_window(self.selection)

    @property
    def refused(self) -> str | None:
        """Why nothing is replayed; None where it is."""
        return self.window.refusal()

    @cached_property
    def graph(self) -> Graph:
        """The dependency graph."""
        return build(self.analysis, self.window)

    @cached_property
    def measure(self) -> Measure:
        """Length of a step in a replay."""
        return Measure(self.graph, self.window)

    @cached_property
    def recorded(self) -> Pace:
        """Length of a step as recorded."""
        return self.measure.pace(Replay(self.graph, recorded(self.graph), self.graph.nodes.time))

    @cached_property
    def unchanged(self) -> Prediction:
        """The replay with nothing changed."""
        return Prediction(self, Change(), *self._unchanged)

    @cached_property
    def _unchanged(self) -> tuple[Replay, Pace]:
        """What `unchanged` is made of: it refers to the simulator, and so is made when asked for.

        A circle of references stays in memory until the garbage collector looks at old objects.
        """
        return self._replayed(recorded(self.graph))

    @cached_property
    def error(self) -> float:
        """By how much the replay with nothing changed is off; nanoseconds a step."""
        return abs(self.unchanged.step - self.recorded.step)

    def predict(self, change: Change) -> Prediction:
        """Replay with something changed."""
        return Prediction(self, change, *self._replayed(self.lengths(change)))

    def _replayed(self, lengths: Lengths) -> tuple[Replay, Pace]:
        replay = self._replayer(lengths)
        return replay, self.measure.pace(replay)

    def step(self, change: Change) -> float:
        """Length of a step with something changed, nanoseconds.

        What shortens nothing on the critical path, and lengthens nothing, is not replayed.
        """
        lengths, (_, pace) = self.lengths(change), self._unchanged
        return pace.step if self._keeps_step(lengths) else self.step_of(lengths)

    def gain(self, change: Change) -> float:
        """By how much something changed makes a step shorter, nanoseconds; never below 0."""
        _, pace = self._unchanged
        return max(pace.step - self.step(change), 0.0)

    def step_of(self, lengths: Lengths) -> float:
        """Length of a step with some lengths, nanoseconds."""
        return self._replayed(lengths)[1].step

    def lengths(self, change: Change) -> Lengths:
        """Lengths of nodes and edges with a change."""
        return self._changer.apply(change)

    def slack(self, prediction: Prediction) -> Slack:
        """Slack of all parts of a prediction."""
        return find_slack(self._replayer, prediction.replay, prediction.pace, self.measure)

    @cached_property
    def host_spans(self) -> HostSpans:
        """Time of the host's edges by module."""
        return split_by_module(self.analysis, self.host_edges)

    @property
    def host_edges(self) -> HostEdges:
        """Edges that are the host's work."""
        return self._changer.host_edges

    def _keeps_step(self, lengths: Lengths) -> bool:
        """Whether no length is longer than recorded, and those of the critical path are as long."""
        before, edges, (_, pace) = recorded(self.graph), self.graph.edges, self._unchanged
        chain, nodes = self._chain, np.append(edges.source[self._chain], pace.last)
        return bool(
            (lengths.duration[nodes] == before.duration[nodes]).all()
            and (lengths.lag[chain] == before.lag[chain]).all()
            and (lengths.pause[edges.target[chain]] == before.pause[edges.target[chain]]).all()
            and (lengths.duration <= before.duration).all()
            and (lengths.lag <= before.lag).all()
            and (lengths.pause <= before.pause).all()
        )

    @cached_property
    def _chain(self) -> Int:
        """Edges of the critical path of the replay with nothing changed."""
        replay, pace = self._unchanged
        return binding_chain(replay, pace.last)

    @cached_property
    def _replayer(self) -> Replayer:
        return Replayer(self.graph)

    @cached_property
    def _changer(self) -> Changer:
        return Changer(self.graph, self.window.start)
