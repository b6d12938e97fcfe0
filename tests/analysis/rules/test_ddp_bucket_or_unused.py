"""`ddp-bucket-or-unused`."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.rules.eager import findings, operators, row

RULE = "ddp-bucket-or-unused"
COPY = [("aten::copy_", "Memcpy DtoD (Device -> Device)")]
GEMM = [("aten::mm", "gemm")]


def test_gradients_are_copied_out_of_their_buckets(tmp_path: Path) -> None:
    copying = row("cpu_op", "torch.distributed.ddp.reducer::copy_bucket_to_grad", 995, 40)
    finding = findings(tmp_path, operators(COPY), [copying])[RULE]
    assert finding.cost_us_per_step == pytest.approx(4)
    assert "copies" in finding.where


def test_a_search_for_unused_parameters(tmp_path: Path) -> None:
    name = "torch.distributed.ddp.reducer::search_unused_parameters"
    some = [*operators(GEMM), *operators(GEMM, start=1100)]
    finding = findings(tmp_path, some, [row("cpu_op", name, 1010, 98)])[RULE]
    assert finding.cost_us_per_step == pytest.approx(100 - 4)


def test_other_copies(tmp_path: Path) -> None:
    reducing = row("cpu_op", "torch::distributed::reducer::mul_out", 995, 40)
    assert RULE not in findings(tmp_path, operators(COPY), [reducing])
