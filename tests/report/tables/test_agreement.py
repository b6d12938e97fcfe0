"""Figures that cannot be are taken out of a report, and reported as a bug."""

from __future__ import annotations

import gallery
import msgspec
import pytest

from tb_hookview.loading import analyze
from tb_hookview.report import build
from tb_hookview.report.tables.warnings import Contradiction, ours, without_contradictions
from tb_hookview.schema import ReportData, TraceWarning

replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def data() -> ReportData:
    return analyze(gallery.recording("slow_storage.0_workers")).data


def test_a_report_that_agrees_is_given_as_it_is(data: ReportData) -> None:
    assert without_contradictions(data) == (data, [])


def test_a_share_above_the_whole_is_left_out(data: ReportData) -> None:
    first, second, *others = data.operators
    wrong = replace(
        data, operators=[replace(first, peak_share=1.2), replace(second, peak_share=1.0), *others]
    )
    right, found = without_contradictions(wrong)
    assert found == [Contradiction("operators.peak_share", 1)]
    assert [row.peak_share for row in right.operators[:2]] == [None, 1.0]


def test_a_gain_above_the_step_is_unknown(data: ReportData) -> None:
    (first, *others), duration = data.findings, data.trace.duration_us
    wrong = replace(data, findings=[replace(first, gain_us_per_step=2 * duration), *others])
    right, found = without_contradictions(wrong)
    assert found == [Contradiction("findings.gain_us_per_step", 1)]
    assert right.findings[0].gain_us_per_step is None
    assert right.findings[0].gain_unknown == "the replay gains more than a step takes"
    assert right.findings[1:] == data.findings[1:]


def test_a_step_may_go_on_until_the_device_ends(data: ReportData) -> None:
    (first, *others), duration = data.findings, data.trace.duration_us
    verdict = replace(data.verdict, step_us=3 * duration)
    right = replace(
        data, verdict=verdict, findings=[replace(first, gain_us_per_step=2 * duration), *others]
    )
    assert without_contradictions(right) == (right, [])


def test_sums_that_differ_from_their_rows_are_named(data: ReportData) -> None:
    step = replace(data.steps[0], other_us=data.steps[0].other_us + 1)
    totals = replace(data.totals, sync_blocked_us=data.totals.sync_blocked_us + 1)
    coverage = replace(data.coverage, backward_host_us=data.coverage.backward_host_us + 1)
    wrong = replace(data, steps=[step, *data.steps[1:]], totals=totals, coverage=coverage)
    right, found = without_contradictions(wrong)
    assert right == wrong
    assert [each.what for each in found] == [
        "steps",
        "totals.sync_blocked_us",
        "coverage.backward_host_us",
    ]


def test_it_is_a_warning_for_users_and_a_failure_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    path = gallery.recording("slow_storage.0_workers")
    found = [Contradiction("operators.peak_share", 2)]
    monkeypatch.setattr(build, "without_contradictions", lambda data: (data, found))
    with pytest.raises(AssertionError, match=r"operators\.peak_share"):
        analyze(path)
    monkeypatch.setenv("HOOKVIEW_STRICT", "0")
    first = analyze(path).data.trace.warnings[0]
    assert (first.code, first.count, first.severity) == ("contradiction", 2, "high")
    assert "operators.peak_share contradicts the rest of the report" in first.message


@pytest.mark.parametrize(
    ("code", "left"), [("lost-in-between", 1), ("no-launch", 1), ("clock-skew", 2)]
)
def test_what_ran_too_fast_is_no_bug_where_device_events_are_missing(code: str, left: int) -> None:
    found = [Contradiction("operators.peak_share", 1), Contradiction("steps", 1)]
    assert ours(found, [TraceWarning(code, code, "", 1, "high")]) == found[-left:]
