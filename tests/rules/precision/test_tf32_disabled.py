"""`tf32-disabled`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import A100, H200, V100, findings, operators, row
from shared_traces import shared_trace

from tb_hookview.loading import analyze

RULE = "tf32-disabled"
SINGLE = ("aten::addmm", "ampere_sgemm_128x64_nn")


def test_products_in_float32(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators([SINGLE] * 3), deviceProperties=A100)[RULE]
    assert finding.cost_us_per_step == pytest.approx(12)
    assert finding.gain_bound_us_per_step == pytest.approx(8)


def test_products_that_take_what_a_launch_takes(tmp_path: Path) -> None:
    some = operators([("aten::mm", SINGLE[1])] * 3)
    for each in some[::3]:
        each["args"] |= {"Input Dims": [[100, 10], [10, 10]], "Input type": ["float", "float"]}
    assert RULE not in findings(tmp_path, some, deviceProperties=A100)


XMMA = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_ffma_execute_kernel__5x_cublas"


def test_products_in_float32_on_hopper(tmp_path: Path) -> None:
    """Next to one in bfloat16, whose kernel has the shape of TF32's in its name."""
    half = ("aten::mm", "ampere_bf16_s1688gemm_bf16_128x128_ldg8_f2f_stages_32x1_tn")
    some = operators([("aten::addmm", XMMA)] * 3 + [half])
    (finding,) = findings(tmp_path, some, deviceProperties=H200)[RULE]
    assert finding.cost_us_per_step == pytest.approx(12)
    assert "in float32 kernels without tensor cores, and no matrix" in finding.evidence


@pytest.mark.parametrize(
    "kernel",
    ["sm80_xmma_gemm_f16f16_f32f32_f32_tn_n_ffma", "ampere_fp16_sgemm_fp16_128x64_tn"],
)
def test_products_of_half_precision(tmp_path: Path, kernel: str) -> None:
    """Without tensor cores either, but TF32 is nothing for them."""
    some = operators([("aten::mm", kernel)] * 3)
    assert RULE not in findings(tmp_path, some, deviceProperties=H200)


@pytest.mark.parametrize(
    "kernel",
    [
        "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x128x32",
        "nvjet_sm100_sss_128x64_64x6_2x1_v_bz_NNT",
    ],
)
def test_other_products_use_it_on_hopper(tmp_path: Path, kernel: str) -> None:
    some = operators([("aten::mm", XMMA), ("aten::mm", kernel)])
    assert RULE not in findings(tmp_path, some, deviceProperties=H200)


def test_a_device_without_it(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators([SINGLE] * 3), deviceProperties=V100)


def test_other_products_use_it(tmp_path: Path) -> None:
    """Then it is enabled, and the library has chosen not to use it for these."""
    some = operators([SINGLE, ("aten::mm", "cutlass_80_tensorop_s1688gemm_128x64_nn_align4")])
    assert RULE not in findings(tmp_path, some, deviceProperties=A100)


def test_products_of_a_graph(tmp_path: Path) -> None:
    """The trace has no operators for these: the kernels' names say what they are."""
    replayed = [row("cuda_runtime", "cudaGraphLaunch", 2000, 3, correlation=1)]
    for name, start in ((SINGLE[1], 2010), ("ampere_scudnn_128x64_relu_sgemm", 2020)):
        args = {"correlation": 1, "device": 0, "stream": 7}
        replayed.append(row("kernel", name, start, 4, 7, **args))
    some = operators([SINGLE] * 3)
    (finding,) = findings(tmp_path, some, replayed, deviceProperties=A100)[RULE]
    assert finding.cost_us_per_step == pytest.approx(16)
    assert "4.00 us of it is in CUDA graphs" in finding.evidence


def test_a_trace_without_operators(tmp_path: Path) -> None:
    kept = [each for each in operators([SINGLE] * 3) if each["cat"] != "cpu_op"]
    (finding,) = findings(tmp_path, kept, deviceProperties=A100)[RULE]
    assert finding.cost_us_per_step == pytest.approx(12)
    assert "12.0 us of it was launched outside of operators" in finding.evidence


def test_a_convolution_that_chose_an_sgemm(tmp_path: Path) -> None:
    some = operators([("aten::cudnn_convolution", "ampere_scudnn_128x64_relu_sgemm")] * 3)
    assert RULE not in findings(tmp_path, some, deviceProperties=A100)


@pytest.mark.parametrize(
    ("device", "gain"),
    [("NVIDIA A40", 6), ("NVIDIA A100-SXM4-80GB", 8), ("NVIDIA something RTX 4060", 8)],
    ids=["twice the peak", "eight times the peak", "peaks unknown"],
)
def test_no_more_is_gained_than_peaks_allow(tmp_path: Path, device: str, gain: float) -> None:
    properties = [{"id": 0, "name": device, "computeMajor": 8, "computeMinor": 6}]
    (finding,) = findings(tmp_path, operators([SINGLE] * 3), deviceProperties=properties)[RULE]
    assert finding.gain_bound_us_per_step == pytest.approx(gain)
    assert f"become {12 / (12 - gain):.1f} times as fast" in finding.caveats[0]


@pytest.mark.parametrize("device", ["NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3060"])
def test_a_device_of_the_same_peak_in_both(tmp_path: Path, device: str) -> None:
    """Of the second no peak is listed."""
    properties = [{"id": 0, "name": device, "computeMajor": 8}]
    assert RULE not in findings(tmp_path, operators([SINGLE] * 3), deviceProperties=properties)


def test_a_real_trace_of_such_a_device() -> None:
    found = analyze(shared_trace("llama_4layers_4090")).data.findings
    assert RULE not in {finding.rule for finding in found}


def test_a_share_is_none_of_the_time_that_collectives_wait(tmp_path: Path) -> None:
    """Two ranks of a program have the same findings, whichever of them waits for the other."""
    waits = operators([("c10d::allreduce_", "ncclDevKernel_AllReduce")], start=1100, kernel=9000)
    (finding,) = findings(tmp_path, operators([SINGLE] * 3), waits, deviceProperties=A100)[RULE]
    assert "12.0 us (100% of device work)" in finding.evidence
