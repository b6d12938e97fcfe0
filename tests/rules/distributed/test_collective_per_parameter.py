"""`collective-per-parameter`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rules.eager import findings, operators, row

RULE = "collective-per-parameter"
REDUCE = ("c10d::allreduce_", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)")
SINK = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
MANY = 24
FIRST = 8
"""Time from the first all-reduce to its transfer, of which the launch may be a cause of its own."""


def backward(gradients: int) -> Iterator[dict[str, Any]]:
    """A node for each gradient, from 100 us on."""
    for i in range(gradients):
        yield row("cpu_op", SINK, 100 + 10 * i, 8)
        yield row("cpu_op", "torch::autograd::AccumulateGrad", 101 + 10 * i, 6)


def reduces(count: int, **kwargs: Any) -> list[dict[str, Any]]:
    """All-reduces one after the other, of 4 us each after 8 us."""
    return operators([REDUCE] * count, stream=20, **kwargs)


def waits(count: int) -> list[dict[str, Any]]:
    """A wait on the device right after each of `reduces`."""
    name = "cudaStreamWaitEvent"
    return [
        row("cuda_runtime", name, 1019.2 + 20 * i, 0.5, correlation=9 + i) for i in range(count)
    ]


def test_a_collective_for_each_gradient(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, backward(MANY), reduces(MANY), waits(MANY))[RULE]
    assert finding.evidence.startswith(
        "24 all-reduces a step for 24 gradients, 24 of them awaited before anything else is "
        "launched; the host spends 480 us a step"
    )
    assert finding.cost_us_per_step == pytest.approx(23 * 16 + FIRST, abs=1), (
        "gaps around the transfers"
    )
    assert "async_op=True" in finding.fix


def test_none_of_its_gaps_is_that_of_short_kernels(tmp_path: Path) -> None:
    many = 60
    found = findings(tmp_path, backward(many), reduces(many), waits(many))
    assert found[RULE][0].cost_us_per_step == pytest.approx(59 * 16 + FIRST, abs=1)
    assert "in the cost of other findings" in found["tiny-kernels-launch-bound"][0].evidence


def test_the_time_between_two_loops_is_not_in_it(tmp_path: Path) -> None:
    """Three kernels that no loop over parameters launches."""
    computes = operators([("aten::mm", "gemm")] * 3, start=1245)
    second = reduces(12, start=1310)
    (finding,) = findings(tmp_path, backward(MANY), reduces(12), computes, second)[RULE]
    assert "0 of them awaited" in finding.evidence
    assert finding.cost_us_per_step == pytest.approx(22 * 16 + FIRST, abs=1)


@pytest.mark.parametrize(
    ("gradients", "count"), [(100, 24), (10, 10), (0, 24)], ids=["buckets", "few", "no gradients"]
)
def test_what_is_none(tmp_path: Path, gradients: int, count: int) -> None:
    assert RULE not in findings(tmp_path, backward(gradients), reduces(count), waits(count))


def test_small_buckets_are_the_same_problem(tmp_path: Path) -> None:
    some = reduces(MANY)
    for each in some:
        if each["name"] == REDUCE[0]:
            given = {"Collective name": "allreduce", "dtype": "Float", "Group size": 2}
            each["name"] = "record_param_comms"
            each["args"] |= {**given, "In msg nelems": 100, "Out msg nelems": 100}
    around = [row("cpu_op", REDUCE[0], 999.5 + 20 * i, 19.4) for i in range(MANY)]
    found = findings(tmp_path, backward(MANY), around, some)
    assert RULE in found
    assert "ddp-bucket-or-unused" not in found
