"""`matmul-misaligned`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import A100, findings, operators

RULE = "matmul-misaligned"
UNKNOWN = [{"id": 0, "name": "a device of the future"}]


@pytest.mark.parametrize(
    "kernel",
    [
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1>",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>",
        "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_64x64_32x6_tn_align4>",
    ],
)
def test_a_kernel_that_loads_little(tmp_path: Path, kernel: str) -> None:
    (finding,) = findings(tmp_path, operators([("aten::mm", kernel)]))[RULE]
    assert finding.cost_us_per_step == pytest.approx(4)
    assert finding.gain_us_per_step is None


@pytest.mark.parametrize(
    "kernel",
    [
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align4>",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align8>",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>",
        "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_128x64_tn_align16>",
    ],
)
def test_a_kernel_that_loads_16_bytes_or_runs_without_tensor_cores(
    tmp_path: Path, kernel: str
) -> None:
    assert RULE not in findings(tmp_path, operators([("aten::mm", kernel)]))


@pytest.mark.parametrize(
    ("width", "kind", "devices", "fires"),
    [
        pytest.param(1001, "c10::BFloat16", A100, True, id="an odd vocabulary"),
        pytest.param(1000, "c10::BFloat16", A100, False, id="a multiple of 8"),
        pytest.param(1001, "float", A100, False, id="float32"),
        pytest.param(1, "c10::Half", A100, False, id="a product with a vector"),
        pytest.param(1001, "c10::Half", UNKNOWN, False, id="an unknown device"),
    ],
)
def test_the_shape_of_a_product(
    tmp_path: Path, width: int, kind: str, devices: list[Any], fires: bool
) -> None:
    some = operators([("aten::addmm", "nvjet_tst_192x192_64x4_gemm")])
    shapes = [[width], [64, 512], [512, width], [], []]
    some[0]["args"] |= {"Input Dims": shapes, "Input type": [kind] * 3 + ["Scalar"] * 2}
    found = findings(tmp_path, some, deviceProperties=devices)
    assert (RULE in found) == fires
    assert not fires or "1 by the shape" in found[RULE][0].evidence


@pytest.mark.parametrize(
    ("operator", "layout", "shapes", "said"),
    [
        pytest.param(
            "aten::mm", "nn", [[64, 647], [647, 32]], "(inner size 647)", id="a hidden size"
        ),
        pytest.param(
            "aten::bmm", "nn", [[4, 33, 64], [4, 64, 33]], "(columns 33)", id="a number of tokens"
        ),
        pytest.param(
            "aten::mm", "nt", [[10, 647], [647, 32]], "(rows 10)", id="the transposed left matrix"
        ),
        pytest.param("aten::mm", "nn", [[64, 32], [32, 64]], "(no size odd", id="an address"),
    ],
)
def test_which_size_is_odd(
    tmp_path: Path, operator: str, layout: str, shapes: list[list[int]], said: str
) -> None:
    kernel = f"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_{layout}_align1>"
    some = operators([(operator, kernel)])
    some[0]["args"] |= {"Input Dims": shapes, "Input type": ["float", "float"]}
    assert said in findings(tmp_path, some)[RULE][0].evidence


def test_shapes_that_were_not_recorded(tmp_path: Path) -> None:
    kernel = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align1>"
    (finding,) = findings(tmp_path, operators([("aten::mm", kernel)]))[RULE]
    assert "the trace has no shapes for 4.00 us of it" in finding.evidence


def test_shapes_of_another_operator_are_in_the_trace(tmp_path: Path) -> None:
    kernel = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align1>"
    some = operators([("aten::linear", kernel)])
    some[0]["args"] |= {"Input Dims": [[64, 647], [32, 647]], "Input type": ["float", "float"]}
    (finding,) = findings(tmp_path, some)[RULE]
    assert "no shapes" not in finding.evidence


@pytest.mark.parametrize("operator", ["aten::cudnn_convolution", "aten::convolution_backward"])
def test_a_convolution_of_1_by_1_has_no_size_to_pad(tmp_path: Path, operator: str) -> None:
    kernel = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align1>"
    assert RULE not in findings(tmp_path, operators([(operator, kernel)]))


PADDED = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align1>"
TRANSPOSE = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>"


def test_without_operators_they_may_be_convolutions(tmp_path: Path) -> None:
    """Where the trace has other kernels of these."""
    some = [each for each in operators([("", PADDED)] * 2) if each["cat"] != "cpu_op"]
    more = operators([("", PADDED)] * 2 + [("", TRANSPOSE)])
    (alone,) = findings(tmp_path, some)[RULE]
    (other,) = findings(tmp_path, [row for row in more if row["cat"] != "cpu_op"])[RULE]
    assert (alone.confidence, other.confidence) == ("high", "low")
    said = "The trace lacks the operators of 8.00 us of it: these may be convolutions"
    assert [any(one.startswith(said) for one in each.caveats) for each in (alone, other)] == [
        *(False, True)
    ]


@pytest.mark.parametrize(("operator", "fires"), [("aten::conv2d", False), ("aten::mm", True)])
def test_without_operators_they_are_what_others_of_their_name_are(
    tmp_path: Path, operator: str, fires: bool
) -> None:
    some = operators([("range", PADDED), (operator, PADDED)])
    assert (RULE in findings(tmp_path, [row for row in some if row["name"] != "range"])) == fires
