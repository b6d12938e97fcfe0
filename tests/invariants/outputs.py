"""Figures of `check`, of comparisons and of the measured steps: those of the report."""

from __future__ import annotations

from statistics import median

from invariants.case import Case
from invariants.registry import invariant
from invariants.report import near

from tb_hookview.cli import checks
from tb_hookview.comparison.compare import compare
from tb_hookview.errors import UsageError
from tb_hookview.schema import Pair, is_behind

NO_LIMIT = 1e18


@invariant()
def the_report_on_measured_steps_has_the_same_verdict_and_findings(case: Case) -> None:
    data, counted = case.data, case.report.counted.data
    assert counted.verdict == data.verdict
    assert counted.per_step.duration_us == data.per_step.duration_us
    assert counted.findings == data.findings


@invariant()
def limits_are_on_the_figures_of_the_report(case: Case) -> None:
    data, counted, means = case.data, case.report.counted.data, case.data.per_step
    try:
        totals = data.totals
        value = checks.sync_us(data, NO_LIMIT).value
        assert value == near((totals.sync_blocked_us or 0.0) - (totals.profiler_sync_us or 0.0))
        idle = checks.idle_percent(counted, NO_LIMIT).value / 100
        whole = len(data.trace.devices) * (means.duration_us or 0.0)
        assert idle * whole == near(means.device_idle_us)
        steps = checks.step_ms(case.report, NO_LIMIT).value
        rows = counted.breakdown if is_behind(counted) and counted.breakdown else counted.steps
        assert steps * 1000 == near(median(row.duration_us for row in rows))
    except UsageError:
        return  # what cannot be checked is refused


@invariant()
def a_comparison_has_the_figures_of_the_report(case: Case) -> None:
    counted = case.report.counted.data
    means, found = counted.per_step, compare(counted, counted)
    both: list[tuple[Pair, float | None]] = [
        (found.step_us, means.duration_us),
        (found.device_busy_us, means.device_busy_us),
        (found.device_idle_us, means.device_idle_us),
        (found.sync_blocked_us, means.sync_blocked_us),
        *((pair, getattr(means, f"{phase}_us")) for phase, pair in found.phases_us.items()),
    ]
    for pair, expected in both:
        assert pair.base == (None if expected is None else near(expected))
    gains = {row.base_id: row.gain_us.base for row in found.findings}
    assert gains == {row.id: row.gain_us_per_step for row in counted.findings}
