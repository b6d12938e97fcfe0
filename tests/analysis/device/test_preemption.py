"""Kernels that ran far longer than equal launches: their extra time is in no cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from rules.eager import A100, findings, operators

from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.rules.engine import cost_accounting
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

PRODUCT = ("aten::mm", "ampere_sgemm_128x64_nn")
SHAPES = [[64, 64], [64, 64]]


SORT = ("aten::sort", "void at::native::bitonicSortKVInPlace<int>(int)")


def products(lengths: list[int], call: tuple[str, str] = PRODUCT) -> list[dict[str, Any]]:
    """Calls of equal shapes whose kernels take these times, microseconds."""
    rows = operators([call] * len(lengths), period=1000 if max(lengths) < 900 else 4000)
    left = iter(lengths)
    for row in rows:
        if row["cat"] == "kernel":
            row["dur"] = next(left)
            row["args"] |= {"grid": [8, 8, 1], "block": [128, 1, 1]}
        elif row["cat"] == "cpu_op":
            row["args"]["Input Dims"] = SHAPES
    return rows


def preempted(folder: Path, rows: list[dict[str, Any]]) -> list[int]:
    analysis = load(grid.write(folder / "t.json", rows))
    return [time // 1000 for time in analysis.preempted.tolist()]


def test_what_exceeds_equal_launches(tmp_path: Path) -> None:
    assert preempted(tmp_path, products([50] * 4 + [350] + [50] * 7)) == [0] * 4 + [300] + [0] * 7


@pytest.mark.parametrize(
    "lengths",
    [
        pytest.param([50] * 8 + [350], id="too few launches for a difference this small"),
        pytest.param([50] * 9 + [350] * 4, id="a third of them may be usual, too"),
        pytest.param([50] * 11 + [140], id="less than 100 us longer"),
        pytest.param([300] * 11 + [500], id="less than twice as long"),
    ],
)
def test_times_that_are_the_kernels_own(tmp_path: Path, lengths: list[int]) -> None:
    assert not any(preempted(tmp_path, products(lengths)))


@pytest.mark.parametrize("lengths", [[10, 9, 2450], [10, 2450, 9], [50] * 7 + [3000]])
def test_one_of_few_that_takes_far_longer_than_all_others(
    tmp_path: Path, lengths: list[int]
) -> None:
    usual = sorted(lengths)[len(lengths) // 2]
    wanted = [length - usual if length > 1000 else 0 for length in lengths]
    assert preempted(tmp_path, products(lengths)) == wanted
    assert preempted(tmp_path, products(lengths, SORT)) == wanted


@pytest.mark.parametrize(
    "lengths",
    [
        pytest.param([10, 2450], id="only one other"),
        pytest.param([2450, 10, 9], id="the first may have loaded code"),
        pytest.param([10, 14, 2450], id="the others differ"),
        pytest.param([10, 9, 2450, 2450], id="two take as long"),
        pytest.param([10, 9, 950], id="less than 1 ms longer"),
        pytest.param([100, 101, 1900], id="less than 20 times as long"),
    ],
)
def test_few_launches_that_may_differ_by_themselves(tmp_path: Path, lengths: list[int]) -> None:
    assert not any(preempted(tmp_path, products(lengths)))


def test_a_neighbour_that_is_there_for_many_of_them(tmp_path: Path) -> None:
    found = preempted(tmp_path, products([50] * 10 + [90, 350, 360]))
    assert found == [0] * 10 + [0, 300, 310]


def test_a_sixth_may_have_other_values_to_work_on(tmp_path: Path) -> None:
    assert not any(preempted(tmp_path, products([50] * 10 + [350] * 2, SORT)))
    assert any(preempted(tmp_path, products([50] * 11 + [350], SORT)))


def test_other_shapes_are_other_launches(tmp_path: Path) -> None:
    rows = products([50] * 11 + [350])
    next(row for row in reversed(rows) if row["cat"] == "cpu_op")["args"]["Input Dims"] = [[4096]]
    assert not any(preempted(tmp_path, rows))


def test_another_stream_of_the_trace_may_have_used_the_device(tmp_path: Path) -> None:
    rows = products([50] * 11 + [350])
    beside = operators([PRODUCT], start=1000 + 11 * 1000 + 100, stream=8, thread="other")
    assert not any(preempted(tmp_path, [*rows, *beside]))


def test_the_cost_of_a_finding_is_without_it(tmp_path: Path) -> None:
    rows = products([50] * 11 + [350])
    (finding,) = findings(tmp_path, rows, deviceProperties=A100)["tf32-disabled"]
    assert finding.cost_us_per_step == pytest.approx(12 * 50)
    assert "300 us of that time are not in the cost" in finding.evidence


def test_it_is_left_to_no_other_finding(tmp_path: Path) -> None:
    analysis = load(grid.write(tmp_path / "t.json", products([50] * 11 + [350])))
    every = np.arange(12)
    rules = tuple(
        Rule(name, "host", "", "", "", "", find=lambda _: [Occurrence("", "", wasted=every)])
        for name in ("first", "second")
    )
    first, *others = cost_accounting.findings(Context(select(analysis, None), rules))
    assert (first.finding.rule, first.finding.cost_us_per_step) == ("first", 12 * 50)
    assert not others
