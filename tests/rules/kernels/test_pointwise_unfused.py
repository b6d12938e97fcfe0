"""`pointwise-unfused`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from rules.eager import ADD, findings, operators, row
from shared_traces import shared_trace

from tb_hookview.loading import analyze

RULE = "pointwise-unfused"
CHAIN = [("aten::mul", ADD), ("aten::add", ADD), ("aten::gelu", ADD)]
ROCM = "void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::gpu_kernel_impl>"
CALL = row("user_annotation", "[pl][module]Model: model", 990, 5000)
GEMM = [("aten::mm", "gemm")]


def model(*operators_: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These operators as the forward of a module."""
    return [*(each for some in operators_ for each in some), CALL]


@pytest.mark.parametrize("chain", [CHAIN, [(name, ROCM) for name, _ in CHAIN]], ids=["cuda", "hip"])
def test_a_chain(tmp_path: Path, chain: list[tuple[str, str]]) -> None:
    (finding,) = findings(tmp_path, model(operators((chain + GEMM) * 4)))[RULE]
    assert finding.cost_us_per_step == pytest.approx(4 * (12 - 4))
    assert finding.gain_bound_us_per_step == pytest.approx(0.7 * 32)
    assert finding.confidence == "medium"


def test_launches_of_fused_kernels_go_with_them(tmp_path: Path) -> None:
    """The host decides: of each chain two operators of 19 us go, as in `kernel_sequences`."""
    path = grid.write(tmp_path / "t.json", model(operators((CHAIN + GEMM) * 4)))
    report = analyze(path)
    (finding,) = (each for each in report.data.findings if each.rule == RULE)
    assert finding.gain_us_per_step == pytest.approx(0.7 * 8 * 19)
    assert finding.saves_after is None
    gains = report.table("kernel_sequences").to_columns()["gain_us_per_step"]
    assert finding.gain_us_per_step == pytest.approx(0.7 * max(gains))


def test_a_forward_that_nothing_marks(tmp_path: Path) -> None:
    """Inference without modules or sequence numbers: its phase is unknown."""
    (finding,) = findings(tmp_path, operators((CHAIN + GEMM) * 4))[RULE]
    assert finding.cost_us_per_step == pytest.approx(4 * (12 - 4))


@pytest.mark.parametrize(
    ("norm", "folded"),
    [
        ("void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>", True),
        ("MIOpenBatchNormFwdInferSpatialEst", True),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>", False),
    ],
)
def test_a_batch_norm_of_inference_is_elementwise(tmp_path: Path, norm: str, folded: bool) -> None:
    block = [*GEMM, ("aten::cudnn_batch_norm", norm), *CHAIN[:2]]
    found = findings(tmp_path, operators(block * 4))
    assert (RULE in found) == folded
    for finding in found[RULE] if folded else ():
        assert finding.cost_us_per_step == pytest.approx(4 * (12 - 4))
        assert "fuse_conv_bn_eval" in finding.fix


def test_work_outside_of_a_forward_that_is_known(tmp_path: Path) -> None:
    after = operators(CHAIN * 4, start=7000)
    assert RULE not in findings(tmp_path, model(operators(GEMM)), after)


def test_two_in_a_row(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, model(operators((CHAIN[:2] + GEMM) * 4)))


def test_a_small_part_of_the_time(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, model(operators(CHAIN + GEMM * 12)))


def test_collectives_are_not_in_what_it_is_a_part_of(tmp_path: Path) -> None:
    reduces = operators([("c10d::allreduce_", "ncclDevKernel_AllReduce")], start=2500, kernel=900)
    assert RULE in findings(tmp_path, model(operators((CHAIN + GEMM) * 4), reduces))


@pytest.mark.parametrize("name", ["Torch-Compiled Region: 0/0", "CompiledFunctionBackward"])
def test_what_compiled_code_leaves_to_operators(tmp_path: Path, name: str) -> None:
    region = row("cpu_op", name, 995, 2000)
    fused = operators([("aten::mul", "triton_poi_fused_mul_0")], start=2500)
    assert RULE not in findings(tmp_path, model(operators((CHAIN + GEMM) * 4), fused), [region])


def test_a_model_of_which_a_part_is_compiled(tmp_path: Path) -> None:
    """Only the chains outside of the region count."""
    region = row("cpu_op", "Torch-Compiled Region: 0/0", 3990, 900)
    compiled = operators([("aten::mul", "triton_poi_fused_mul_0"), *CHAIN], start=4000)
    some = model(operators((CHAIN + GEMM) * 4), compiled)
    (finding,) = findings(tmp_path, some, [region])[RULE]
    assert finding.cost_us_per_step == pytest.approx(4 * (12 - 4))
    assert finding.evidence.startswith("4 chains of 3 or more")


@pytest.mark.parametrize(("longest", "fires"), [(4, True), (60, False)])
def test_it_counts_by_what_it_saves(tmp_path: Path, longest: int, fires: bool) -> None:
    """One kernel that takes most of its chain is as long when it does the others' work too."""
    chains = [
        each
        for n in range(4)
        for some, kernel in ((CHAIN[:1], longest), (CHAIN[1:] + GEMM, 4))
        for each in operators(some, start=1000 + 200 * n + 70 * (kernel == 4), kernel=kernel)
    ]
    assert (RULE in findings(tmp_path, model(chains))) == fires


def test_kernels_on_streams_of_their_own(tmp_path: Path) -> None:
    some = [
        each
        for i in range(6)
        for each in operators(CHAIN[:1], start=1000 + 20 * i, stream=7 + i % 3)
    ]
    assert RULE not in findings(tmp_path, model(some))


def test_an_optimizer(tmp_path: Path) -> None:
    step = row("user_annotation", "Optimizer.step#Mine.step", 990, 900)
    assert RULE not in findings(tmp_path, operators(CHAIN * 4), [step])


def test_what_was_launched_before_the_trace_makes_no_share_smaller(tmp_path: Path) -> None:
    """Its phase is unknown: the share is of what is known."""
    before = [each for each in operators(GEMM * 6, start=4000, stream=9) if each["cat"] == "kernel"]
    assert RULE in findings(tmp_path, model(operators((CHAIN + GEMM) * 4), before))


@pytest.mark.parametrize("name", ["tracelens_mi300_qwen", "tracelens_h100_qwen"])
def test_one_program_on_two_devices(name: str) -> None:
    """97 chains on both, counted by a plain loop over kernels by stream and start."""
    found = analyze(shared_trace(name)).data.findings
    (finding,) = (each for each in found if each.rule == RULE)
    assert finding.evidence.startswith("97 chains of 3 or more")
