"""Slack against replays in which a part takes longer, one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from simulation.test_replay import graphs, lengths_of, measure

from tb_hookview.analysis.dependencies.graph import Graph
from tb_hookview.simulation.critical_path import (
    UNBOUND,
    Part,
    binding_chain,
    critical_path,
    find_slack,
)
from tb_hookview.simulation.replay import Lengths, Replayer


def longer(values: np.ndarray, place: int, by: int) -> np.ndarray:
    changed = values.copy()
    changed[place] += by
    return changed


@given(graphs())
def test_a_part_may_take_longer_by_its_slack_and_no_more(graph: Graph) -> None:
    lengths, replayer, measured = lengths_of(graph), Replayer(graph), measure(graph)
    replay = replayer(lengths)
    pace = measured.pace(replay)
    slack = find_slack(replayer, replay, pace, measured)

    def step(duration: np.ndarray, lag: np.ndarray) -> float:
        return measured.pace(replayer(Lengths(duration, lag, lengths.pause))).step

    parts = [
        *((slack.duration[node], node, True) for node in graph.nodes.of_event),
        *((slack.edge[edge], edge, False) for edge in range(len(graph.edges.lag))),
    ]
    for most, place, of_node in parts:
        for more in (0, 7):
            by = 10_000 if most >= UNBOUND else int(most) + more
            changed = (
                step(longer(lengths.duration, place, by), lengths.lag)
                if of_node
                else step(lengths.duration, longer(lengths.lag, place, by))
            )
            assert changed == pace.step + (0 if most >= UNBOUND else more)


@given(graphs())
def test_there_is_no_slack_on_the_critical_path(graph: Graph) -> None:
    lengths, replayer, measured = lengths_of(graph), Replayer(graph), measure(graph)
    replay = replayer(lengths)
    pace = measured.pace(replay)
    slack = find_slack(replayer, replay, pace, measured)
    path = critical_path(replay, pace, binding_chain(replay, pace.last))
    assert not slack.edge[path.edge[path.edge >= 0]].any()
    ran = np.append(graph.nodes.of_event, 0)[path.event[path.part == Part.DEVICE]]
    assert not slack.duration[ran].any()
