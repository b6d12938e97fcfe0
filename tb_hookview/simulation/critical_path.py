"""The critical path of a replay: the chain of edges that decided how long a step took."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.arrays.joins import isin, mask_of, scatter
from tb_hookview.arrays.types import Code, DeviceEventIndex, Int, Nanoseconds, ThreadIndex
from tb_hookview.simulation.replay import Measure, Pace, Replay, Replayer

HOST_WORK = (EdgeKind.HOST, EdgeKind.HANDOVER, EdgeKind.QUEUE)
"""Edges whose lag is the host's work."""


class Part(IntEnum):
    """What passed the time of a piece of the path."""

    HOST = 0
    """A host thread worked."""
    DEVICE = 1
    """A device event ran."""
    LATENCY = 2
    """From launch to start, between events of a stream, from stream to stream, and from the end of
    a device event to the return of the sync that waited for it."""
    PAUSE = 3
    """What no edge explains."""
    PEERS = 4
    """Other ranks had not come to a collective: on the device before it began, on the host from
    its call to where the thread that waited for it goes on."""


class CriticalPath(Struct, frozen=True):
    """Pieces of time of the path in order, shape (k,); their lengths add up to what is measured."""

    part: Code
    """`Part`."""
    edge: Int
    """Edge of the graph that each piece belongs to."""
    start: Nanoseconds
    end: Nanoseconds
    """Times in the replay, since the origin."""
    event: DeviceEventIndex
    """Device event that ran, -1 for none."""
    thread: ThreadIndex
    """Host thread that worked, -1 for none."""


def critical_path(replay: Replay, pace: Pace, edge: Int) -> CriticalPath:
    """Cut the binding edges to the end of what is measured by what passed their time."""
    graph, lengths = replay.graph, replay.lengths
    source, target = graph.edges.source[edge], graph.edges.target[edge]
    begins = replay.time[source]
    left = np.where(graph.edges.from_end[edge], lengths.duration[source], 0)
    lag = lengths.lag[edge]
    runs = begins + left + np.minimum(lag, 0)
    arrives = runs + np.maximum(lag, 0)
    host, last = isin(graph.edges.kind[edge], HOST_WORK), pace.last

    def column(device: Int | int, lags: Int | int, pause: Int | int, end: int) -> Int:
        """Values of each edge's pieces in turn, and of the last node."""
        pieces = np.empty(3 * len(edge) + 1, np.int64)
        pieces[:-1:3], pieces[1::3], pieces[2::3], pieces[-1] = device, lags, pause, end
        return pieces

    start = column(begins, runs, arrives, int(replay.time[last]))
    start = np.maximum(start, pace.since)
    end = column(runs, arrives, replay.time[target], int(replay.end(last)))
    # Along events of a stream that overlap, the path may go back: no time counts twice.
    end[:-1] = np.minimum(end[:-1], np.minimum.accumulate(start[:0:-1])[::-1])
    passed = np.where(host, Part.HOST, Part.LATENCY)
    passed[graph.edges.kind[edge] == EdgeKind.COLLECTIVE] = Part.PEERS
    late = np.where(graph.late_for_peers[target], Part.PEERS, Part.PAUSE)
    part = column(Part.DEVICE, passed, late, Part.DEVICE)
    event = column(graph.nodes.event[source], -1, -1, int(graph.nodes.event[last]))
    thread = column(-1, np.where(host, graph.nodes.thread[target], -1), -1, -1)
    there = np.flatnonzero(end > start)
    columns = (column(edge, edge, edge, -1), start, end, event, thread)
    return CriticalPath(part[there].astype(np.int8), *(each[there] for each in columns))


def binding_chain(replay: Replay, last: int) -> Int:
    """Binding edges from the origin to a node, first one first."""
    edges, time = replay.graph.edges, replay.time
    binds = np.flatnonzero(replay.arrival == time[edges.target])
    binding = scatter(edges.target[binds], binds, len(time))  # what decided each node
    before = np.where(binding >= 0, edges.source[binding], 0)
    on_chain = mask_of(last, len(before))
    while before[last]:  # twice as far back each time
        on_chain[before[on_chain]] = True
        before = before[before]
    on_chain[0] = False
    found = binding[on_chain]
    return found[found >= 0]


# How much longer a part of a replay may take before the steps do.
#
# One pass back over the graph gives the latest time of each node with which what is measured still
# ends when it does:
#
#     latest[node] = min over edges from it of (latest[target] - what passes until there)
#     slack = latest - time
#
# An edge may be longer by the slack of its target and the time by which it comes early there.


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
    graph, mine = replay.graph, measure.events
    whole = int(replay.end(pace.last)) - pace.since
    left = np.full(len(replay.time), UNBOUND)
    left[mine] = measure.base(replay) + whole - replay.end(mine)
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
