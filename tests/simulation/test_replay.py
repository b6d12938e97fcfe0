"""The pass over a graph against a definition that recurses, and what holds for every replay."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_hookview.analysis.dependencies.graph import (
    EdgeKind,
    EdgeSet,
    Evidence,
    Graph,
    Nodes,
    joined,
)
from tb_hookview.analysis.dependencies.points import Window
from tb_hookview.simulation.critical_path import binding_chain, critical_path
from tb_hookview.simulation.replay import NEVER, Lengths, Measure, Replay, Replayer

NONE = np.zeros(0, np.int64)


LENGTH = st.integers(0, 50)
Drawn = tuple[EdgeKind, int, int, bool]
"""Kind, source and target of an edge, and whether it leaves the source's end."""


def _graph(draw: st.DrawFn, device: list[bool], thread: list[int], sets: list[Drawn]) -> Graph:
    """Nodes and edges with lengths drawn."""
    edges = joined(
        [
            EdgeSet(
                kind,
                Evidence.ORDER,
                np.array([s]),
                np.array([t]),
                np.array([draw(LENGTH)]),
                from_end=e,
            )
            for kind, s, t, e in sets
        ]
    )
    count, events = len(device) - 1, np.flatnonzero(device)
    event = np.full(count + 1, -1)
    event[events] = np.arange(len(events))
    nodes = Nodes(
        time=np.arange(count + 1),
        duration=np.array([draw(LENGTH) if each else 0 for each in device]),
        thread=np.array(thread),
        event=event,
        history=np.zeros(count + 1, bool),
        of_point=np.flatnonzero(~np.array(device))[1:],
        of_event=events,
    )
    pause = np.array([0, *(draw(LENGTH) for _ in range(count))])
    ends = nodes.of_point[-1:] if len(nodes.of_point) else np.array([0])
    no_node, no_edge = np.zeros(count + 1, bool), np.zeros(len(sets), bool)
    return Graph(nodes, edges, pause, no_node, no_node, no_edge, ends, 0, NONE, NONE, NONE > 0)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Points of two threads and events of two streams, with edges from earlier to later nodes."""
    count = draw(st.integers(2, 12))
    device = [False, *draw(st.lists(st.booleans(), min_size=count, max_size=count))]
    thread = [-1 if each else draw(st.integers(0, 1)) for each in device]
    sets: list[Drawn] = []
    for target in range(1, count + 1):
        # A point of the host comes after the point before it on its thread, or the origin.
        before = [0, *(n for n in range(1, target) if thread[n] == thread[target] >= 0)][-1]
        if not device[target]:
            sets.append((EdgeKind.HOST, before, target, False))
        for _ in range(draw(st.integers(1 if device[target] else 0, 2))):
            source = draw(st.integers(0, target - 1))
            kind = draw(st.sampled_from([EdgeKind.LAUNCH, EdgeKind.STREAM, EdgeKind.SYNC]))
            sets.append((kind, source, target, device[source]))
    return _graph(draw, device, thread, sets)


@st.composite
def streams(draw: st.DrawFn) -> Graph:
    """Launches of one thread onto two streams, in order, with syncs and waits between streams."""
    count = draw(st.integers(3, 16))
    device = [False, *draw(st.lists(st.booleans(), min_size=count, max_size=count))]
    stream = [draw(st.integers(0, 1)) if each else -1 for each in device]
    sets: list[Drawn] = []
    for target in range(1, count + 1):
        before = [0, *(n for n in range(1, target) if stream[n] == stream[target])][-1]
        launch = [0, *(n for n in range(1, target) if not device[n])][-1]
        if not device[target]:
            sets.append((EdgeKind.HOST, before, target, False))
        else:
            sets.append((EdgeKind.LAUNCH, launch, target, False))
            sets += [(EdgeKind.STREAM, before, target, True)] if before else []
        events = [n for n in range(1, target) if device[n]]
        if events and draw(st.integers(0, 4)) == 0:
            kind = EdgeKind.CROSS_STREAM if device[target] else EdgeKind.SYNC
            sets.append((kind, draw(st.sampled_from(events)), target, True))
    return _graph(draw, device, [-1 if each else 0 for each in device], sets)


def lengths_of(graph: Graph) -> Lengths:
    return Lengths(graph.nodes.duration, graph.edges.lag, graph.pause)


def slow(graph: Graph, lengths: Lengths) -> list[int]:
    """Time of every node by its definition."""
    edges = graph.edges

    @cache
    def time(node: int) -> int:
        arrivals = [0]
        for edge in np.flatnonzero(edges.target == node).tolist():
            source = int(edges.source[edge])
            left = int(lengths.duration[source]) if edges.from_end[edge] else 0
            arrivals.append(time(source) + left + int(lengths.lag[edge]) + int(lengths.pause[node]))
        return max(arrivals)

    return [time(node) for node in range(len(graph.nodes.time))]


def measured(graph: Graph, replay: Replay) -> float:
    return measure(graph).pace(replay).step


def measure(graph: Graph) -> Measure:
    events = np.arange(len(graph.nodes.of_event))
    window = Window((0,), 0, 0, events, events * 0, events < 0, 1.0)
    return Measure(graph, window)


@given(graphs())
def test_a_replay_is_the_longest_way_to_each_node(graph: Graph) -> None:
    lengths = lengths_of(graph)
    assert Replayer(graph)(lengths).time.tolist() == slow(graph, lengths)


@given(streams(), st.sets(st.integers(0, 40)))
def test_runs_of_device_events_are_the_longest_way_too(graph: Graph, out: set[int]) -> None:
    """With some edges taken out, of which device events keep one."""
    kept = lengths_of(graph)
    removable = np.isin(graph.edges.kind, (EdgeKind.LAUNCH, EdgeKind.SYNC, EdgeKind.CROSS_STREAM))
    removable &= np.isin(np.arange(len(kept.lag)), list(out))
    lengths = Lengths(kept.duration, np.where(removable, NEVER, kept.lag), kept.pause)
    assert Replayer(graph)(lengths).time.tolist() == slow(graph, lengths)


@settings(max_examples=50)
@given(graphs(), st.data())
def test_shorter_parts_never_lengthen_a_step(graph: Graph, data: st.DataObject) -> None:
    lengths, replayer = lengths_of(graph), Replayer(graph)

    def shorter(values: np.ndarray) -> np.ndarray:
        return np.array([data.draw(st.integers(0, int(value))) for value in values], np.int64)

    less = Lengths(shorter(lengths.duration), shorter(lengths.lag), shorter(lengths.pause))
    assert measured(graph, replayer(less)) <= measured(graph, replayer(lengths))


@given(graphs())
def test_half_of_everything_is_half_a_step(graph: Graph) -> None:
    lengths, replayer = lengths_of(graph), Replayer(graph)
    twice = Lengths(lengths.duration * 2, lengths.lag * 2, lengths.pause * 2)
    assert measured(graph, replayer(twice)) == 2 * measured(graph, replayer(lengths))


@given(graphs())
def test_the_critical_path_adds_up_to_the_step(graph: Graph) -> None:
    assert_adds_up(graph, lengths_of(graph))


def test_a_critical_path_that_goes_back_in_a_stream_counts_no_time_twice() -> None:
    sets = [
        (EdgeKind.HOST, 0, 1, False),
        (EdgeKind.LAUNCH, 1, 2, False),
        (EdgeKind.STREAM, 2, 3, True),
    ]
    graph = _graph(lambda _: 20, [False, False, True, True], [0, 0, -1, -1], sets)
    # The second event begins 10 before the first one, and ends after it.
    assert_adds_up(graph, Lengths(np.array([0, 0, 20, 60]), np.array([20, 20, -50]), graph.pause))


def assert_adds_up(graph: Graph, lengths: Lengths) -> None:
    replay = Replayer(graph)(lengths)
    pace = measure(graph).pace(replay)
    path = critical_path(replay, pace, binding_chain(replay, pace.last))
    assert int((path.end - path.start).sum()) == pace.step
    assert (path.start[1:] == path.end[:-1]).all()
