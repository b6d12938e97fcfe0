"""`ddp-bucket-or-unused`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import findings, operators, row

RULE = "ddp-bucket-or-unused"
COPY = [("aten::copy_", "Memcpy DtoD (Device -> Device)")]
GEMM = [("aten::mm", "gemm")]
DDP = [row("user_annotation", "DistributedDataParallel.forward", 990, 5)]


def test_gradients_are_copied_out_of_their_buckets(tmp_path: Path) -> None:
    copying = row("cpu_op", "torch.distributed.ddp.reducer::copy_bucket_to_grad", 995, 40)
    (finding,) = findings(tmp_path, operators(COPY), [copying])[RULE]
    assert finding.cost_us_per_step == pytest.approx(4)
    assert "copies" in finding.where
    assert finding.fix.startswith("Pass gradient_as_bucket_view=True")
    assert "find_unused_parameters" not in finding.fix


def test_a_search_for_unused_parameters(tmp_path: Path) -> None:
    name = "torch.distributed.ddp.reducer::search_unused_parameters"
    some = [*operators(GEMM), *operators(GEMM, start=1100)]
    (finding,) = findings(tmp_path, some, [row("cpu_op", name, 1010, 98)])[RULE]
    assert finding.cost_us_per_step == pytest.approx(100 - 4)


def test_other_copies(tmp_path: Path) -> None:
    reducing = row("cpu_op", "torch::distributed::reducer::mul_out", 995, 40)
    assert RULE not in findings(tmp_path, operators(COPY), [reducing])


def all_reduces(count: int, elements: int, ranks: int = 8) -> list[dict[str, Any]]:
    """Collectives of so many elements of two bytes each."""
    rows = operators([("record_param_comms", "ncclDevKernel_AllReduce")] * count, start=5000)
    known = {"Collective name": "allreduce", "dtype": "BFloat16", "Group size": ranks}
    for each in rows:
        if each["cat"] == "cpu_op":
            each["args"] |= {**known, "In msg nelems": elements, "Out msg nelems": elements}
    return rows


def test_all_reduces_of_small_buckets(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators(GEMM), DDP, all_reduces(10, 1000))[RULE]
    assert finding.cost_us_per_step == pytest.approx(10 * 4)
    assert (finding.gain_us_per_step, finding.gain_bound_us_per_step) == (None, 0)
    assert "20000 bytes in all" in finding.evidence
    assert "bucket_cap_mb" in finding.fix
    assert "find_unused_parameters" not in finding.fix


def test_small_all_reduces_of_others(tmp_path: Path) -> None:
    """As in tensor parallelism, where no bucket could be larger."""
    assert RULE not in findings(tmp_path, operators(GEMM), all_reduces(10, 1000))


@pytest.mark.parametrize(
    "some",
    [
        pytest.param(all_reduces(9, 1000), id="few"),
        pytest.param(all_reduces(10, 1 << 19), id="a MiB each"),
        pytest.param(all_reduces(10, 1000, ranks=1), id="one rank"),
        pytest.param(operators([("x", "ncclDevKernel_AllReduce")] * 10), id="not told"),
    ],
)
def test_all_reduces_that_are_none(tmp_path: Path, some: list[dict[str, Any]]) -> None:
    assert RULE not in findings(tmp_path, operators(GEMM, start=500), DDP, some)
