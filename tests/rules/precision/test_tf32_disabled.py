"""`tf32-disabled`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import A100, V100, findings, operators, row
from shared_traces import shared_trace

from tb_hookview.loading import analyze

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
