"""`index-put-sort-kernels`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import findings, operators

RULE = "index-put-sort-kernels"
SORT = "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long>"
SUM = "void at::native::indexing_backward_kernel<float, 4>"
GEMM = ("aten::mm", "gemm")


@pytest.mark.parametrize("operator", ["aten::_index_put_impl_", "aten::embedding_dense_backward"])
def test_a_backward_that_sorts(tmp_path: Path, operator: str) -> None:
    (finding,) = findings(tmp_path, operators([(operator, SORT), (operator, SUM), GEMM]))[RULE]
    assert finding.cost_us_per_step == pytest.approx(8)
    assert finding.gain_bound_us_per_step == pytest.approx(4)


def test_a_sort_that_was_asked_for(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators([("aten::sort", SORT), GEMM]))


def test_without_a_sort(tmp_path: Path) -> None:
    some = operators([("aten::_index_put_impl_", "index_elementwise_kernel"), GEMM])
    assert RULE not in findings(tmp_path, some)


def test_a_small_part_of_the_time(tmp_path: Path) -> None:
    some = operators([("aten::_index_put_impl_", SORT), *[GEMM] * 40])
    assert RULE not in findings(tmp_path, some)
