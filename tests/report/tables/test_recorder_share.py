"""The recorder's own part of a trace: marks, their cost, unknown marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import msgspec
import pytest

from tb_hookview import markers
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import Marks, Recorder, ReportData

EVALUATE = "autograd::engine::evaluate_function: "
NAMES = {
    "fc": markers.encode("forward", "fc", "Linear"),
    "b": markers.encode("before backward", "fc", "Linear"),
    "a": markers.encode("after backward", "fc", "Linear"),
    "w": markers.encode("gradient", "fc", "Linear", "weight"),
    "clip": markers.encode("call", "torch.nn.utils.clip_grads_with_norm_", markers.FUNCTION),
    "acc'": EVALUATE + "torch::autograd::AccumulateGrad",
    "mm'": EVALUATE + "MmBackward0",
    "later": "fc (Linear) forward ~hv7",
    "odd": "fc (Linear) sideways ~hv2",
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    "wait": "cudaStreamSynchronize",
    "sgd": "Optimizer.step#SGD.step",
}
COST = {"forward": 2.0, "gradient": 1.0, "backward": 0.5, "function": 3.0}
PICTURE = """
    main notes [s1                                                                       ][s2                   ]
    main ops    [fc              ]                                    [clip       ]        [fc              ]     [fc]
    main ops     [aten::mm seq=4]                                      [aten::mul]          [aten::mm seq=4]
    auto ops                       [b] [mm' seq=4 F=1] [acc'   ] [a]
    auto ops                                             [w]
    """


def report(
    folder: Path, picture: str, steps: list[str] | None = None, **manifest: Any
) -> ReportData:
    root = {markers.MANIFEST_KEY: manifest} if manifest else {}
    path = grid.write(folder / "t.json", grid.events(picture, NAMES), **root)
    return build_report(load(path), steps).data


def test_marks_are_counted_and_their_time_estimated(tmp_path: Path) -> None:
    data = report(tmp_path, PICTURE, markers=["auto"], version=1, cost_us=COST)
    first, second = data.steps
    assert data.recorder == Recorder(
        version=markers.VERSION,
        markers=["auto"],
        marks=Marks(forward=2, gradient=1, backward=2, function=1),
        own_host_us=2 * 2.0 + 1.0 + 2 * 0.5 + 3.0,
        own_share=9.0 / (first.duration_us + second.duration_us),
    )


def test_a_step_has_its_own_marks_alone(tmp_path: Path) -> None:
    data = report(tmp_path, PICTURE, ["2"], cost_us=COST)
    assert data.recorder is not None
    assert data.recorder.marks == Marks(forward=1, gradient=0, backward=0, function=0)
    assert data.recorder.own_share == 2.0 / data.steps[0].duration_us


def test_a_trace_without_marks_has_no_recorder(tmp_path: Path) -> None:
    assert report(tmp_path, "main ops [aten::mm]", version=1, cost_us=COST).recorder is None


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"version": 1},
        {"cost_us": None},
        {"cost_us": {}},
        {"cost_us": [1, 2]},
        {"cost_us": {**COST, "function": None}},
        {"cost_us": {**COST, "forward": "2"}},
        {"cost_us": {**COST, "forward": -1}},
        {"cost_us": {**COST, "forward": True}},
        {"cost_us": {**COST, "forward": 10**400}},
        {"cost_us": {"forward": 2.0, "gradient": 1.0, "backward": 0.5}},
    ],
)
def test_a_cost_that_is_not_told_is_not_known(tmp_path: Path, manifest: dict[str, Any]) -> None:
    recorder = report(tmp_path, PICTURE, **manifest).recorder
    assert recorder is not None
    assert (recorder.own_host_us, recorder.own_share, recorder.markers) == (None, None, [])
    assert recorder.marks.forward == 2


def test_a_kind_without_a_mark_needs_no_cost(tmp_path: Path) -> None:
    recorder = report(tmp_path, PICTURE, ["2"], cost_us={"forward": 2.0}).recorder
    assert recorder is not None
    assert recorder.own_host_us == 2.0


def test_a_report_of_before_is_still_read(tmp_path: Path) -> None:
    content = msgspec.to_builtins(report(tmp_path, PICTURE))
    del content["recorder"]
    assert msgspec.convert(content, ReportData).recorder is None


def test_scaling_and_clipping_is_part_of_the_optimizer(tmp_path: Path) -> None:
    data = report(
        tmp_path,
        """
        main ops   [fc              ] [clip                         ]
        main ops    [aten::mm seq=4]    [aten::item               ]
        main calls                        [wait corr=3           ]
        main notes                                                     [sgd   ]
        """,
    )
    (step,) = data.steps
    assert (step.forward_us, step.optimizer_us, step.backward_us) == (18, 31 + 8, 0)
    assert [m.path for m in data.modules] == ["fc"]
    assert data.nodes == []
    assert [(s.phase, s.operator) for s in data.syncs] == [("optimizer", "aten::item")]


def test_clipping_within_a_backward_is_backward(tmp_path: Path) -> None:
    data = report(
        tmp_path,
        """
        main ops   [fc              ]
        main ops    [aten::mm seq=4]
        auto ops                      [mm' seq=4 F=1         ]
        auto ops                        [clip      ]
        """,
    )
    (step,) = data.steps
    assert (step.backward_us, step.optimizer_us) == (24, 0)
    assert data.coverage.by_evidence == {"sequence": 24.0}


def warned(data: ReportData) -> dict[str, int]:
    return {warning.message: warning.count for warning in data.trace.warnings}


def test_marks_of_a_later_version_are_read_and_each_is_counted(tmp_path: Path) -> None:
    data = report(tmp_path, "main ops [later] [later] [fc ]")
    assert [(m.path, m.calls) for m in data.modules] == [("fc", 3)]
    assert data.recorder is not None
    assert data.recorder.version == 7
    assert warned(data) == {"marks of a later version than this analyzer knows": 2}


@pytest.mark.parametrize("kind", ["ops", "notes"])
def test_marks_of_an_unknown_kind_are_counted_and_nothing_else(tmp_path: Path, kind: str) -> None:
    data = report(
        tmp_path,
        f"""
        main ops   [fc                ]
        main {kind}  [odd                     ] [odd]
        main ops     [aten::mm seq=4]
        """,
    )
    assert [m.path for m in data.modules] == ["fc"]
    assert warned(data) == {"marks of a kind that this analyzer does not know": 2}


def test_a_manifest_of_a_later_version_is_read_and_warned_of(tmp_path: Path) -> None:
    listed = [{"path": "fc", "class": "Linear", "more": 1}]
    data = report(tmp_path, "main ops [aten::mm]", version=9, modules=listed, more={"a": 1})
    assert [m.path for m in data.modules] == ["fc"]
    assert warned(data)["manifest of a later version than this analyzer knows"] == 1
