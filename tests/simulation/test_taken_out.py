"""What is left where something is taken out, and the answers that say it; by hand, 100 us each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simulation import drawn

from tb_hookview import schema
from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.simulation.changes import Change, DeviceChange, together
from tb_hookview.simulation.critical_path import Part
from tb_hookview.simulation.path_rows import path_pieces
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.whatif import what_if

SYNC = """
    main notes [ProfilerStep#1                                                                  ]
    main calls [launch corr=1][wait                 ]          [launch corr=2][wait            ]
    gpu kernel [k corr=1                            ]          [k corr=2                       ]
"""
"""The host needs 1,000 us from the first wait to the second launch."""
LATE = """
    main notes [ProfilerStep#1                                                      ]
    main calls [launch corr=1][launch corr=2][launch corr=3][launch corr=4]
    gpu kernel [k corr=1]     [k corr=2]     [k corr=3]                          [k corr=4        ]
"""
"""Nothing explains why the last kernel begins 2,100 us after its launch."""
LOADER = """
    main  notes [ProfilerStep#1                                                     ]
    main  ops   [loader             ]   [loader     ][forward                       ]
    main  calls                                             [launch corr=1]
    other ops                               [loader                    ]
    other calls                       [launch corr=2]
    gpu   kernel                      [k corr=2] [k corr=2]  [k corr=1]
"""
BEHIND = """
    main notes [ProfilerStep#0 ][ProfilerStep#1    ][ProfilerStep#2    ]
    main calls  [launch corr=5]  [launch corr=1]     [launch corr=2]
    gpu kernel  [k corr=5    ]   [k corr=1                       ][k corr=2                    ]
"""
TWO = """
    main notes [ProfilerStep#1                            ]
    main calls [launch corr=1][launch corr=2]
    gpu kernel [k corr=1                   ][j corr=2                     ]
"""


def test_one_of_two_syncs_is_gone(tmp_path: Path) -> None:
    """The second kernel follows on the first one, or the step ends as the device is done."""
    simulator = drawn.simulator(tmp_path, SYNC)
    assert simulator.unchanged.step == 8200_000
    first, second = simulator.analysis.syncs.start.argsort().tolist()
    assert simulator.step(Change(syncs=np.array([first]))) == 7200_000
    assert simulator.step(Change(syncs=np.array([second]))) == 8100_000


def test_syncs_that_are_gone_take_no_time(tmp_path: Path) -> None:
    """What is left is the host's: two launches, what is between, and 100 us at the end."""
    simulator = drawn.simulator(tmp_path, SYNC)
    change = together(
        [scaled(simulator.analysis, {"syncs": 0}), scaled(simulator.analysis, {"kernels": 0})]
    )
    assert simulator.step(change) == (1500 + 1000 + 1500 + 100) * 1000


def test_a_pause_that_nothing_explains_is_gone(tmp_path: Path) -> None:
    simulator = drawn.simulator(tmp_path, LATE)
    (late,) = np.flatnonzero(simulator.graph.pause)
    event = simulator.graph.nodes.event[late]
    assert simulator.graph.pause[late] == 2100_000
    assert simulator.unchanged.step == 8400_000
    assert simulator.step(Change(pauses=np.array([event]))) == 7000_000
    others = simulator.window.events[simulator.window.events != event]
    assert simulator.step(Change(pauses=others)) == 8400_000


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ([DeviceChange(np.array([0]), 0.5), DeviceChange(np.array([0]), 0.5)], [725, 3100]),
        ([DeviceChange(np.array([0]), 0.5, np.array([1000_000]))], [2400, 3100]),
        (
            [
                DeviceChange(np.array([0, 1]), 0.5, np.array([1000_000, 200_000])),
                DeviceChange(np.array([0, 0]), 0.0, np.array([100_000, 200_000])),
            ],
            [2900 - 500 - 300, 3000],
        ),
        ([DeviceChange(np.array([1]), 0.0, np.array([9000_000]))], [2900, 0]),
        ([DeviceChange(np.array([0, 7]), 2.0)], [5800, 3100]),
    ],
)
def test_parts_of_one_event_add_up_and_factors_multiply(
    changes: list[DeviceChange], left: list[float], tmp_path: Path
) -> None:
    simulator = drawn.simulator(tmp_path, TWO)
    lengths = simulator.lengths(Change(device=tuple(changes)))
    assert (lengths.duration[simulator.graph.nodes.of_event] / 1000).tolist() == left


def test_loading_is_what_lies_in_a_loader_on_its_thread(tmp_path: Path) -> None:
    simulator = drawn.simulator(tmp_path, LOADER)
    graph = simulator.graph
    edges = np.flatnonzero(graph.loading)
    spans = {
        (int(graph.nodes.time[graph.edges.source[edge]]), int(graph.nodes.time[target]))
        for edge, target in zip(edges.tolist(), graph.edges.target[edges].tolist(), strict=True)
    }
    assert spans == {(0, 2100_000), (2400_000, 3700_000), (2800_000, 5600_000)}
    assert (graph.edges.kind[edges] == EdgeKind.HOST).all()


def test_loading_on_the_path_is_data(tmp_path: Path) -> None:
    answer = what_if(drawn.simulator(tmp_path, LOADER), Change())
    assert answer.critical_path == schema.PathTime(6900 - 3400, 0, 0, 0, 3400, 0)


def test_steps_of_a_slower_device_end_as_it_is_done(tmp_path: Path) -> None:
    """Of the path 3,400 us are in the first step, though the host is done after 2,000."""
    simulator = drawn.simulator(tmp_path, BEHIND)
    pieces = path_pieces(simulator.unchanged)
    length = (pieces.end - pieces.start) // 1000
    assert [int(length[pieces.step == step].sum()) for step in (0, 1)] == [3400, 3000]
    assert simulator.unchanged.step == 6400_000 / 2


@pytest.mark.parametrize(("picture", "ran"), [(SYNC, [0, 1]), (LATE, [3])])
def test_pieces_of_the_path_know_their_thread_and_event(
    picture: str, ran: list[int], tmp_path: Path
) -> None:
    simulator = drawn.simulator(tmp_path, picture)
    path, events = simulator.unchanged.path, simulator.analysis.device_events
    (main,) = {int(row) for row in simulator.analysis.call_tree.thread[events.launch]}
    on_host, on_device = path.part == Part.HOST, path.part == Part.DEVICE
    assert set(path.thread[on_host].tolist()) == {main}
    assert set(path.thread[~on_host].tolist()) <= {-1}
    assert path.event[on_device].tolist() == ran
    assert set(path.event[~on_device].tolist()) == {-1}


def test_an_answer_says_all_in_microseconds_a_step(tmp_path: Path) -> None:
    simulator = drawn.simulator(tmp_path, LATE)
    change = scaled(simulator.analysis, {"kernels": 0.5})
    answer = what_if(simulator, change, modules=False)
    assert answer.step_us == answer.replayed_us == 8400
    assert (answer.low_us, answer.predicted_us, answer.high_us) == (7000, 7500, 7500)
    assert answer.unexplained_us == 2100
    assert (answer.launches_known, answer.steps, answer.refused) == (1, 1, None)
    assert answer.critical_path == schema.PathTime(4500, 900, 0, 0, 0, 2100)
    assert answer.replayed_path == schema.PathTime(4500, 1800, 0, 0, 0, 2100)
    assert (answer.path_modules, answer.path_kinds) == (None, None)
    whole = what_if(simulator, Change())
    assert whole.path_modules is not None
    assert whole.path_kinds is not None


def test_what_is_refused_says_of_how_many_steps_and_launches(tmp_path: Path) -> None:
    simulator = drawn.simulator(tmp_path, LATE.replace("[k corr=1", "[k corr=9"))
    answer = what_if(simulator, Change())
    assert answer.steps == 1
    assert answer.launches_known == pytest.approx(38 / 48)
    assert answer.refused is not None
