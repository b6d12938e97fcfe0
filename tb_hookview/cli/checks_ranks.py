"""The limits that `hookview check` checks a run of many ranks against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from tb_hookview.cli.checks import Outcome
from tb_hookview.errors import UsageError
from tb_hookview.formats import format_count, format_us
from tb_hookview.ranks.document import place_text
from tb_hookview.schema import Run


def rank_wait_percent(run: Run, limit: float) -> Outcome:
    """Share of the mean step that the ranks wait for each other, mean of the ranks, in percent.

    Raises:
        UsageError: nothing was matched, or a trace cannot be read.
    """
    _need_all(run)
    rows = [row for row in run.ranks if row.step_us]
    steps = sum(row.step_us or 0.0 for row in rows)
    if not steps:
        raise UsageError(f"{run.path}: no measured step, so no waits to check")
    value = 100 * sum(row.wait_us or 0.0 for row in rows) / steps
    return _outcome(run, "ranks wait for others", value, limit, "%")


def stragglers(run: Run, limit: float) -> Outcome:
    """Number of ranks that are late in most steps, each with those before it fixed.

    Raises:
        UsageError: nothing was matched, or a trace cannot be read.
    """
    _need_all(run)
    return _outcome(run, "stragglers", len(run.stragglers), limit, "")


RUN_LIMITS: dict[str, Callable[[Run, float], Outcome]] = {
    "max_rank_wait_percent": rank_wait_percent,
    "max_stragglers": stragglers,
}
"""Limits of a run, by the names of their options."""


def tests(run: Run, limits: Mapping[str, float]) -> Iterator[Callable[[], Outcome]]:
    """Yield what checks each limit."""
    for name, limit in limits.items():
        yield partial(RUN_LIMITS[name], run, limit)


def _need_all(run: Run) -> None:
    if run.unreadable:
        first = run.unreadable[0]
        rest = f", and {len(run.unreadable) - 1} more" if len(run.unreadable) > 1 else ""
        raise UsageError(
            f"{run.path}: not all ranks can be checked: {first.path}: {first.reason}{rest}"
        )
    waited = any(row.wait_us for row in run.ranks)
    if not run.collectives and not waited:
        ranks = format_count(len(run.ranks), "rank")
        raise UsageError(f"{run.path}: {ranks} and no collective matched, so no waits to check")


def _outcome(run: Run, what: str, value: float, limit: float, unit: str) -> Outcome:
    late = [
        f"rank {row.rank}, {place_text(row.reasons[0]) if row.reasons else 'unknown'}, costs "
        f"{format_us(row.gain_us_per_step)} per step"
        for row in run.stragglers
    ]
    missing = format_count(len(run.missing_ranks), "rank")
    notes = [f"stragglers: {'; '.join(late)}"] if late else []
    notes += [f"no trace of {missing}"] if run.missing_ranks else []
    return Outcome(value <= limit, what, value, limit, unit, note="; ".join(notes))
