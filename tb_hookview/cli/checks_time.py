"""Limits of `hookview check` on the time of steps, alone and against another trace."""

from __future__ import annotations

from statistics import median

from tb_hookview.cli.checks import Outcome
from tb_hookview.comparison.sides import within_noise
from tb_hookview.errors import UsageError
from tb_hookview.formats import format_count, format_us
from tb_hookview.report.result import Report


def step_ms(report: Report, limit: float) -> Outcome:
    """Compute the median step of the measured ones, in milliseconds.

    Raises:
        UsageError: the trace marks no steps.
    """
    steps = _durations_ms(report)
    return Outcome(
        median(steps) <= limit, "median step", median(steps), limit, " ms", note=_spread(steps)
    )


def regression_percent(report: Report, baseline: Report, limit: float) -> Outcome:
    """Compute how much longer the median step is than the baseline's, in percent.

    Raises:
        UsageError: one of the traces marks no steps.
    """
    steps, before = _durations_ms(report), _durations_ms(baseline)
    longer = 100 * (median(steps) / median(before) - 1)
    note = f"{_spread(steps)}; baseline {format_us(1000 * median(before))}, {_spread(before)}"
    if longer > 0 and within_noise(before, steps):
        note += "; each median lies in the range of the other, so it may be noise"
    return Outcome(longer <= limit, "change of the median step", longer, limit, "%", note=note)


def _durations_ms(report: Report) -> list[float]:
    data = report.counted.data
    found = [step.duration_us / 1000 for step in data.steps]
    if not data.per_step.marked or not found or not all(found):
        raise UsageError(
            f"{data.trace.path}: no steps are marked, so there is no step to time; call the "
            "profiler's step() at the end of each"
        )
    return found


def _spread(steps: list[float]) -> str:
    count = format_count(len(steps), "step")
    return f"{count} of {format_us(1000 * min(steps))} to {format_us(1000 * max(steps))}"
