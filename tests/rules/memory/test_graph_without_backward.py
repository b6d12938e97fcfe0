"""`graph-without-backward`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import findings, row
from shared_traces import shared_trace

from tb_hookview.loading import analyze

RULE = "graph-without-backward"
NODE = row("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 3000, 9, "autograd")


def forward(nodes: int) -> list[dict[str, Any]]:
    """Operators, each of which makes a node; the last one makes none."""
    return [
        {**row("cpu_op", "aten::mm", 1000 + 20 * i, 9), "args": {"Sequence number": 5 + i}}
        for i in range(nodes + 1)
    ]


def test_a_forward_that_keeps_a_graph(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, forward(11))[RULE]
    assert finding.severity == "info"
    assert finding.evidence.startswith(
        "at least 11 autograd nodes for a backward pass are recorded in 12 operators; the trace has no "
        "backward pass and no optimizer"
    )
    assert "inference_mode" in finding.fix


def test_dropout_that_draws_masks_is_training_mode(tmp_path: Path) -> None:
    dropout = [
        row("cpu_op", "aten::dropout", 2000, 90),
        row("cpu_op", "aten::bernoulli_", 2010, 50),
    ]
    (finding,) = findings(tmp_path, [*forward(11), *dropout])[RULE]
    assert "; dropout draws 1 mask" in finding.evidence
    assert finding.fix.startswith("For inference call model.eval() first")


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(forward(10), id="few"),
        pytest.param([*forward(11), NODE], id="a backward pass"),
        pytest.param(
            [*forward(11), row("user_annotation", "Optimizer.step#SGD.step", 3000, 9)],
            id="an optimizer",
        ),
        pytest.param(
            [{**each, "args": {"Sequence number": 5}} for each in forward(11)],
            id="gradients are enabled, and nothing needs one",
        ),
    ],
)
def test_no_graph_in_vain(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    assert RULE not in findings(tmp_path, rows)


def test_a_real_trace() -> None:
    """819 distinct sequence numbers of operators by a plain loop, and 13.2 GB at the peak."""
    found = analyze(shared_trace("particle_transformer_gpu")).data.findings
    (finding,) = (each for each in found if each.rule == RULE)
    assert finding.evidence.startswith("at least 818 autograd nodes")
    assert "saved activations 12.8 GB" in finding.evidence
