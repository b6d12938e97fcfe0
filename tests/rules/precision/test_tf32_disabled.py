"""`tf32-disabled`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import A100, V100, findings, operators

RULE = "tf32-disabled"
SINGLE = ("aten::addmm", "ampere_sgemm_128x64_nn")


def test_products_in_float32(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators([SINGLE] * 3), deviceProperties=A100)[RULE]
    assert finding.cost_us_per_step == pytest.approx(12)
    assert finding.gain_bound_us_per_step == pytest.approx(8)


def test_a_device_without_it(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators([SINGLE] * 3), deviceProperties=V100)


def test_other_products_use_it(tmp_path: Path) -> None:
    """Then it is enabled, and the library has chosen not to use it for these."""
    some = operators([SINGLE, ("aten::mm", "cutlass_80_tensorop_s1688gemm_128x64_nn_align4")])
    assert RULE not in findings(tmp_path, some, deviceProperties=A100)


def test_a_convolution_that_chose_an_sgemm(tmp_path: Path) -> None:
    some = operators([("aten::cudnn_convolution", "ampere_scudnn_128x64_relu_sgemm")] * 3)
    assert RULE not in findings(tmp_path, some, deviceProperties=A100)
