"""Findings that pass a rule's limit, a share of the step, at an unchanged cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from rules.drawn import report

from tb_hookview.comparison.compare import compare
from tb_hookview.comparison.document import comparison_document
from tb_hookview.document.plain import plain_text
from tb_hookview.schema import BelowLimit, FindingChange, ReportData

RULE = "device-layout-copies"
NAMES = {
    "copying": "void at::native::elementwise_kernel<at::native::direct_copy_kernel_cuda>",
    "c": "void at::native::elementwise_kernel<at::native::direct_copy_kernel_cuda>",
    "gemm": "sgemm",
}
STEP = """
    main notes [ProfilerStep#1{wait}                                                         ]
    main ops    [aten::mm     ]{wait} [aten::contiguous]
    main calls   [launch corr=6]{wait}  [launch corr=7]
    gpu  kernel     [gemm corr=6{wait}              ] [{copy}]
    """
LONG = " " * 500
"""By so much longer the other work makes the step, of which the copies are a smaller share then."""


def drawn(folder: Path, wait: str = "", copy: str = "copying corr=7     ") -> ReportData:
    folder.mkdir()
    return report(folder, STEP.format(wait=wait, copy=copy), NAMES)


def copies(base: ReportData, other: ReportData) -> FindingChange:
    (row,) = (row for row in compare(base, other).findings if row.rule == RULE)
    return row


def lines(base: ReportData, other: ReportData) -> list[str]:
    text = plain_text(comparison_document(compare(base, other)))
    return [
        line for line in text.splitlines() if "copies of tensors" in line or "rule's limit" in line
    ]


@pytest.fixture
def slow(tmp_path: Path) -> ReportData:
    return drawn(tmp_path / "slow", LONG)


@pytest.fixture
def quick(tmp_path: Path) -> ReportData:
    return drawn(tmp_path / "quick")


def test_what_a_limit_hides_is_in_the_report(slow: ReportData, quick: ReportData) -> None:
    assert RULE not in {finding.rule for finding in slow.findings}
    (finding,) = (finding for finding in quick.findings if finding.rule == RULE)
    (low,) = (low for low in slow.below_limits if low.rule == RULE)
    assert (low.id, low.where, low.module_id) == (finding.id, finding.where, finding.module_id)
    assert low.cost_us_per_step == finding.cost_us_per_step
    assert low.elsewhere_us_per_step == 0
    assert RULE not in {low.rule for low in quick.below_limits}


def test_the_same_copies_in_a_shorter_step_are_not_new(slow: ReportData, quick: ReportData) -> None:
    row, back = copies(slow, quick), copies(quick, slow)
    assert (row.status, back.status) == ("same", "same")
    assert (row.base_id, row.base_where, row.cost_us.change) == (None, None, 0)
    assert (back.other_id, back.cost_us.change) == (None, 0)
    for sides in ((slow, quick), (quick, slow)):
        assert lines(*sides) == [
            "Same cost in both traces, but below a rule's limit in one: 1 finding"
        ]


def test_more_copies_are_new_and_what_they_cost_before_is_known(
    tmp_path: Path, quick: ReportData
) -> None:
    little = drawn(tmp_path / "little", LONG, "c corr=7]         ")
    row, back = copies(little, quick), copies(quick, little)
    assert (row.status, back.status) == ("appeared", "vanished")
    assert row.cost_us.base is not None
    assert row.cost_us.change == (row.cost_us.other or 0) - row.cost_us.base > 0
    assert "(base: " in lines(little, quick)[0]
    assert "(other: " in lines(quick, little)[0]
    assert "below the rule's limit)" in lines(quick, little)[0]


@pytest.mark.parametrize(("share", "status"), [(0.7, "appeared"), (0.8, "changed"), (2, "changed")])
def test_costs_differ_from_run_to_run(
    slow: ReportData, quick: ReportData, share: float, status: str
) -> None:
    (low,) = (low for low in slow.below_limits if low.rule == RULE)

    def costing(mine: float, elsewhere: float) -> ReportData:
        return replace(slow, below_limits=[times(low, mine, elsewhere)])

    assert copies(costing(share, 0), quick).status == status
    assert copies(costing(0, share), quick).status == status, "in the cost of other findings"


def times(low: BelowLimit, mine: float, elsewhere: float) -> BelowLimit:
    cost = low.cost_us_per_step
    return replace(low, cost_us_per_step=mine * cost, elsewhere_us_per_step=elsewhere * cost)


def test_copies_at_another_place_are_new_while_the_old_ones_stay(
    slow: ReportData, quick: ReportData
) -> None:
    """Below the limit in both traces: what is there still has not moved."""
    (low,) = (low for low in slow.below_limits if low.rule == RULE)
    there = replace(low, id=f"{RULE}:there", where="there")
    base, other = replace(slow, below_limits=[there]), replace(quick, below_limits=[there])
    assert copies(base, other).status == "appeared"
    assert copies(base, quick).status == "moved"
