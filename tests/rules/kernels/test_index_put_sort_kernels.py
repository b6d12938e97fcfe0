"""`index-put-sort-kernels`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.cpu import call, node, operator, step
from rules.cpu import findings as on_cpu
from rules.eager import findings, operators, row

RULE = "index-put-sort-kernels"
SORT = "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long>"
SUM = "void at::native::indexing_backward_kernel<float, 4>"
GEMM = ("aten::mm", "gemm")


@pytest.mark.parametrize("operator", ["aten::_index_put_impl_", "aten::embedding_dense_backward"])
def test_a_backward_that_sorts(tmp_path: Path, operator: str) -> None:
    (finding,) = findings(tmp_path, operators([(operator, SORT), (operator, SUM), GEMM]))[RULE]
    assert finding.cost_us_per_step == pytest.approx(8)
    assert finding.gain_bound_us_per_step == pytest.approx(4)


def test_the_module_that_indexes_is_named(tmp_path: Path) -> None:
    """Modules of 1% and less are in one finding with what is in no module."""
    some = [("aten::_index_put_impl_", SORT)]
    rows = [
        *(call("drop", 990, 30, "PatchDrop"), call("rare", 1990, 30, "Rare")),
        *operators(some, kernel=100),
        *operators(some, start=2000, kernel=1),
        *operators(some, start=3000, kernel=9),
        *operators([GEMM], start=4000, kernel=100),
    ]
    found = findings(tmp_path, rows)[RULE]
    assert {(row.module, row.cost_us_per_step) for row in found} == {("drop", 100), (None, 10)}


def test_a_sort_that_was_asked_for(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators([("aten::sort", SORT), GEMM]))


def test_without_a_sort(tmp_path: Path) -> None:
    some = operators([("aten::_index_put_impl_", "index_elementwise_kernel"), GEMM])
    assert RULE not in findings(tmp_path, some)


def test_a_small_part_of_the_time(tmp_path: Path) -> None:
    some = operators([("aten::_index_put_impl_", SORT), *[GEMM] * 40])
    assert RULE not in findings(tmp_path, some)


def put(start: float, length: float, values: list[int], *, sums: bool = True) -> dict[str, Any]:
    """An index_put of values into 64 rows of 8 columns."""
    row = operator("aten::index_put_", start, length, **{"Sequence number": 7})
    row["args"] |= {
        "Input Dims": [[64, 8], [], values, []],
        "Input type": ["float", "", "float", "Scalar"],
        "Concrete Inputs": ["", "", "", str(sums)],
    }
    return row


@pytest.mark.parametrize(
    ("values", "cost", "saved"),
    [([512], 400 + 301, 0.9), ([64, 8], 400, 0.55)],
    ids=["by element, with its node", "by row"],
)
def test_sums_by_an_index_on_a_cpu(
    tmp_path: Path, values: list[int], cost: float, saved: float
) -> None:
    rows = [
        step(4000),
        call("experts", 1001, 900, "Experts"),
        put(1100, 400, values),
        *node("IndexPutBackward0", 3000, 301, 7),
    ]
    (finding,) = on_cpu(tmp_path, rows)[RULE]
    assert finding.module == "experts"
    assert (finding.cost_us_per_step, finding.gain_us_per_step) == (
        cost,
        pytest.approx(cost * saved),
    )
    assert "index_add" in finding.fix
    assert finding.count == len(finding.examples) == 1


def test_the_backward_of_a_selection_sums_by_an_index_on_a_cpu(tmp_path: Path) -> None:
    rows = [step(4000), *node("IndexBackward0", 3000, 500, 9), put(3010, 400, [64, 8])]
    (finding,) = on_cpu(tmp_path, rows)[RULE]
    assert (finding.cost_us_per_step, finding.count) == (400, 1)


def test_what_is_put_and_not_summed(tmp_path: Path) -> None:
    assert RULE not in on_cpu(tmp_path, [step(4000), put(1100, 400, [512], sums=False)])


def test_without_shapes_whether_it_sums_is_unknown(tmp_path: Path) -> None:
    rows = [
        step(4000),
        operator("aten::index_put_", 1100, 400, **{"Sequence number": 7}),
        *node("IndexPutBackward0", 3000, 301, 7),
    ]
    (finding,) = on_cpu(tmp_path, rows)[RULE]
    assert (finding.cost_us_per_step, finding.gain_us_per_step) == (701, None)
    assert "record_shapes=True" in finding.fix


def test_an_optimizer_replaces_values_and_sums_none(tmp_path: Path) -> None:
    rows = [step(4000), operator("aten::mm", 1010, 50), operator("aten::index_put_", 1100, 400)]
    assert RULE in on_cpu(tmp_path, rows)
    steps = row("user_annotation", "Optimizer.step#Rprop.step", 1090, 500)
    assert RULE not in on_cpu(tmp_path, [*rows, steps])
