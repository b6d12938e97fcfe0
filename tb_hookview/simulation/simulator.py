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
from tb_hookview.simulation.changes import Change, Changer
from tb_hookview.simulation.critical_path import CriticalPath, critical_path
from tb_hookview.simulation.measure import Measure, Pace
from tb_hookview.simulation.replay import Lengths, Replay, Replayer, recorded


class Prediction(Struct, frozen=True, dict=True):
    """Length of a step with something changed, nanoseconds."""

    replay: Replay
    pace: Pace
    low: float
    high: float
    """Bounds: without the pauses that nothing explains, and with as many as recorded; widened by
    what the replay of the unchanged steps is off."""

    @property
    def step(self) -> float:
        """Nanoseconds a step."""
        return self.pace.step

    @cached_property
    def path(self) -> CriticalPath:
        """What decides the length of a step."""
        return critical_path(self.replay, self.pace)


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
        return self._predict(recorded(self.graph), None)

    def predict(self, change: Change) -> Prediction:
        """Replay with something changed."""
        return self._predict(self.lengths(change), self.unchanged)

    def step(self, change: Change) -> float:
        """Length of a step with something changed, without its bounds; nanoseconds."""
        return self.measure.pace(self._replayer(self.lengths(change))).step

    def lengths(self, change: Change) -> Lengths:
        """Lengths of nodes and edges with a change."""
        return self._changer.apply(change)

    def _predict(self, lengths: Lengths, unchanged: Prediction | None) -> Prediction:
        replay = self._replayer(lengths)
        pace = self.measure.pace(replay)
        without = Lengths(lengths.duration, lengths.lag, np.zeros_like(lengths.pause))
        low = self.measure.pace(self._replayer(without)).step
        off = abs((unchanged.step if unchanged else pace.step) - self.recorded.step)
        return Prediction(replay, pace, max(min(low, pace.step) - off, 0.0), pace.step + off)

    @cached_property
    def _replayer(self) -> Replayer:
        return Replayer(self.graph)

    @cached_property
    def _changer(self) -> Changer:
        return Changer(self.graph, self.window.start)
