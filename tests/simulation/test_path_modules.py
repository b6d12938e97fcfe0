"""The critical path by module and kind, and slack; one character is a microsecond, by hand."""

from __future__ import annotations

from pathlib import Path

import grid
import numpy as np
import pytest
from analysis import owners

from tb_hookview import schema
from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import analyze, load
from tb_hookview.simulation import path_rows
from tb_hookview.simulation.changes import Change, DeviceChange, HostChange
from tb_hookview.simulation.path_rows import PARTS, path_pieces
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.replay import Lengths
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.simulation.whatif import what_if

NAMES = {**owners.NAMES, "launch": "cudaLaunchKernel", "wait": "cudaStreamSynchronize"}
HOST_BOUND = """
    main notes [ProfilerStep#1                                                              ]
    main ops     [fc                  ]     [relu                      ]
    main ops      [aten::mm           ]      [aten::relu          ]
    main calls       [launch corr=1]                [launch corr=2]
    gpu  kernel      [gemm corr=1                ]  [k corr=2            ]
"""
"""The second kernel ends 19 us before the step, and begins 2 us after the first one ends."""
DEVICE_BOUND = """
    main notes [ProfilerStep#1                                                   ]
    main ops    [fc              ][relu             ]
    main ops     [aten::mm      ]  [aten::relu     ]
    main calls    [launch corr=1]   [launch corr=2]
    main calls                                       [wait                     ]
    gpu  kernel   [gemm corr=1                       ][k corr=2               ]
"""


def drawn(folder: Path, picture: str) -> Simulator:
    path = grid.write(folder / "t.json", grid.events(picture, NAMES))
    return Simulator(Selection(load(path), None))


def modules(answer: schema.WhatIf) -> dict[str | None, schema.PathModule]:
    return {row.module: row for row in answer.path_modules}


def total(row: schema.PathTime) -> dict[str, float]:
    return {part: us for part in PARTS if (us := getattr(row, part))}


def test_the_host_is_in_the_innermost_module(tmp_path: Path) -> None:
    answer = what_if(drawn(tmp_path, HOST_BOUND), Change())
    assert {name: total(row.path) for name, row in modules(answer).items()} == {
        "fc": {"host": 22},
        "relu": {"host": 28},
        None: {"host": 78 - 22 - 28},
    }
    assert all(row.slack_us == 0 for row in answer.path_modules)
    kinds = {row.kind: (row.device_us, row.path_us, row.slack_us) for row in answer.path_kinds}
    assert kinds == {"matrix": (29, 0, 2 + 19), "elementwise": (22, 0, 19)}


def test_device_events_are_of_the_module_that_launched_them(tmp_path: Path) -> None:
    answer = what_if(drawn(tmp_path, DEVICE_BOUND), Change())
    assert {name: total(row.path) for name, row in modules(answer).items()} == {
        "fc": {"host": 2, "device": 36},
        "relu": {"device": 25, "wait": 1},
        None: {"host": 1 + 2},
    }
    kinds = {row.kind: (row.path_us, row.slack_us) for row in answer.path_kinds}
    assert kinds == {"matrix": (36, 0), "elementwise": (25, 0)}


def test_a_module_that_is_scaled_is_less_of_the_path(tmp_path: Path) -> None:
    simulator = drawn(tmp_path, HOST_BOUND)
    answer = what_if(simulator, scaled(simulator.analysis, {"module:fc": 0, "module:relu": 0.5}))
    found = {name: total(row.path) for name, row in modules(answer).items()}
    assert found == {"relu": {"host": 14}, None: {"host": 28}, "fc": {}}
    assert answer.predicted_us == 14 + 28


@pytest.mark.parametrize("picture", [HOST_BOUND, DEVICE_BOUND])
def test_what_is_not_replayed_has_the_step_that_a_replay_has(picture: str, tmp_path: Path) -> None:
    """Kernels off the path may be gone; longer ones, and those on it, are replayed."""
    simulator = drawn(tmp_path, picture)
    replayed: list[Lengths] = []
    real = simulator._replayer
    simulator.__dict__["_replayer"] = lambda lengths: (replayed.append(lengths), real(lengths))[1]
    before = simulator.unchanged.step
    for factor, spared in ((0.0, picture is HOST_BOUND), (1.0, True), (9.0, False)):
        replayed.clear()
        change = scaled(simulator.analysis, {"kernels": factor})
        step = simulator.step(change)
        assert (not replayed) == spared
        assert step == simulator.predict(change).step
        assert (step == before) == spared


def test_a_kernel_off_the_path_may_take_longer_by_its_slack(tmp_path: Path) -> None:
    simulator = drawn(tmp_path, HOST_BOUND)
    first = np.array([0])

    def longer(us: float) -> float:
        slower = Change(device=(DeviceChange(first, (29 + us) / 29),))
        return simulator.step(slower) - simulator.unchanged.step

    assert longer(21) == 0
    assert longer(22) == 1000


def test_the_host_off_the_path_may_take_longer_by_its_slack(tmp_path: Path) -> None:
    """From one launch to the next: the second kernel waits for the first one meanwhile."""
    simulator = drawn(tmp_path, DEVICE_BOUND)
    graph, analysis = simulator.graph, simulator.analysis
    begin, end = np.sort(analysis.call_tree.start[analysis.device_events.launch])
    between, length = np.array([[begin, end]]), int(end - begin) / 1000

    def longer(us: float) -> float:
        slower = Change(host=(HostChange(-1, between, (length + us) / length),))
        return simulator.step(slower) - simulator.unchanged.step

    edge = graph.edges.of(EdgeKind.HOST)
    edge &= graph.nodes.time[graph.edges.source] == begin - simulator.window.start
    assert simulator.unchanged.slack.edge[edge].tolist() == [(36 - length) * 1000]
    assert longer(36 - length) == 0
    assert longer(36 - length + 3) == 3000


TWO_STEPS = """
    main notes [ProfilerStep#0 ][ProfilerStep#1              ][ProfilerStep#2                ]
    main ops                        [fc              ]          [fc                 ]
    main ops                         [aten::mm      ]            [aten::mm      ]
    main calls [launch corr=5]        [launch corr=1]             [launch corr=2]
    gpu  kernel [k corr=5]            [gemm corr=1 ]              [gemm corr=2 ]
"""


def test_each_step_has_its_part_of_the_path(tmp_path: Path) -> None:
    simulator = drawn(tmp_path, TWO_STEPS)
    pieces = path_pieces(simulator.unchanged)
    length = (pieces.end - pieces.start) // 1000
    found = [length[pieces.step == step].sum() for step in (0, 1)]
    assert found == [30, 32]
    inside = [length[(pieces.step == step) & (pieces.module == 0)].sum() for step in (0, 1)]
    assert inside == [18, 21]
    report = analyze(tmp_path / "t.json")
    table = report.table("critical_path").to_columns()
    assert table["part"] == ["host"] * len(table["part"])
    assert sum(table["duration_us"]) == 62
    rows = report.table("critical_path_modules").to_columns()
    by_module = list(
        zip(rows["step"], rows["module"], rows["host_us"], rows["slack_us"], strict=True)
    )
    assert by_module == [
        ("ProfilerStep#1", "fc", 18, 0),
        ("ProfilerStep#1", None, 12, 0),
        ("ProfilerStep#2", "fc", 21, 0),
        ("ProfilerStep#2", None, 11, 0),
    ]


def test_a_refused_replay_has_empty_tables(tmp_path: Path) -> None:
    path = grid.write(
        tmp_path / "t.json", grid.events(HOST_BOUND.replace("k corr=2", "k corr=8"), NAMES)
    )
    report = analyze(path)
    for name in ("critical_path", "critical_path_modules"):
        assert len(report.table(name)) == 0
        assert not any(report.table(name).to_columns().values())
    answer = report.whatif()
    assert (answer.path_modules, answer.path_kinds, answer.path_modules_rest) == (None, None, None)


def test_an_answer_lists_the_longest_and_those_of_least_slack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_rows, "_ON_PATH", 1)
    monkeypatch.setattr(path_rows, "_OFF_PATH", 0)
    answer = what_if(drawn(tmp_path, DEVICE_BOUND), Change())
    assert [row.module for row in answer.path_modules] == ["fc"]
    assert answer.path_modules_left_out == 2
    assert answer.path_modules_rest == schema.PathTime(3, 25, 0, 1, 0, 0)
