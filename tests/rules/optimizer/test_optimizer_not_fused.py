"""`optimizer-not-fused`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import findings, operators, row

RULE = "optimizer-not-fused"
LISTS = [(f"aten::_foreach_{name}", "multi_tensor_apply_kernel") for name in ("lerp_", "addcdiv_")]


def step(name: str = "Adam") -> list[dict[str, object]]:
    return [row("user_annotation", f"Optimizer.step#{name}.step", 990, 180)]


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_eleven_eighteenths_of_the_updates_by_lists(name: str, tmp_path: Path) -> None:
    """The host is done with an operator in 20 us, and the device with its kernel in 60."""
    rows = operators(LISTS * 4, kernel=60)
    for number, kernel in enumerate(each for each in rows if each["cat"] == "kernel"):
        kernel["ts"] += 40 * number
    (finding,) = findings(tmp_path, rows, step(name))[RULE]
    assert finding.evidence.startswith("8 kernels of operators on lists")
    assert finding.cost_us_per_step == 480
    assert finding.gain_us_per_step == pytest.approx(480 * 11 / 18, rel=0.02)


def test_a_fused_update(tmp_path: Path) -> None:
    fused = [*LISTS, ("aten::_fused_adam_", "multi_tensor_apply_kernel")]
    assert RULE not in findings(tmp_path, operators(fused), step())


def test_other_optimizers_and_what_is_outside_of_the_step(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(LISTS), step("SGD"))
    assert RULE not in findings(tmp_path, operators(LISTS, start=2000), step())


def test_an_update_that_is_a_small_part_of_device_work(tmp_path: Path) -> None:
    backward = operators([("aten::mm", "gemm")], start=900, kernel=900, stream=9)
    assert RULE not in findings(tmp_path, backward, operators(LISTS), step())
