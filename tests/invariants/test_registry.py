"""A broken invariant is reported by name, and the others are asked all the same."""

from __future__ import annotations

from pathlib import Path

import grid
import msgspec
import pytest
from invariants.case import Case
from invariants.registry import Of, broken, explained, invariants

from tb_hookview.report.result import Report

PICTURE = """
main ops   [aten::mm             ]
main calls  [cudaLaunchKernel corr=1]
gpu  kernel       [k corr=1  ]
"""


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(grid.write(tmp_path / "t.json", grid.events(PICTURE)))


def test_a_wrong_total_breaks_the_invariants_that_it_is_in(case: Case) -> None:
    assert broken(case, Of.FILES) == []
    totals = msgspec.structs.replace(case.data.totals, sync_count=3)
    wrong = msgspec.structs.replace(case.data, totals=totals)
    case.report = Report(wrong, case.report.source)
    found = broken(case, Of.FILES)
    assert [each.name for each in found] == [
        "report.totals_of_syncs_are_those_of_their_rows",
        "timeline.statistics_of_the_whole_are_the_report_s_totals",
    ]
    first = explained(case, found).splitlines()[0]
    assert first.startswith(f"t.json: {found[0].name}: assert 3 == 0")
    assert first.endswith(f"--invariant {found[0].name})")


def test_what_breaks_many_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("{}")
    case = Case(path)
    found = broken(case, Of.RECORDINGS)
    assert len(found) > len(invariants()) / 2
    summary = explained(case, found).partition("\n\n")[0].splitlines()
    assert len(summary) < 10
    assert "not a PyTorch trace" in summary[0]
    assert broken(case, Of.FILES) == []  # an error of one line, however it is read
