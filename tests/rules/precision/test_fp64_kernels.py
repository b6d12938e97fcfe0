"""`fp64-kernels`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.cpu import findings as on_cpu
from rules.cpu import node, operator, step
from rules.diagnosed import Diagnosed
from rules.eager import A100, ADD, findings, operators
from support.loaded import loaded

from tb_hookview.rules.evidence.devices import names_float64

RULE = "fp64-kernels"
COPIES = "void at::native::direct_copy_kernel_cuda"
DOUBLE = ADD.replace("float", "double")
D884 = "void cutlass::Kernel<cutlass_80_tensorop_d884gemm_32x32_16x5_tn_align1>"


@pytest.mark.parametrize("kernel", [DOUBLE, "void gemm::volta_dgemm_64x64_nn", "ampere_dgemm_64"])
def test_a_kernel_in_double(tmp_path: Path, kernel: str) -> None:
    (finding,) = findings(tmp_path, operators([("aten::add", kernel)]))[RULE]
    assert "aten::add" in finding.evidence
    assert finding.gain_bound_us_per_step == pytest.approx((finding.cost_us_per_step or 0) / 2)


@pytest.mark.parametrize("kernel", [DOUBLE, D884])
def test_a_trace_without_host_rows(tmp_path: Path, kernel: str) -> None:
    rows = [row for row in operators([("", kernel)] * 3) if row["cat"] == "kernel"]
    found = findings(tmp_path, rows, deviceProperties=A100)
    (finding,) = found[RULE]
    assert finding.evidence == "12.0 us (100.0% of device work) in no operator"
    assert "matmul-misaligned" not in found


@pytest.mark.parametrize(
    "kernel",
    [ADD, "reduce_kernel<512, 1, ReduceOp<float, MeanOps<float, double> > >", "nhwc_sgemm"],
)
def test_a_kernel_that_only_sums_in_double_or_in_none(tmp_path: Path, kernel: str) -> None:
    assert RULE not in findings(tmp_path, operators([("aten::add", kernel)]))


NAN_TO_NUM = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::nan_to_num_kernel_cuda("
    "at::TensorIteratorBase&, c10::optional<double>, c10::optional<double>)::{lambda()#1}::"
    "operator()() const::{lambda(TYPE)#1}, at::detail::Array<char*, 2> >(int, at::native::"
    "nan_to_num_kernel_cuda(at::TensorIteratorBase&, c10::optional<double>)::{lambda(TYPE)#1})"
)
NORMAL = (
    "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<TYPE, 4, "
    "normal_kernel<at::CUDAGeneratorImpl*>(at::TensorBase const&, std::vector<double>, double)>"
)
SPARSE = (
    "void cusparse::csrmv_v3_kernel<false, int, int, TYPE, TYPE, TYPE, TYPE, void>"
    "(cusparse::KernelCoeffs<TYPE>, int const*, TYPE const*, double*)"
)
CUT = (
    "void vectorized_elementwise_kernel<4, nan_to_num_kernel_cuda(c10::optional<double>, c10::opti"
)


@pytest.mark.parametrize(
    ("name", "double"),
    [
        pytest.param(NAN_TO_NUM.replace("TYPE", "float"), False, id="parameters of the host"),
        pytest.param(NAN_TO_NUM.replace("TYPE", "double"), True, id="the function's type"),
        pytest.param(NORMAL.replace("TYPE", "float"), False, id="a list of numbers"),
        pytest.param(NORMAL.replace("TYPE", "double"), True, id="the template's type"),
        pytest.param(CUT, False, id="a name that is cut off"),
        pytest.param(
            "void f<at::native::Op<std::optional<double>>, float>()", False, id="optional"
        ),
        pytest.param("void f<c10::complex<double> >(int)", True, id="complex numbers"),
        pytest.param("void f<4, {lambda(float, double)#1}>", False, id="a second argument"),
        pytest.param("log2-dtype_Double", True, id="another vendor's"),
        pytest.param(SPARSE.replace("TYPE", "double"), True, id="any argument of cuSPARSE"),
        pytest.param(SPARSE.replace("TYPE", "float"), False, id="cuSPARSE, by its arguments"),
        pytest.param("reduce_kernel<512, 1, ReduceOp<float, MeanOps<float, double> > >", False),
    ],
)
def test_shapes_of_names(name: str, double: bool) -> None:
    assert names_float64(name) == double


def test_a_copy_to_double_computes_nothing(tmp_path: Path) -> None:
    copies = COPIES + "(at::TensorIteratorBase&)::{lambda(double)#1}"
    assert RULE not in findings(tmp_path, operators([("aten::copy_", copies)]))


@pytest.mark.parametrize(
    ("trace", "fires"),
    [("hta_a100_dlrm_trace_diff_control", False), ("hta_a100_cuda_graphs_rank0", True)],
)
def test_metrics_of_real_trainings(trace: str, fires: bool) -> None:
    assert (RULE in Diagnosed(loaded(trace))) == fires


def test_too_short_to_matter(tmp_path: Path) -> None:
    some = operators([("aten::add", ADD)] * 300 + [("aten::add", DOUBLE)])
    assert RULE not in findings(tmp_path, some)


@pytest.mark.parametrize(
    ("operator", "types", "shapes", "kernel", "fires"),
    [
        pytest.param("aten::exp", ["double"], [[8]], "exp_kernel", True, id="a tensor of doubles"),
        pytest.param(
            "aten::exp", ["c10::complex<double>"], [[8]], "exp_kernel", True, id="complex"
        ),
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


@pytest.mark.parametrize(("kind", "fires"), [("double", True), ("float", False)])
def test_operators_of_a_cpu(tmp_path: Path, kind: str, fires: bool) -> None:
    product = operator("aten::mm", 2000, 1000)
    product["args"] |= {"Input Dims": [[4, 4], [4, 4]], "Input type": [kind, kind]}
    found = on_cpu(tmp_path, [step(4000), product])[RULE]
    assert [(each.cost_us_per_step, each.gain_us_per_step) for each in found] == [
        (1000, 500)
    ] * fires


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("aten::mm", 0.5),
        ("aten::gelu", 0.75),
        ("aten::conv2d", 0.7),
        ("aten::log_softmax", 0.6),
        ("aten::native_layer_norm", 0.15),
    ],
)
def test_on_a_cpu_the_saving_is_that_of_the_operator(
    tmp_path: Path, name: str, saved: float
) -> None:
    (finding,) = on_cpu(tmp_path, [step(4000), in_double(name, 2000, 1000)])[RULE]
    assert finding.gain_us_per_step == pytest.approx(1000 * saved)


def test_on_a_cpu_the_node_around_an_operator_costs_and_the_operator_is_saved(
    tmp_path: Path,
) -> None:
    rows = [step(4000), *node("MmBackward0", 2000, 1001, 7), in_double("aten::mm", 2010, 800)]
    (finding,) = on_cpu(tmp_path, rows)[RULE]
    assert (finding.cost_us_per_step, finding.gain_us_per_step) == (1001, 400)


def in_double(name: str, start: float, length: float) -> dict[str, Any]:
    row = operator(name, start, length)
    row["args"] |= {"Input Dims": [[4, 4], [4, 4]], "Input type": ["double", "double"]}
    return row


@pytest.mark.parametrize(
    ("device", "kernel", "saved"),
    [
        ("Tesla V100-SXM2-16GB", "volta_dgemm_64x64_nn", 1 - 7.8 / 15.7),
        ("NVIDIA A100-SXM4-80GB", "ampere_dgemm_64x64_nn", 0.0),
        ("NVIDIA A100-SXM4-80GB", DOUBLE, 0.5),
        ("NVIDIA GeForce RTX 3090", "ampere_dgemm_64x64_nn", 0.5),
    ],
    ids=["by peaks", "tensor cores", "memory", "unknown"],
)
def test_products_of_a_device_gain_by_its_peaks(
    tmp_path: Path, device: str, kernel: str, saved: float
) -> None:
    properties = [{"id": 0, "name": device}]
    (finding,) = findings(tmp_path, operators([("aten::mm", kernel)]), deviceProperties=properties)[
        RULE
    ]
    assert finding.gain_bound_us_per_step == pytest.approx((finding.cost_us_per_step or 0) * saved)
