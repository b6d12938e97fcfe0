"""The table of modules: order, roots, calls, shapes, and what a trace does not hold."""

from __future__ import annotations

from pathlib import Path

import grid
from analysis.owners import NAMES, module, report_of

from tb_hookview import markers
from tb_hookview.analysis import build_report, load


def test_calls_are_shown_with_the_shapes_of_their_first_operator(tmp_path: Path) -> None:
    """The most frequent first; a recomputed call, and an operator without shapes, do not count."""
    traced = grid.events(
        """
        main ops   [root                                                              ]
        main ops    [fc                 ] [fc           ] [fc           ] [relu       ]
        main ops     [empty] [linear a=1]  [linear a=2 ]   [linear a=2 ]   [empty    ]
        """,
        NAMES,
    )
    dims = {1: [[8, 16], []], 2: [[4, 16], []]}
    for event in traced:
        if event["name"] == "linear":
            event["args"] = {"Input Dims": dims[event["args"]["a"]]}
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    shown = [(shape.operator, shape.dims, shape.calls) for shape in module(data, "fc").shapes]
    assert shown == [("linear", [[4, 16], []], 2), ("linear", [[8, 16], []], 1)]
    assert module(data, "").shapes[0].dims == [[8, 16], []]
    assert module(data, "relu").shapes == []


def test_the_manifest_gives_order_roots_and_modules_never_called(tmp_path: Path) -> None:
    listed = [
        ("", "Net"),
        ("relu", "ReLU"),
        ("fc", "Linear"),
        ("fc.idle", "Dropout"),
        ("loss", "L"),
    ]
    manifest = {
        "version": 1,
        "roots": ["", "loss"],
        "modules": [{"path": path, "class": kind} for path, kind in listed],
    }
    data = report_of(
        tmp_path,
        """
        main ops   [root               ]
        main ops    [fc              ]
        main ops     [aten::mm seq=4]
        """,
        **{markers.MANIFEST_KEY: manifest},
    )
    tree = [(m.path, m.parent, m.calls) for m in data.modules]
    assert tree == [
        ("", None, 1),
        ("relu", "", 0),
        ("fc", "", 1),
        ("fc.idle", "fc", 0),
        ("loss", None, 0),
    ]
    assert data.trace.recorder == {"version": 1, "roots": ["", "loss"]}


def test_device_numbers_are_null_without_a_device(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]
        main ops    [aten::mm seq=4]   [mm' seq=4 F=1]
        """,
    )
    fc = module(data, "fc")
    assert (fc.backward.device_us, fc.backward.kernels, fc.sync.device_idle_us) == (
        None,
        None,
        None,
    )
    assert data.totals.backward_device_us is None
    assert data.coverage.measure == "host"
    assert data.steps[0].device_busy_us is None
