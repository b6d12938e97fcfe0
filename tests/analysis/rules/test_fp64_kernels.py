"""`fp64-kernels`."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.rules.eager import ADD, findings, operators

RULE = "fp64-kernels"
DOUBLE = ADD.replace("float", "double")


@pytest.mark.parametrize("kernel", [DOUBLE, "void gemm::volta_dgemm_64x64_nn", "ampere_dgemm_64"])
def test_a_kernel_in_double(tmp_path: Path, kernel: str) -> None:
    finding = findings(tmp_path, operators([("aten::add", kernel)]))[RULE]
    assert "aten::add" in finding.evidence
    assert finding.gain_us_per_step == pytest.approx((finding.cost_us_per_step or 0) / 2)


@pytest.mark.parametrize(
    "kernel",
    [ADD, "reduce_kernel<512, 1, ReduceOp<float, MeanOps<float, double> > >", "nhwc_sgemm"],
)
def test_a_kernel_that_only_sums_in_double_or_in_none(tmp_path: Path, kernel: str) -> None:
    assert RULE not in findings(tmp_path, operators([("aten::add", kernel)]))


def test_too_little_to_tell(tmp_path: Path) -> None:
    some = operators([("aten::add", ADD)] * 300 + [("aten::add", DOUBLE)])
    assert RULE not in findings(tmp_path, some)
