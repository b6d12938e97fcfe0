"""`attention-unfused`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import ADD, findings, operators

RULE = "attention-unfused"
BMM, SOFTMAX = ("aten::bmm", "gemm"), ("aten::softmax", "cunn_SoftMaxForward")
SCALE, DROPOUT = ("aten::div", ADD), ("aten::dropout", "fused_dropout_kernel")
VIEW = ("aten::transpose", "")


def test_attention_by_its_parts(tmp_path: Path) -> None:
    some = operators([VIEW, BMM, SCALE, SOFTMAX, DROPOUT, VIEW, BMM])
    finding = findings(tmp_path, some)[RULE]
    assert finding.cost_us_per_step == pytest.approx(12), "what is between the products"
    assert finding.count == 1


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
