"""`device-layout-copies`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules import eager
from rules.drawn import findings

NAMES = {
    "copying": "void at::native::elementwise_kernel<at::native::direct_copy_kernel_cuda>",
    "gemm": "sgemm",
    "layout": "void cudnn::ops::nchwToNhwcKernel<float>",
}
STEP = """
    main notes [ProfilerStep#1                                                          ]
    main ops    [aten::mm       ] [{operator}       ]
    main calls   [launch corr=6]   [launch corr=7]
    gpu  kernel     [gemm corr=6                  ] [{kernel} corr=7{length}]
    """


def step(kernel: str = "copying", length: int = 3, operator: str = "aten::contiguous") -> str:
    """A product, then what the operator launches."""
    return STEP.format(kernel=kernel, length=" " * length, operator=operator)


def test_a_tensor_made_contiguous(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, step(), NAMES)["device-layout-copies"]
    assert finding.where == "not in a module, aten::contiguous"
    assert finding.cost_us_per_step is not None
    assert finding.gain_bound_us_per_step == finding.cost_us_per_step / 2


def test_a_convolution_has_a_rule_of_its_own(tmp_path: Path) -> None:
    found = findings(tmp_path, step("layout", operator="aten::conv2d"), NAMES)
    assert "device-layout-copies" not in found


def test_what_convolutions_convert_without_operators(tmp_path: Path) -> None:
    """Neither the layout nor the number format is a copy of the user's."""
    picture = """
    main calls [launch corr=6] [launch corr=7]
    gpu  kernel     [gemm corr=6              ] [{} corr=7   ]
    """
    others = {
        "folded": "void foldedNhwcToNhwcKernel<float, float, float, true>",
        "convert": "void cudnn::ops::convertTensor_kernel<float, float, float>",
    }
    for kernel in others:
        found = findings(tmp_path, picture.format(kernel), {**NAMES, **others})
        assert "device-layout-copies" not in found
    assert "device-layout-copies" in findings(tmp_path, picture.format("copying"), NAMES)


def test_what_fsdp_copies_for_its_collectives_is_not_to_be_avoided(tmp_path: Path) -> None:
    found = findings(tmp_path, step(operator="fsdp::chunk_cat"), NAMES)
    assert "device-layout-copies" not in found


def test_what_is_copied_as_code_is_compiled_is_in_no_later_step(tmp_path: Path) -> None:
    picture = step() + "main notes" + " " * 20 + "[compile               ]"
    names = {**NAMES, "compile": "create_aot_dispatcher_function (dynamo_timed)"}
    assert "device-layout-copies" not in findings(tmp_path, picture, names)
    names["compile"] = "range"
    assert "device-layout-copies" in findings(tmp_path, picture, names)


@pytest.mark.parametrize(("operator", "fires"), [("aten::addmm", False), ("aten::copy_", True)])
def test_a_bias_that_a_product_copies_into_its_result(
    tmp_path: Path, operator: str, fires: bool
) -> None:
    """`aten::addmm` does so by itself; what it makes contiguous is in an operator of its own."""
    rows = eager.operators([("aten::mm", "sgemm"), (operator, NAMES["copying"])])
    around = eager.row("cpu_op", "aten::addmm", 1019, 40)
    assert ("device-layout-copies" in eager.findings(tmp_path, rows, [around])) == fires


def test_a_small_share(tmp_path: Path) -> None:
    wide = " " * 300
    picture = (
        step()
        .replace("[copying corr=7   ]", "[c corr=7]")
        .replace("[gemm corr=6", f"[gemm corr=6{wide}")
        .replace("[ProfilerStep#1", f"[ProfilerStep#1{wide}")
    )
    found = findings(tmp_path, picture, {**NAMES, "c": NAMES["copying"]})
    assert "device-layout-copies" not in found


def test_other_kernels(tmp_path: Path) -> None:
    assert "device-layout-copies" not in findings(tmp_path, step("gemm"), NAMES)


@pytest.mark.parametrize(
    ("operator", "remedy"),
    [
        ("torch::autograd::AccumulateGrad", "gradient_as_bucket_view"),
        ("CompiledFunction", "inputs and outputs of compiled graphs"),
        ("aten::contiguous", "made contiguous again"),
        ("aten::cat", "into one tensor"),
        ("aten::to", "Cast what does not change once"),
        ("aten::sum", "dtype=torch.int32"),
    ],
)
def test_the_remedy_is_that_of_the_place(tmp_path: Path, operator: str, remedy: str) -> None:
    (finding,) = findings(tmp_path, step(operator="what"), {**NAMES, "what": operator})[
        "device-layout-copies"
    ]
    assert remedy in finding.fix


def test_shares_on_several_streams_are_of_summed_durations(tmp_path: Path) -> None:
    copies = ("aten::contiguous", NAMES["copying"])
    rows = [each for n in range(8) for each in eager.operators([copies], start=1000 + n, stream=n)]
    product = eager.operators([("aten::mm", "sgemm")], start=1030, kernel=9)
    (finding,) = eager.findings(tmp_path, rows, product)["device-layout-copies"]
    assert finding.cost_us_per_step == 8 * 4
    assert "32.0 us, 78.0% of device work; all such copies take 78%" in finding.evidence


@pytest.mark.parametrize(
    ("node", "operator", "remedy"),
    [
        ("SumBackward0", "aten::mm", "The gradient of sum() is one number"),
        ("MulBackward0", "aten::mm", "Remove transposes"),
        ("SumBackward0", "aten::contiguous", "Remove transposes"),
    ],
)
def test_the_gradient_of_a_sum_is_written_out(
    tmp_path: Path, node: str, operator: str, remedy: str
) -> None:
    picture = """
    main notes [ProfilerStep#1                                               ]
    main ops    [sum     ][mm                                               ]
    main ops     [expand]  [{op}                                          ]
    main ops                [aten::clone   ]
    main calls               [launch corr=7]               [launch corr=6]
    gpu  kernel                [copying corr=7 ]             [gemm corr=6 ]
    """
    evaluate = "autograd::engine::evaluate_function: "
    names = {"sum": evaluate + node, "mm": evaluate + "MmBackward0", "expand": "aten::expand"}
    (finding,) = findings(
        tmp_path, picture.replace("{op}", "o___"), {**NAMES, **names, "o___": operator}
    )["device-layout-copies"]
    assert finding.fix.startswith(remedy)
