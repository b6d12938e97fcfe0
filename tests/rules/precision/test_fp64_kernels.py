"""`fp64-kernels`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import ADD, findings, operators

RULE = "fp64-kernels"
COPIES = "void at::native::direct_copy_kernel_cuda"
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


def test_too_short_to_matter(tmp_path: Path) -> None:
    some = operators([("aten::add", ADD)] * 300 + [("aten::add", DOUBLE)])
    assert RULE not in findings(tmp_path, some)


@pytest.mark.parametrize(
    ("operator", "types", "shapes", "kernel", "fires"),
    [
        pytest.param("aten::exp", ["double"], [[8]], "exp_kernel", True, id="a tensor of doubles"),
        pytest.param("aten::exp", ["float"], [[8]], "exp_kernel", False, id="floats"),
        pytest.param("aten::mul", ["float", "double"], [[8], []], "k", False, id="a number"),
        pytest.param("aten::copy_", ["float", "double"], [[8], [8]], COPIES, False, id="a cast"),
        pytest.param("aten::mul", ["double"], [[8]], ADD, False, id="a kernel of floats"),
        pytest.param("Function", ["float", "double"], [[8], [8]], "k", False, id="a function"),
    ],
)
def test_types_of_inputs(
    tmp_path: Path, operator: str, types: list[str], shapes: list[Any], kernel: str, fires: bool
) -> None:
    some = operators([(operator, kernel)])
    some[0]["args"] |= {"Input type": types, "Input Dims": shapes}
    assert (RULE in findings(tmp_path, some)) == fires
