"""Graphs replayed in no known pass: what they may hold is unknown, not 0."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from analysis.owners import NAMES, module, report_of
from support.event_tables import event_table

from tb_hookview import markers
from tb_hookview.analysis.selection import select
from tb_hookview.cli.checks import unattributed_percent
from tb_hookview.errors import UsageError
from tb_hookview.loading import analyze, load
from tb_hookview.report.build import build_report
from tb_hookview.report.summary.lines import detail_lines
from tb_hookview.schema import UNSEEN, Module, ReportData

GRAPH = {"graph": "cudaGraphLaunch", "adam": "Optimizer.step#Adam.step"}
MANIFEST = {
    markers.MANIFEST_KEY: {
        "version": 1,
        "roots": [""],
        "modules": [{"path": path, "class": "Linear"} for path in ("", "fc", "relu")],
    }
}
WHOLE = """
    main notes  [step                                    ]
    main ops     [aten::copy_           ]
    main calls    [launch corr=1]         [graph corr=2]
    gpu  kernel           [k corr=1]           [a corr=2][b corr=2]
    """


def passes(data: ReportData) -> tuple[float | None, ...]:
    totals = data.totals
    assert data.coverage.backward_device_us == totals.backward_device_us
    return totals.forward_device_us, totals.backward_device_us, totals.optimizer_device_us


def device_us(row: Module) -> tuple[float | None, float | None]:
    return row.forward.device_us, row.backward.device_us


def test_a_whole_step(tmp_path: Path) -> None:
    data = report_of(tmp_path, WHOLE, GRAPH, **MANIFEST)
    assert passes(data) == (None, None, None)
    assert data.coverage.measure == "device", "the host's 0 us are no backward's"
    assert data.totals.unplaced_graph_us == data.per_step.unplaced_graph_us == 10 + 10
    (step,) = data.steps
    assert (step.forward_us, step.backward_us, step.optimizer_us) == (None, None, None)
    assert (step.data_us, step.other_us, step.backward_idle_us) == (0, step.duration_us, None)
    assert [device_us(row) for row in data.modules] == [(None, None)] * 3
    (copied,) = (row for row in data.operators if row.name == "aten::copy_")
    assert copied.device_us == 10
    (warning,) = [row for row in data.trace.warnings if row.code != "unnamed-kernels"]
    assert (warning.code, warning.severity, warning.count) == ("replayed-graphs", "high", 2)
    assert "does not hold" not in warning.message, "the trace may have the capture"
    assert "20.0 us in the whole trace, 66.7% of device time" in warning.message
    (said,) = (line for line in detail_lines(data) if line.startswith("device time"))
    assert said.endswith("backward -, forward -, optimizer -, graphs in no known phase 20.0 us")


def test_an_optimizer_outside_of_the_graph_is_known(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main notes [step                                                       ]
        main notes                   [adam                                    ]
        main calls  [graph corr=1]    [launch corr=2]
        gpu  kernel     [a corr=1]        [k corr=2]
        """,
        GRAPH,
        **MANIFEST,
    )
    assert passes(data) == (None, None, 10)
    assert data.steps[0].optimizer_us == 42


def test_an_optimizer_in_a_graph_is_all_that_is_unknown(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main notes [step                                                                          ]
        main ops    [root                ]
        main ops     [fc                ]
        main ops      [aten::mm seq=4  ]
        main calls     [launch corr=1]                                             [graph corr=3]
        auto ops                              [mm' seq=4 F=1                ]
        auto calls                               [launch corr=2]
        gpu  kernel      [k corr=1]                   [k corr=2]                        [a corr=3]
        """,
        GRAPH,
        **MANIFEST,
    )
    assert passes(data) == (10, 10, None)
    assert (module(data, "relu").forward.device_us, module(data, "fc").forward.device_us) == (0, 10)


BELOW = """
    main ops    [root                                                     ]
    main calls   [graph corr=1]
    main ops                     [fc                       ]
    main ops                      [aten::mm seq=4         ]
    main calls                     [launch corr=2]
    gpu  kernel     [a corr=1]        [k corr=2]
    """


def test_modules_below_the_one_that_replays_a_graph(tmp_path: Path) -> None:
    """As `torch.cuda.make_graphed_callables` does: the pass is known, and the module that it is in."""
    data = report_of(tmp_path, BELOW, GRAPH, **MANIFEST)
    assert passes(data) == (20, 0, 0)
    assert [device_us(row) for row in data.modules] == [(20, 0), (10, 0), (None, 0)]
    assert "replayed-graphs" not in {row.code for row in data.trace.warnings}


def test_what_graphs_ran_is_not_scaled(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events(BELOW, {**NAMES, **GRAPH}), **MANIFEST)
    report = analyze(path)
    assert report.whatif(scale={"module:relu": 0.5}).refused == f"module:relu: {UNSEEN}"
    assert report.whatif(scale={"module:": 0.5, "module:fc": 0.5}).refused is None


def test_inference_that_launches_its_last_layer(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main calls  [graph corr=1]
        main ops                     [fc                       ]
        main ops                      [aten::mm               ]
        main calls                     [launch corr=2]
        gpu  kernel     [a corr=1]        [k corr=2]
        """,
        GRAPH,
        **MANIFEST,
    )
    assert passes(data) == (None, None, None)
    assert [device_us(row) for row in data.modules] == [(None, None), (10, None), (None, None)]


def test_operators_that_were_captured(tmp_path: Path) -> None:
    """What they launched runs in the replay, which may be after the recording."""
    picture = """
        main calls  [begin]                           [end]
        main ops           [aten::mm           ]            {}
        main calls           [launch corr=1]                [{} corr=2]
        gpu  kernel                                              [a corr=2]
        """
    names = {**NAMES, **GRAPH, "begin": "cudaStreamBeginCapture", "end": "cudaStreamEndCapture"}
    times = []
    for number, launch in enumerate(("graph", "launch")):
        traced = grid.events(picture.format("", launch), names)
        data = build_report(load(grid.write(tmp_path / f"{number}.json", traced))).data
        (row,) = data.operators
        times.append((row.device_us, row.self_device_us))
    assert times == [(None, None)] * 2


STEPS = """
    main notes  [ProfilerStep#1                                                     ]
    main notes                                                                      [ProfilerStep#2   ]
    main ops     [root                ]
    main ops      [fc                ]
    main ops       [aten::mm seq=4  ]
    main calls      [launch corr=1]                                                   [graph corr=3]
    auto ops                               [mm' seq=4 F=1                ]
    auto calls                                [launch corr=2]
    gpu  kernel       [k corr=1]                   [k corr=2]                               [a corr=3]
    """


def test_steps_before_the_capture_are_known(tmp_path: Path) -> None:
    analysis = load(
        grid.write(tmp_path / "t.json", grid.events(STEPS, {**NAMES, **GRAPH}), **MANIFEST)
    )
    found = [build_report(analysis, steps).data for steps in (["1"], ["2"], None)]
    assert [passes(data)[:2] for data in found] == [(10, 10), (None, None), (None, None)]
    assert [module(data, "fc").forward.device_us for data in found] == [10, None, None]
    assert [step.backward_us for step in found[2].steps] == [31, None]


def test_tables_of_modules_and_checks(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events(WHOLE, {**NAMES, **GRAPH}), **MANIFEST)
    rows = event_table("module_utilization", select(load(path), None))
    assert [row.device_us for row in rows] == [None] * 3
    with pytest.raises(UsageError, match="may be in replayed graphs"):
        unattributed_percent(analyze(path).data, 5)
