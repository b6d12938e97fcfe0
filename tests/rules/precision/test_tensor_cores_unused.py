"""`tensor-cores-unused`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import A100, V100, findings, operators
from rules.eager import row as host_row

RULE = "tensor-cores-unused"
SINGLE = ("aten::mm", "volta_sgemm_128x64_nn")
HALF = ("aten::mm", "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn")


def test_products_without_any(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators([SINGLE] * 3), deviceProperties=V100)[RULE]
    assert finding.cost_us_per_step == pytest.approx(12)
    assert finding.gain_bound_us_per_step == pytest.approx(6)


def test_one_product_on_them(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators([SINGLE, HALF]), deviceProperties=V100)


VECTOR = ("aten::addmv", "gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4>")


def test_products_with_a_vector_read_half_the_bytes(tmp_path: Path) -> None:
    device = [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8}]
    convolution = ("aten::cudnn_convolution", "_5x_cudnn_ampere_scudnn_128x32_relu_small_nn_v1")
    some = operators([VECTOR, VECTOR, convolution])
    (finding,) = findings(tmp_path, some, deviceProperties=device)[RULE]
    (other,) = findings(tmp_path, operators([convolution] * 3), deviceProperties=device)[RULE]
    assert finding.cost_us_per_step == other.cost_us_per_step == 12
    assert other.gain_bound_us_per_step is not None
    convolved = other.gain_bound_us_per_step / 3
    assert finding.gain_bound_us_per_step == pytest.approx(2 * 2 + convolved)
    assert "8.00 us of it is bound by memory" in finding.evidence
    (all_of_them,) = findings(tmp_path, operators([VECTOR] * 3), deviceProperties=device)[RULE]
    assert [each.caveats[0].split(" become ")[1] for each in (other, finding, all_of_them)] == [
        "3.0 times as fast.",
        "3.0 times as fast, those bound by memory 2.0 times.",
        "2.0 times as fast: they read that much less.",
    ]
    (older,) = findings(tmp_path, operators([VECTOR, SINGLE]), deviceProperties=V100)[RULE]
    assert older.caveats[0].endswith(" become 2.0 times as fast.")


def test_convolutions_in_parts_are_not_bound_by_memory(tmp_path: Path) -> None:
    kernel = "volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1"
    some = operators([("aten::cudnn_convolution", kernel)] * 3)
    (finding,) = findings(tmp_path, some, deviceProperties=V100)[RULE]
    assert "bound by memory" not in finding.evidence


def test_products_with_a_vector_in_half_precision(tmp_path: Path) -> None:
    half = (VECTOR[0], VECTOR[1].replace("float", "__half"))
    assert RULE not in findings(tmp_path, operators([half] * 3), deviceProperties=V100)


UNKNOWN = ("aten::mm", "my_gemm_kernel")


def test_products_of_unknown_use_by_their_names(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators([SINGLE, UNKNOWN]), deviceProperties=V100)


def test_one_unknown_name_among_many_does_not_silence_it(tmp_path: Path) -> None:
    some = operators([*[SINGLE] * 9, UNKNOWN])
    (finding,) = findings(tmp_path, some, deviceProperties=V100)[RULE]
    assert finding.cost_us_per_step == pytest.approx(36)
    assert "the names of others, 4.00 us, leave their use open" in finding.evidence


@pytest.mark.parametrize(("kernel", "fires"), [("volta_sgemm_64", True), ("sgemm_64", False)])
def test_a_device_without_a_name_is_known_by_its_kernels(
    tmp_path: Path, kernel: str, fires: bool
) -> None:
    found = findings(tmp_path, operators([("aten::addmm", kernel)] * 3))
    assert (RULE in found) == fires


@pytest.mark.parametrize("name", ["Tesla P100-PCIE-16GB", "AMD Instinct MI300X"])
def test_a_device_not_known_to_have_them(tmp_path: Path, name: str) -> None:
    device = [{"id": 0, "name": name}]
    assert RULE not in findings(tmp_path, operators([SINGLE] * 3), deviceProperties=device)


def test_attention_in_float32_is_no_mixed_precision(tmp_path: Path) -> None:
    """On a device for which TF32 is no quicker, so that no other rule reports the product."""
    attention = ("aten::_efficient_attention_forward", "fmha_cutlassF_f32_aligned_64x64_rf_sm80")
    device = [{"id": 0, "name": "NVIDIA GeForce RTX 3060", "computeMajor": 8}]
    product = ("aten::mm", "ampere_sgemm_128x64_nn")
    found = findings(tmp_path, operators([product, attention]), deviceProperties=device)
    (finding,) = found[RULE]
    assert finding.cost_us_per_step == pytest.approx(4)


FULL = ("aten::cudnn_convolution", "_5x_cudnn_ampere_scudnn_128x32_relu_small_nn_v1")
TF32 = ("aten::cudnn_convolution", "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc")


def test_tf32_in_some_convolutions_is_no_mixed_precision(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators([FULL, FULL, TF32]), deviceProperties=A100)[RULE]
    assert finding.cost_us_per_step == pytest.approx(8)
    assert finding.gain_bound_us_per_step == pytest.approx(4)
    assert finding.title == "Tensor cores are used by some products only"
    assert "others, 4.00 us, compute in TF32" in finding.evidence
    assert "allow_tf32" not in finding.fix, "it is on"


def test_tf32_in_most_convolutions(tmp_path: Path) -> None:
    some = operators([FULL, TF32, TF32])
    assert RULE not in findings(tmp_path, some, deviceProperties=A100)


def test_no_products(tmp_path: Path) -> None:
    some = operators([("aten::add", "at::native::elementwise_kernel<add>")] * 3)
    assert RULE not in findings(tmp_path, some, deviceProperties=V100)


def test_what_tf32_disabled_reports_is_not_reported_twice(tmp_path: Path) -> None:
    some = operators([("aten::mm", "ampere_sgemm_128x64_nn")] * 3)
    found = findings(tmp_path, some, deviceProperties=A100)
    assert "tf32-disabled" in found
    assert RULE not in found


@pytest.mark.parametrize(
    ("device", "fires"),
    [
        pytest.param({"name": "", "computeMajor": 7, "computeMinor": 0}, True, id="capable"),
        pytest.param(
            {"name": "NVIDIA A100", "computeMajor": 6, "computeMinor": 1}, False, id="not"
        ),
        pytest.param({"name": "NVIDIA GeForce GTX 1650", "computeMajor": 7}, False, id="without"),
    ],
)
def test_the_capability_goes_before_the_name(
    tmp_path: Path, device: dict[str, Any], fires: bool
) -> None:
    some = operators([("aten::cudnn_convolution", "volta_scudnn_128x64_relu")] * 3)
    found = findings(tmp_path, some, deviceProperties=[{"id": 0, **device}])
    assert (RULE in found) == fires


def test_the_capability_of_another_vendor_means_something_else(tmp_path: Path) -> None:
    device = [{"id": 0, "name": "", "computeMajor": 9, "computeMinor": 4}]
    found = findings(
        tmp_path, operators([SINGLE] * 3), deviceProperties=device, hip_runtime_version=1
    )
    assert RULE not in found


def test_a_convolution_by_a_product_in_float32(tmp_path: Path) -> None:
    """TF32 for products does not change it."""
    some = operators([("aten::cudnn_convolution", "ampere_sgemm_128x64_nn")] * 3)
    found = findings(tmp_path, some, deviceProperties=A100)
    assert "tf32-disabled" not in found
    (finding,) = found[RULE]
    assert finding.cost_us_per_step == pytest.approx(12)


def test_products_in_tf32_are_no_mixed_precision(tmp_path: Path) -> None:
    product = ("aten::mm", "cutlass_80_tensorop_s1688gemm_128x64_nn_align4")
    (finding,) = findings(tmp_path, operators([FULL, FULL, product]), deviceProperties=A100)[RULE]
    assert finding.cost_us_per_step == pytest.approx(8)
    assert "others, 4.00 us, compute in TF32" in finding.evidence


def test_convolutions_without_tf32_on_a_device_that_has_it(tmp_path: Path) -> None:
    """By FFT: its products of complex numbers are of the convolution as well."""
    some = operators(
        [
            ("aten::cudnn_convolution", "void fft2d_r2c_32x32<float, false, 0u, false>"),
            ("aten::cudnn_convolution", "void pointwise_mult_and_sum_complex<float2, 8, 4>"),
            ("aten::cudnn_convolution", "sm80_xmma_gemm_cf32cf32_f32f32_cf32_nt_ffma_kernel"),
        ]
    )
    (finding,) = findings(tmp_path, some, deviceProperties=A100)[RULE]
    assert finding.cost_us_per_step == pytest.approx(12)
    assert finding.gain_bound_us_per_step == pytest.approx(12 * 2 / 3)
    assert "torch.backends.cudnn.allow_tf32" in finding.fix


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "fires"),
    [
        pytest.param(100, 10, 10, False, id="20,000 FLOPs, 0.11 us of one multiprocessor"),
        pytest.param(100, 10, 100, True, id="200,000 FLOPs, 1.1 us of one"),
        pytest.param(1 << 15, 1, 1, True, id="65,536 FLOPs that read and write 262 kB"),
    ],
)
def test_products_that_take_what_a_launch_takes(
    tmp_path: Path, rows: int, inner: int, columns: int, fires: bool
) -> None:
    some = operators([SINGLE] * 3)
    shapes = [[rows, inner], [inner, columns]]
    for row in some[::3]:
        row["args"] |= {"Input Dims": shapes, "Input type": ["float", "float"]}
    assert (RULE in findings(tmp_path, some, deviceProperties=V100)) == fires


@pytest.mark.parametrize(
    ("device", "inference", "training"),
    [
        (V100, "Convert model and inputs to float16 (", "with float16 and a GradScaler"),
        (A100, "Convert model and inputs to bfloat16:", "with bfloat16."),
    ],
)
def test_the_remedy_is_one_for_the_device_and_the_program(
    tmp_path: Path, device: list[dict[str, Any]], inference: str, training: str
) -> None:
    kernel = "volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1"
    some = operators([("aten::cudnn_convolution", kernel)] * 3)
    (finding,) = findings(tmp_path, some, deviceProperties=device)[RULE]
    assert inference in finding.fix
    assert "GradScaler" not in finding.fix
    updates = [host_row("user_annotation", "Optimizer.step#SGD.step", 2000, 20)]
    (finding,) = findings(tmp_path, some, updates, deviceProperties=device)[RULE]
    assert training in finding.fix
    _, *of_graph = operators([("aten::convolution_backward", "wgrad_alg0_engine")])
    (finding,) = findings(tmp_path, some, of_graph, deviceProperties=device)[RULE]
    assert training in finding.fix, "a replayed graph has no more of a backward than its kernels"
