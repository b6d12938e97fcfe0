"""`conv-layout-transpose`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import findings, operators

RULE = "conv-layout-transpose"
CUDNN = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>"
CONVOLVE = ("aten::cudnn_convolution", "sm80_xmma_fprop_implicit_gemm_tf32f32")


@pytest.mark.parametrize("kernel", [CUDNN, "batched_transpose_32x32_half"])
def test_a_convolution_that_converts(tmp_path: Path, kernel: str) -> None:
    some = operators([("aten::cudnn_convolution", kernel), CONVOLVE])
    (finding,) = findings(tmp_path, some)[RULE]
    assert finding.cost_us_per_step == finding.gain_bound_us_per_step == pytest.approx(4)
    assert [advice.id for advice in finding.advice] == ["cudnn-autotune"]


def test_a_transpose_that_no_convolution_asked_for(tmp_path: Path) -> None:
    some = operators([("aten::copy_", "batched_transpose_32x32_half"), CONVOLVE])
    assert RULE not in findings(tmp_path, some)


@pytest.mark.parametrize("call", ["cudaLaunchKernel", "cudaGraphLaunch"])
def test_one_whose_operator_the_trace_lacks(tmp_path: Path, call: str) -> None:
    """As in a replayed graph, whatever the operator that replays it."""
    around = "aten::copy_" if call == "cudaGraphLaunch" else "range"
    some = operators([(around, CUDNN), CONVOLVE])
    some[1]["name"] = call
    (finding,) = findings(tmp_path, [row for row in some if row["name"] != "range"])[RULE]
    assert finding.cost_us_per_step == pytest.approx(4)


def test_a_small_part_of_the_time(tmp_path: Path) -> None:
    """Of 1% on, as of other work that a device need not do."""
    some = [("aten::cudnn_convolution", CUDNN)]
    assert RULE in findings(tmp_path, operators(some + [CONVOLVE] * 60))
    assert RULE not in findings(tmp_path, operators(some + [CONVOLVE] * 120))
