"""A file that the recorder wrote in an earlier version means what it meant then.

`tests/data/make_recorder_trace.py` recorded it: two steps of a small model, whose head shares the
weight of its embedding.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import Marks, ReportData

TRACE = Path(__file__).parents[1] / "data" / "recorder_v1.pt.trace.json.gz"
STEPS = 2
GRADIENT = "torch::autograd::AccumulateGrad"
LINEAR = {"AddmmBackward0": 1, "TBackward0": 1, GRADIENT: 2}
NORM = {"NativeLayerNormBackward0": 1, GRADIENT: 2}
MODULES = {
    "": ("Net", None, {}),
    "embed": ("Embedding", "", {"EmbeddingBackward0": 1, GRADIENT: 1}),
    "blocks": ("Sequential", "", {}),
    "blocks.0": ("Block", "blocks", {"AddBackward0": 1}),
    "blocks.0.norm": ("LayerNorm", "blocks.0", NORM),
    "blocks.0.fc": ("Linear", "blocks.0", LINEAR),
    "blocks.1": ("Block", "blocks", {"AddBackward0": 1}),
    "blocks.1.norm": ("LayerNorm", "blocks.1", NORM),
    "blocks.1.fc": ("Linear", "blocks.1", LINEAR),
    "head": ("Linear", "", {"MmBackward0": 1, "TBackward0": 1}),
    "loss": ("CrossEntropyLoss", None, {"NllLossBackward0": 1, "LogSoftmaxBackward0": 1}),
}
"""Class, module above, and the nodes of one backward, by path."""
SCALING = {"MulBackward0": 1}
"""The node of one step that no module made: the loss times the scale."""


@pytest.fixture(scope="module")
def made() -> Analysis:
    return load(TRACE)


@pytest.fixture(scope="module")
def data(made: Analysis) -> ReportData:
    return build_report(made).data


def test_modules_stand_as_they_were_wrapped(data: ReportData) -> None:
    found = [(m.path, m.module_class, m.parent, m.calls) for m in data.modules]
    assert found == [(path, cls, above, STEPS) for path, (cls, above, _) in MODULES.items()]


def test_every_node_belongs_to_the_module_that_made_it(made: Analysis) -> None:
    nodes, owner = made.nodes.row.tolist(), made.attribution.node_module.tolist()
    found = Counter(
        (made.modules.path[module] if module >= 0 else None, node_name(made.host.name(node)))
        for node, module in zip(nodes, owner, strict=True)
    )
    wanted = {path: nodes for path, (_, _, nodes) in MODULES.items()} | {None: SCALING}
    assert found == {
        (path, node): count * STEPS for path, each in wanted.items() for node, count in each.items()
    }


def test_the_times_sum_up(data: ReportData) -> None:
    coverage = data.coverage
    own = {m.path: m.backward.self_host_us or 0.0 for m in data.modules}
    assert {path for path, time in own.items() if time} == {
        p for p, row in MODULES.items() if row[2]
    }
    total = sum(own.values()) + (coverage.unattributed_host_us or 0)
    assert total == pytest.approx(coverage.backward_host_us or 0, abs=1e-6)
    assert set(coverage.by_evidence) == {"sequence", "mark"}
    assert set(coverage.unattributed_by_reason) == {"not made in a module"}
    root = data.modules[0]
    below = sum(time for path, time in own.items() if path != "loss")
    assert root.backward.host_us == pytest.approx(below, abs=1e-6)


def test_marks_and_what_they_cost(data: ReportData) -> None:
    recorder = data.recorder
    assert recorder is not None
    assert (recorder.version, recorder.markers) == (1, ["auto"])
    assert recorder.marks == Marks(
        forward=STEPS * len(MODULES),
        gradient=STEPS * sum(nodes.get(GRADIENT, 0) for _, _, nodes in MODULES.values()),
        backward=STEPS * 2 * len(MODULES),
        function=STEPS * len(["unscale_", "norm", "clip", "step", "update"]),
    )
    cost = (data.trace.recorder or {})["cost_us"]
    counts = {"forward": 22, "gradient": 18, "backward": 44, "function": 10}
    own = sum(count * cost[kind] for kind, count in counts.items())
    assert recorder.own_host_us == pytest.approx(own)
    assert recorder.own_share == pytest.approx(own / sum(step.duration_us for step in data.steps))


def test_steps_and_phases(data: ReportData) -> None:
    assert [step.name for step in data.steps] == ["ProfilerStep#1", "ProfilerStep#2"]
    for step in data.steps:
        assert min(step.forward_us, step.backward_us, step.optimizer_us) > 0
    assert data.trace.warnings == []


def test_the_manifest_is_told_without_what_is_as_long_as_the_model(data: ReportData) -> None:
    recorder = data.trace.recorder or {}
    assert (recorder["version"], recorder["roots"]) == (1, ["", "loss"])
    assert recorder["device"] == {"parameters": ["cpu"], "accelerator": None}
    assert [root["markers"] for root in recorder["options"]] == ["auto", "auto"]
    assert not {"modules", "shared"} & set(recorder)
