"""Which finding explains a straggler: one that costs it more than it costs the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from ranks.device_programs import Part, write
from ranks.test_run import analyzed

from tb_hookview.ranks.findings import Lateness, find_finding
from tb_hookview.ranks.late import Reason
from tb_hookview.schema.findings import Finding

IN_B: Reason = ("module", "b")


def finding(rule: str, cost: float, *, work: float = 0.0, module: str | None = "b") -> Finding:
    return Finding(
        id=rule,
        rule=rule,
        severity="high",
        title="",
        where=module or "not in a module",
        module=module,
        cost_us_per_step=cost,
        device_work_us_per_step=work,
        gain_us_per_step=None,
        evidence="",
        fix="",
        confidence="high",
        reference="",
        advice=[],
        count=1,
        examples=[],
        caveats=[],
    )


ALLOCATOR, HOST_WORK = "allocator-malloc-free-in-step", "host-work"
MORE = [finding(ALLOCATOR, 50), finding(HOST_WORK, 30), finding(HOST_WORK, 30)]
LESS = [finding(ALLOCATOR, 60), finding(HOST_WORK, 10)]


@pytest.mark.parametrize(
    ("late", "others", "least", "named"),
    [
        (MORE, [LESS] * 3, 40, HOST_WORK),
        (MORE, [LESS] * 3, 60, None),
        (MORE, [LESS, MORE, MORE], 40, None),
        (MORE, [LESS, MORE, LESS], 40, HOST_WORK),
        (MORE, [[]], 40, HOST_WORK),
        ([finding(HOST_WORK, 90, module="c")], [[]], 40, None),
        ([finding("pointwise-unfused", 90, work=90)], [[]], 40, None),
        ([], [LESS], 0, None),
    ],
    ids=[
        *("more of it", "too little more", "most have as much", "one has as much"),
        *("no other has it", "another module", "device work", "no finding"),
    ],
)
def test_a_finding_is_named_that_costs_the_straggler_more(
    late: list[Finding], others: list[list[Finding]], least: float, named: str | None
) -> None:
    ranks = [*others, late]
    asked = Lateness(len(others), IN_B, False, least)
    assert find_finding(asked, len(ranks), ranks.__getitem__) == named


@pytest.mark.parametrize(("on_device", "named"), [(True, "pointwise-unfused"), (False, HOST_WORK)])
def test_a_finding_is_of_the_side_that_was_late(named: str, *, on_device: bool) -> None:
    ranks = [[finding(HOST_WORK, 50), finding("pointwise-unfused", 90, work=60)], [], []]
    assert find_finding(Lateness(0, IN_B, on_device, 40), 3, ranks.__getitem__) == named


def test_what_is_no_module_has_findings_of_its_family() -> None:
    ranks = [[finding(HOST_WORK, 50), finding("loader-wait", 45, module=None)], []]
    assert find_finding(Lateness(0, ("data", ""), False, 40), 2, ranks.__getitem__) == "loader-wait"


@pytest.mark.parametrize(("beside", "named"), [(0.0, "loader-single-process"), (11.0, None)])
def test_a_finding_that_costs_the_others_as_much_explains_nothing(
    tmp_path: Path, beside: float, named: str | None
) -> None:
    """The device idles for the loader no longer than theirs where it runs something else."""
    even = [Part("a"), Part("b", loader=6.0, device=0.5, waits="sync")]
    slow = [Part("a", beside=beside), even[1]._replace(loader=14.0)]
    (straggler,) = analyzed(write(tmp_path / "run", [even, slow, even], 5)).stragglers
    assert (straggler.rank, straggler.reason, straggler.finding) == (1, "data", named)
