"""`optimizer-single-tensor`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import ADD, findings, operators, row

RULE = "optimizer-single-tensor"
STEP = row("user_annotation", "Optimizer.step#SGD.step", 990, 900)
UPDATES = [("aten::mul_", ADD), ("aten::add_", ADD)] * 12


def test_one_parameter_after_the_other(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators(UPDATES), [STEP])[RULE]
    assert finding.count == 24
    assert finding.cost_us_per_step == pytest.approx(7 + 23 * 16)


def test_a_device_that_is_busy_meanwhile(tmp_path: Path) -> None:
    backward = operators([("aten::mm", "gemm")], start=900, kernel=900, stream=9)
    (finding,) = findings(tmp_path, backward, operators(UPDATES), [STEP])[RULE]
    assert finding.severity == "info"


def test_some_operators_take_lists(tmp_path: Path) -> None:
    some = operators([*UPDATES, ("aten::_foreach_add_", "multi_tensor_apply_kernel")])
    assert RULE not in findings(tmp_path, some, [STEP])


def test_few_parameters(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(UPDATES[:18]), [STEP])


def test_operators_outside_of_the_step(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(UPDATES, start=2000), [STEP])
