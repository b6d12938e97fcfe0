"""`float32-training`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import A100, ADD, V100, findings, operators

RULE = "float32-training"
TF32 = ("aten::mm", "ampere_sgemm_tf32_tn")
GRADIENT = ("aten::convolution_backward", "cutlass_tensorop_s1688wgrad_optimized_tf32_64x128")
OTHER = ("aten::add", ADD)
HALF = ("aten::add", ADD.replace("float", "c10::Half"))
UPDATE = ("aten::_fused_adam_", "void at::native::multi_tensor_apply_kernel<float, Adam>")
TRAINING = [TF32, GRADIENT, OTHER, OTHER]


def test_products_in_tf32_and_all_else_in_float32(tmp_path: Path) -> None:
    some = operators(TRAINING, kernel=20)
    (finding,) = findings(tmp_path, some, deviceProperties=A100)[RULE]
    assert "40.0 us (50% of device work) in products" in finding.evidence
    assert finding.cost_us_per_step == pytest.approx(80)
    assert finding.gain_bound_us_per_step == pytest.approx(40)
    assert "bfloat16" in finding.fix


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([TF32, TF32, OTHER, OTHER], "inference"),
        ([*TRAINING, HALF], "mixed precision"),
        ([OTHER, OTHER, ("aten::convolution_backward", "wgrad2d_sgemm")], "no product in TF32"),
        ([GRADIENT, *[UPDATE] * 4], "nearly all is the optimizer's"),
    ],
)
def test_what_is_none(tmp_path: Path, calls: list[tuple[str, str]], why: str) -> None:
    some = operators(calls, kernel=20)
    assert RULE not in findings(tmp_path, some, deviceProperties=A100), why


def test_the_host_decides_the_step(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(TRAINING, kernel=4), deviceProperties=A100)


def test_a_device_without_bfloat16(tmp_path: Path) -> None:
    some = operators(TRAINING, kernel=20)
    assert RULE not in findings(tmp_path, some, deviceProperties=V100)
