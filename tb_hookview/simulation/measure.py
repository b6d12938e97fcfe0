"""The length of a step in a replay.

Two things take turns in a loop of steps, and the slower sets the pace:

    device: (end of the window's work - end of the work launched before it) / steps
    host:   (end of the last step on the host - start of the first) / steps

With these a step can only become shorter where durations and lags do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.graph import Graph
from tb_hookview.analysis.dependencies.window import Window
from tb_hookview.arrays.types import Nanoseconds
from tb_hookview.simulation.replay import Replay


class Pace(NamedTuple):
    """What sets the pace of a replay."""

    step: float
    """Nanoseconds per step."""
    since: int
    """Moment from which on the steps are measured, nanoseconds since the origin."""
    last: int
    """Node at the end of what is measured."""


class Measure(Struct, frozen=True):
    """Measures replays of one window."""

    graph: Graph
    window: Window

    def completions(self, replay: Replay) -> Nanoseconds:
        """Moment at which host and device are done with each step, shape (s,)."""
        done = replay.time[self.graph.step_end].copy()
        mine = self.window.step >= 0
        nodes = self.graph.nodes.of_event[mine]
        np.maximum.at(done, self.window.step[mine], replay.end(nodes))
        return done

    def pace(self, replay: Replay) -> Pace:
        """Length of a step, and what decides it."""
        steps, graph = len(self.window.steps), self.graph
        host = int(graph.step_end[-1])
        mine = graph.nodes.of_event[self.window.step >= 0]
        last = int(mine[replay.end(mine).argmax()]) if len(mine) else host
        if replay.time[host] > replay.end(last):
            last = host
        by_device = Pace((int(replay.end(last)) - graph.base) / steps, graph.base, last)
        by_host = Pace(int(replay.time[host]) / steps, 0, host)
        return max(by_device, by_host, key=lambda pace: pace.step)
