"""`zero-grad-fill`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.cpu import findings as on_cpu
from rules.cpu import operator, step
from rules.eager import ADD, findings, operators, row

RULE = "zero-grad-fill"
FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >"
ZERO = row("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 990, 60)
SINK = row(
    "cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 1090, 90
)


def test_fills_and_the_sums_onto_them(tmp_path: Path) -> None:
    fills = operators([("aten::zero_", FILL)] * 2, kernel=13)
    sums = operators([("aten::add_", ADD)] * 4, start=1100)
    (finding,) = findings(tmp_path, fills, sums, [ZERO, SINK])[RULE]
    assert finding.count == 2
    # Two fills, two of the four sums, and the gaps before the fills.
    assert finding.cost_us_per_step == pytest.approx(2 * 13 + 2 * 4 + 7 + 7)


@pytest.mark.parametrize("operator", ["aten::zero_", "aten::_foreach_zero_"])
def test_a_fill(tmp_path: Path, operator: str) -> None:
    assert RULE in findings(tmp_path, operators([(operator, FILL)]), [ZERO])


def test_gradients_that_are_dropped(tmp_path: Path) -> None:
    sums = operators([("aten::add_", ADD)] * 4, start=1100)
    assert RULE not in findings(tmp_path, operators([("aten::detach", "")]), sums, [ZERO, SINK])


def test_zeros_made_elsewhere(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators([("aten::zero_", FILL)], start=1100), [ZERO])


def test_a_cpu_fills_and_adds(tmp_path: Path) -> None:
    zeroing = [row("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 1100, 500)]
    fills = [operator("aten::zero_", 1110 + 100 * i, 90) for i in range(2)]
    sinks = [
        part
        for i in range(3)
        for part in (
            operator("torch::autograd::AccumulateGrad", 2000 + 100 * i, 80),
            operator("aten::add_", 2010 + 100 * i, 60),
        )
    ]
    (finding,) = on_cpu(tmp_path, [step(4000), *zeroing, *fills, *sinks])["zero-grad-fill"]
    assert finding.cost_us_per_step == finding.gain_us_per_step == 2 * 90 + 2 * 60
    assert "zero-grad-fill" not in on_cpu(tmp_path, [step(4000), *zeroing, *sinks])
