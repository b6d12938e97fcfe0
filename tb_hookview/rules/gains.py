"""Gains of findings, by replays without their causes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from tb_hookview import schema
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.cost_accounting import Found, severity

if TYPE_CHECKING:
    from tb_hookview.simulation.simulator import Simulator


def with_gains(context: Context, found: Sequence[Found]) -> list[schema.Finding]:
    """Findings with their gains, those that gain most first, those that cost nothing last."""
    if all(each.finding.gain_unknown is not None for each in found):
        rows = [each.finding for each in found]
    else:
        rows = _with_gains(context, found)
    return sorted(rows, key=lambda row: (weight(row), row.cost_us_per_step or 0.0), reverse=True)


def _with_gains(context: Context, found: Sequence[Found]) -> list[schema.Finding]:
    from tb_hookview.simulation.simulator import Simulator

    def replays() -> tuple[Simulator, str | None]:
        simulator = Simulator(context.selection)
        return simulator, simulator.refused

    made = context.failures.attempt("the replay", replays, None)
    if made is None:
        return [_not_replayed(each.finding) for each in found]
    return [
        context.failures.attempt(
            f"the saving of {each.finding.rule}",
            partial(_replayed, each, made[0], context, made[1]),
            _not_replayed(each.finding),
        )
        for each in found
    ]


def _not_replayed(finding: schema.Finding) -> schema.Finding:
    """The finding where its replay fails."""
    if finding.gain_unknown is not None:
        return finding
    return msgspec.structs.replace(finding, gain_unknown="the replay failed on this trace")


def weight(finding: schema.Finding) -> float:
    """What a finding is ranked by, microseconds a step: its gain, where unknown its cost."""
    gain, cost = finding.gain_us_per_step, finding.cost_us_per_step
    return gain if gain is not None else cost or 0.0


def _replayed(
    found: Found, simulator: Simulator, context: Context, refused: str | None
) -> schema.Finding:
    finding = found.finding
    if finding.gain_unknown is not None:
        return finding
    if refused:
        return msgspec.structs.replace(finding, gain_unknown=f"not replayed: {refused}")
    from tb_hookview.rules.engine.removal import removed

    change = removed(context.analysis, found)
    gain = simulator.gain(change) / 1000
    step = context.steps.duration_us
    # What costs something but gains nothing by itself is no mere remark.
    rank = severity(gain, step) if gain or not finding.cost_us_per_step else "low"
    return msgspec.structs.replace(finding, gain_us_per_step=gain, severity=rank)
