"""Replayed graphs that the trace places in no pass, and what is unknown because of them.

The replay of a captured graph (CUDA, HIP) is one launch, and its kernels have no operators. In a
module's call or a node's evaluation, they are that one's. Launched elsewhere, they may be of any
pass that the host is not seen to launch in the same step:

    host     [GraphLaunch]                      forward, backward and optimizer are unknown
    host     [GraphLaunch]   [Optimizer.step]   forward and backward are
    host     [forward] [nodes] [GraphLaunch]    the optimizer is

A forward without a backward is unknown too: inference replays most of it and launches the rest.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents, of_graph
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.phases import Phases
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, StepIndex
from tb_hookview.schema.terms import Phase

PASSES = (Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER)
"""Phases that a graph may hold."""
_OPTIMIZER_STEP = "Optimizer.step#"
"""The optimizer's other annotation, `zero_grad`, stays outside of graphs."""


class ReplayedGraphs(Struct, frozen=True):
    """What graphs ran in no known pass, and the passes that this may be of."""

    unplaced: Bool
    """Device events of graphs that were launched in no pass, shape (d,)."""
    unknown: Bool
    """Whether such a graph may hold work of each phase in each step, shape (steps + 1, phases).

    The last row is of what lies outside of all steps.
    """


def find_replayed_graphs(
    host: HostRows, events: DeviceEvents, phases: Phases, step: StepIndex, steps: int
) -> ReplayedGraphs:
    """Find the graphs that were launched in no known pass.

    Args:
        host, events, phases: of the trace.
        step: of each device event, -1 for none; shape (d,).
        steps: number of the trace's steps.
    """
    phase = lookup(phases.row, events.launch)
    unplaced = (phase == Phase.OTHER) & of_graph(host, events, np.arange(len(events)))
    unknown = np.zeros((steps + 1, len(Phase)), bool)
    if not unplaced.any():
        return ReplayedGraphs(unplaced, unknown)
    updates = host.is_named(lambda text: text.startswith(_OPTIMIZER_STEP))
    in_update = lookup(host.call_tree.inside(updates), events.launch) > 0
    shows = (phase == Phase.FORWARD) | (phase == Phase.BACKWARD)
    shows |= (phase == Phase.OPTIMIZER) & in_update
    seen = np.zeros_like(unknown)
    seen[step[shows], phase[shows]] = True
    seen[:, Phase.FORWARD] &= seen[:, Phase.BACKWARD]
    for each in PASSES:
        unknown[step[unplaced], each] = True
    return ReplayedGraphs(unplaced, unknown & ~seen)
