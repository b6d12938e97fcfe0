"""The limits that `hookview check` checks a watched training against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from tb_hookview.cli.checks import Outcome
from tb_hookview.errors import UsageError
from tb_hookview.schema import module_label
from tb_hookview.schema.history import Cause, History, SlowRank


def slow_steps_percent(said: History, limit: float) -> Outcome:
    """Share of the measured steps that were slow, in percent.

    Raises:
        UsageError: no step was measured.
    """
    measured = max((rank.measured_steps for rank in said.ranks), default=0)
    if not measured:
        raise UsageError(f"{said.path}: no step was measured, so no slow steps to check")
    value = 100 * said.slow_steps_total / measured
    where = [
        f"steps {row.first} to {row.last}, {_cause(row.causes[0]) if row.causes else 'unknown'}"
        for row in said.slow_steps[:3]
    ]
    return Outcome(value <= limit, "slow steps", value, limit, "%", note="; ".join(where))


def slow_ranks(said: History, limit: float) -> Outcome:
    """Number of ranks that need longer than the others, all the time.

    Raises:
        UsageError: the training has steps of one rank only.
    """
    if len(said.ranks) < 2:
        raise UsageError(f"{said.path}: steps of one rank, so no ranks to compare")
    value = len({row.rank for row in said.slow_ranks})
    where = [f"rank {row.rank}, {_cause(row)}" for row in said.slow_ranks]
    return Outcome(value <= limit, "slow ranks", value, limit, "", note="; ".join(where))


HISTORY_LIMITS: dict[str, Callable[[History, float], Outcome]] = {
    "max_slow_steps_percent": slow_steps_percent,
    "max_slow_ranks": slow_ranks,
}
"""Limits of a watched training, by the names of their options."""


def tests(said: History, limits: Mapping[str, float]) -> Iterator[Callable[[], Outcome]]:
    """Yield what checks each limit."""
    for name, limit in limits.items():
        yield partial(HISTORY_LIMITS[name], said, limit)


def _cause(row: Cause | SlowRank) -> str:
    return row.part if row.block is None else f"{row.part} of {module_label(row.block)}"
