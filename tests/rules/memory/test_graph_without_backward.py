"""`graph-without-backward`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import findings, operators, row
from shared_traces import shared_trace

from tb_hookview.loading import analyze

RULE = "graph-without-backward"
NODE = row("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 3000, 9, "autograd")

DROPOUT = [
    row("cpu_op", "aten::dropout", 2000, 90),
    row("cpu_op", "aten::bernoulli_", 2010, 50),
]


def forward(nodes: int) -> list[dict[str, Any]]:
    """Operators, each of which makes a node; the last one makes none."""
    return [
        {**row("cpu_op", "aten::mm", 1000 + 20 * i, 9), "args": {"Sequence number": 5 + i}}
        for i in range(nodes + 1)
    ]


def test_autograd_functions_alone_keep_no_graph(tmp_path: Path) -> None:
    """`apply` takes a number under no_grad, too."""
    rows = [{**each, "name": "TopK"} for each in forward(40)] + [row("cpu_op", "aten::mm", 5000, 9)]
    assert RULE not in findings(tmp_path, rows)


def test_a_forward_that_keeps_a_graph(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, forward(11))[RULE]
    assert finding.severity == "info"
    assert finding.evidence.startswith(
        "at least 11 autograd nodes for a backward pass are recorded in 12 operators; the trace has no "
        "backward pass and no optimizer"
    )
    assert "inference_mode" in finding.fix


ZERO_GRAD = "Optimizer.zero_grad#SGD.zero_grad"


def test_gradients_that_are_set_to_zero_are_no_training(tmp_path: Path) -> None:
    """Twice, and no backward pass in between; a forward before or after may have one still."""
    before, after = (row("user_annotation", ZERO_GRAD, at, 9) for at in (900, 2000))
    (finding,) = findings(tmp_path, [before, *forward(11), after])[RULE]
    assert "no optimizer's step, though gradients are set to zero; " in finding.evidence
    step = row("user_annotation", "Optimizer.step#SGD.step", 2100, 9)
    compiled = row("cpu_op", "Torch-Compiled Region: 0/0", 2100, 9)
    for rest in ([before], [after], [before, after, step], [before, after, NODE]):
        assert RULE not in findings(tmp_path, [*forward(11), *rest])
    assert RULE not in findings(tmp_path, [before, *forward(11), after, compiled])


def test_dropout_that_draws_masks_is_training_mode(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, [*forward(11), *DROPOUT])[RULE]
    assert "; dropout draws 1 mask" in finding.evidence
    assert finding.fix.startswith("For inference call model.eval() first")


def test_dropout_is_avoidable_in_inference(tmp_path: Path) -> None:
    drops = operators([("aten::native_dropout", "fused_dropout_kernel_vec")], start=2020, kernel=60)
    rest = operators([("aten::mm", "gemm")] * 4, start=3000, kernel=12)
    (finding,) = findings(tmp_path, [*forward(11), DROPOUT[0], *drops, *rest])[RULE]
    assert "; dropout draws 1 mask and takes 60.0 us of device time" in finding.evidence
    assert (finding.cost_us_per_step, finding.device_work_us_per_step) == (60, 60)
    assert finding.gain_us_per_step is None
    assert any("if this is inference" in caveat for caveat in finding.caveats)


def norms(of: int, number: int = -1, step: int = 0) -> list[dict[str, Any]]:
    """Batch norms in training mode under no_grad: each right after the addition to its counter."""
    names = ["aten::conv2d", "aten::add_", "aten::batch_norm"] * of
    return [
        {
            **row("cpu_op", name, 2000 + 20 * i, 9),
            "args": {"External id": i, "Sequence number": number + step * i},
        }
        for i, name in enumerate(names)
    ]


def test_batch_norm_that_counts_batches_is_training_mode(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, [*forward(11), *norms(4, 16)])[RULE]
    assert "; 4 batch norms count their batch" in finding.evidence
    assert finding.fix.startswith("For inference call model.eval() first")


def test_training_mode_without_a_graph(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, norms(4))[RULE]
    assert finding.title == "The model is in training mode, but no backward pass runs"
    assert finding.evidence.startswith("the trace has no backward pass, no optimizer and no graph")
    assert "update_bn" in finding.fix
    assert "inference_mode" not in finding.fix


def test_without_numbers_a_graph_is_unknown(tmp_path: Path) -> None:
    """As `EventList.export_chrome_trace` writes rows."""
    (finding,) = findings(tmp_path, [{**each, "args": {}} for each in norms(4)])[RULE]
    assert "whether a graph for one is recorded is unknown" in finding.evidence
    assert "inference_mode" in finding.fix


def test_sums_before_batch_norm_count_no_batches(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, norms(8, 5, step=1))[RULE]
    assert "batch norm" not in finding.evidence
    assert "eval()" not in finding.fix


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
        pytest.param([*norms(4), NODE], id="training mode and a backward pass"),
        pytest.param(
            [*norms(4), row("user_annotation", "Optimizer.step#SGD.step", 3000, 9)],
            id="training mode and an optimizer",
        ),
        pytest.param(
            [each for each in norms(4) if each["name"] != "aten::add_"],
            id="no running statistics",
        ),
        pytest.param(
            [*norms(4), *(row("cpu_op", "aten::batch_norm", 2500 + 20 * i, 9) for i in range(4))],
            id="half of the batch norms after the sum of a residual branch",
        ),
        pytest.param(
            [row("cpu_op", "CheckpointFunction", 1900, 900), *DROPOUT],
            id="a forward in a checkpoint, for a backward that is not recorded",
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
