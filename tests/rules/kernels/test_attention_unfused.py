"""`attention-unfused`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.cpu import findings as on_cpu
from rules.cpu import operator, step
from rules.eager import ADD, findings, operators, row

RULE = "attention-unfused"
BMM, SOFTMAX = ("aten::bmm", "gemm"), ("aten::softmax", "cunn_SoftMaxForward")
SCALE, DROPOUT = ("aten::div", ADD), ("aten::dropout", "fused_dropout_kernel")
VIEW = ("aten::transpose", "")
ALIGN1 = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>"


def test_attention_by_its_parts(tmp_path: Path) -> None:
    some = operators([VIEW, BMM, SCALE, SOFTMAX, DROPOUT, VIEW, BMM])
    (finding,) = findings(tmp_path, some)[RULE]
    assert finding.cost_us_per_step == pytest.approx(20), "products included: all is replaced"
    assert "20.0 us: 8.00 us in the products, 12.0 us in the softmax" in finding.evidence
    assert finding.count == 1


def test_one_whose_kernels_the_trace_lacks(tmp_path: Path) -> None:
    some = operators([BMM, SOFTMAX, BMM, BMM, SOFTMAX, BMM])
    kernels = [each for each in some if each["cat"] == "kernel"]
    for kernel in kernels[-3:]:
        some.remove(kernel)
    (finding,) = findings(tmp_path, some)[RULE]
    assert "2 times in the trace" in finding.evidence
    assert "in a row (1 of them with device events), 12.0 us" in finding.evidence


def test_copies_ahead_of_the_first_product_are_not_between_the_products(tmp_path: Path) -> None:
    """`aten::matmul` lays out its operands before it multiplies them."""
    copies = operators([("aten::clone", ADD)], start=1001, period=8, delay=4, kernel=2)
    first = operators([BMM], start=1010, period=8, kernel=4, delay=5)
    rest = operators([SOFTMAX, BMM], start=1030)
    around = row("cpu_op", "aten::matmul", 1000, 20)
    (finding,) = findings(tmp_path, [around, *copies, *first, *rest])[RULE]
    assert finding.cost_us_per_step == pytest.approx(12)


def test_a_causal_mask_that_is_made_in_it(tmp_path: Path) -> None:
    """As textbooks write it; ten operators, of which three launch nothing."""
    names = ("new_ones", "tril", "to", "bitwise_not", "slice", "slice", "view", "masked_fill")
    mask = [(f"aten::{name}", "" if name in ("slice", "view") else ADD) for name in names]
    some = operators([BMM, SCALE, *mask, SOFTMAX, BMM])
    (finding,) = findings(tmp_path, some)[RULE]
    assert finding.cost_us_per_step == pytest.approx(9 * 4)


def test_a_mask_with_the_value_of_a_new_tensor(tmp_path: Path) -> None:
    """`torch.tensor(...)` leaves no operator of its name."""
    made = [(f"aten::{name}", "") for name in ("empty", "to", "lift_fresh", "detach_")]
    mask = [("aten::eq", ADD), *made, ("aten::masked_fill", ADD)]
    some = operators([BMM, *mask, SOFTMAX, BMM])
    (finding,) = findings(tmp_path, some)[RULE]
    assert finding.cost_us_per_step == pytest.approx(5 * 4)


@pytest.mark.parametrize("added", [True, False])
def test_a_bias_of_positions_that_is_made_in_it(tmp_path: Path, added: bool) -> None:
    """As in the first layer of T5; without a sum the softmax is of something else."""
    names = ("arange", "arange", "sub", "abs", "lt", "div", "log", "mul", "min", "where")
    bias = [(f"aten::{name}", ADD) for name in (*names, "embedding", *["add_"] * added)]
    found = findings(tmp_path, operators([BMM, *bias, SOFTMAX, BMM]))
    assert (RULE in found) == added


@pytest.mark.parametrize(
    "names",
    [
        ("scaled_dot_product_attention", "_scaled_dot_product_attention_math"),
        ("_transformer_encoder_layer_fwd", "_native_multi_head_attention"),
    ],
)
def test_the_parts_of_an_operator_that_is_attention(names: list[str], tmp_path: Path) -> None:
    parts = operators([BMM, SCALE, SOFTMAX, BMM])
    around = [row("cpu_op", f"aten::{name}", 998 + n, 90 - 5 * n) for n, name in enumerate(names)]
    assert findings(tmp_path, around, parts)[RULE][0].count == 1


def test_products_that_load_too_little_are_part_of_one_problem(tmp_path: Path) -> None:
    """An odd number of tokens is no matter for a fused kernel, and no hidden size to pad."""
    some = operators([("aten::bmm", ALIGN1), SOFTMAX, ("aten::bmm", ALIGN1)])
    some[3]["args"] |= {"Input Dims": [[16, 5185, 5185], [], []], "Input type": ["float", "", ""]}
    found = findings(tmp_path, some)
    assert "over 5185 keys" in found[RULE][0].evidence
    assert "8.00 us of it in 2 kernels that load less than 16 bytes" in found[RULE][0].evidence
    assert "matmul-misaligned" not in found


@pytest.mark.parametrize(
    "calls",
    [
        [BMM, SCALE, SOFTMAX, ("aten::addmm", "gemm")],
        [("aten::addmm", "gemm"), SOFTMAX, BMM],
        [BMM, ("aten::relu", ADD), SOFTMAX, BMM],
        [BMM, SCALE, ("aten::_log_softmax", "cunn_SoftMaxForward"), BMM],
        [("aten::_scaled_dot_product_flash_attention", "flash_fwd_kernel")],
    ],
    ids=["no second product", "a classifier", "an activation", "a loss", "fused"],
)
def test_what_is_no_attention(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    assert RULE not in findings(tmp_path, operators(calls))


def test_in_several_modules_it_is_of_the_whole_step(tmp_path: Path) -> None:
    """And not outside of every module, as where its operators are in none."""
    once = operators([BMM, SOFTMAX, BMM])
    again = operators([BMM, SOFTMAX, BMM], start=2000)
    modules = [
        row("user_annotation", f"[pl][module]Attention: layers.{i}", 1000 * (i + 1) - 2, 200)
        for i in range(2)
    ]
    (finding,) = findings(tmp_path, [*modules, *once, *again])[RULE]
    assert (finding.where, finding.module) == ("aten::softmax", None)
    (finding,) = findings(tmp_path, [*modules, *once])[RULE]
    assert finding.where == "layers.0, aten::softmax"


@pytest.mark.parametrize(("middle", "fires"), [("aten::softmax", True), ("aten::relu", False)])
def test_operators_of_a_cpu(tmp_path: Path, middle: str, fires: bool) -> None:
    names = ["aten::bmm", "aten::mul", middle, "aten::bmm"]
    rows = [operator(name, 2000 + 100 * i, 99) for i, name in enumerate(names)]
    found = on_cpu(tmp_path, [step(4000), *rows])[RULE]
    assert [round(each.gain_us_per_step or 0) for each in found] == [round(0.4 * 396)] * fires
