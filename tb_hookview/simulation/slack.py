"""How much longer a part of a replay may take before the steps do.

One pass back over the graph gives the latest time of each node with which what is measured still
ends when it does:

    latest[node] = min over edges from it of (latest[target] - what passes until there)
    slack = latest - time

An edge may be longer by the slack of its target and the time by which it comes early there.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.arrays.types import Nanoseconds
from tb_hookview.simulation.measure import Measure, Pace
from tb_hookview.simulation.replay import Replay, Replayer

UNBOUND = 1 << 58
"""Slack from which on nothing that is measured waits for a part."""


class Slack(Struct, frozen=True):
    """Time by which parts may be longer with the steps as long, nanoseconds."""

    edge: Nanoseconds
    """Of the lag of each edge, shape (e,)."""
    duration: Nanoseconds
    """Of the duration of each node, shape (n,)."""


def find_slack(replayer: Replayer, replay: Replay, pace: Pace, measure: Measure) -> Slack:
    """Find the slack of all parts of a replay."""
    edges = replay.graph.edges
    duration = _until_end(replay, pace, measure)
    left = duration.copy()
    early = replay.time[edges.target] - replay.arrival
    first = replayer.chains.first
    least = np.full(len(left), UNBOUND)
    np.minimum.at(least, first, left)
    slack = _backwards(replayer, early, least)
    # Only what stands first in its chain has its slack by now; it is all that edges between
    # chains lead to.
    edge = np.full(len(edges.source), UNBOUND)
    between = replayer.between
    edge[between] = early[between] + slack[edges.target[between]]
    np.minimum.at(left, edges.source[between], edge[between])
    node = replayer.chains.least_after(left)
    edge = early + node[edges.target]
    ends = np.flatnonzero(edges.from_end)
    np.minimum.at(duration, edges.source[ends], edge[ends])
    return Slack(edge, duration)


def _until_end(replay: Replay, pace: Pace, measure: Measure) -> Nanoseconds:
    """Time from the end of each node that is measured to when the last of them may end."""
    graph, window = replay.graph, measure.window
    whole = int(replay.end(pace.last)) - pace.since
    left = np.full(len(replay.time), UNBOUND)
    mine = graph.nodes.of_event[window.step >= 0]
    left[mine] = graph.base + whole - replay.end(mine)
    host = int(graph.step_end[-1])
    left[host] = whole - int(replay.time[host])
    return left


def _backwards(replayer: Replayer, early: Nanoseconds, least: Nanoseconds) -> Nanoseconds:
    """Slack of what stands first in each chain, from the least of what is measured in it.

    Edges are in order of their targets, and all edges from a chain lead to later nodes than its
    first. So a target has its slack before edges to it are looked at.
    """
    edges, back = replayer.graph.edges, replayer.between[::-1]
    columns = replayer.chains.first[edges.source[back]], edges.target[back], early[back]
    slack = least.tolist()
    for before, after, by in zip(*(each.tolist() for each in columns), strict=True):
        value = slack[after] + by
        if value < slack[before]:
            slack[before] = value
    return np.array(slack, np.int64)
