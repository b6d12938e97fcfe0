"""`pointwise-unfused`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import ADD, findings, operators, row

RULE = "pointwise-unfused"
CHAIN = [("aten::mul", ADD), ("aten::add", ADD), ("aten::gelu", ADD)]
CALL = row("user_annotation", "[pl][module]Model: model", 990, 5000)
GEMM = [("aten::mm", "gemm")]


def model(*operators_: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These operators as the forward of a module."""
    return [*(each for some in operators_ for each in some), CALL]


def test_a_chain(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, model(operators((CHAIN + GEMM) * 4)))[RULE]
    assert finding.cost_us_per_step == pytest.approx(4 * (12 - 4))
    assert finding.gain_bound_us_per_step == pytest.approx(0.7 * 32)
    assert finding.confidence == "medium"


def test_two_in_a_row(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, model(operators((CHAIN[:2] + GEMM) * 4)))


def test_a_small_part_of_the_time(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, model(operators(CHAIN + GEMM * 12)))


def test_a_model_that_is_compiled(tmp_path: Path) -> None:
    fused = operators([("aten::mul", "triton_poi_fused_mul_0")], start=4000)
    assert RULE not in findings(tmp_path, model(operators((CHAIN + GEMM) * 4), fused))


def test_kernels_on_streams_of_their_own(tmp_path: Path) -> None:
    some = [
        each
        for i in range(6)
        for each in operators(CHAIN[:1], start=1000 + 20 * i, stream=7 + i % 3)
    ]
    assert RULE not in findings(tmp_path, model(some))


def test_an_optimizer(tmp_path: Path) -> None:
    step = row("user_annotation", "Optimizer.step#Mine.step", 990, 900)
    assert RULE not in findings(tmp_path, operators(CHAIN * 4), [step])
