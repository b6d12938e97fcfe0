"""Means over the measured steps, and in words which steps these are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec.structs import asdict

from tb_hookview import schema
from tb_hookview.analysis.selection import Selection
from tb_hookview.formats import format_count
from tb_hookview.schema.terms import Phase

_MEANS = (
    *("duration_us", "forward_us", "backward_us", "optimizer_us", "data_us", "other_us"),
    *("device_busy_us", "device_idle_us", "communication_wait_us"),
)
"""Fields of steps."""
_SHARES = (
    *("backward_device_us", "forward_device_us", "optimizer_device_us"),
    *("communication_device_us", "unplaced_graph_us"),
)
"""Fields of totals."""

_PASSES = ((Phase.BACKWARD, "a backward pass"), (Phase.OPTIMIZER, "an optimizer step"))
"""What makes steps differ in kind."""


def per_step(
    selection: Selection, rows: Sequence[schema.Step], totals: schema.Totals
) -> schema.PerStep:
    """Average the steps of a selection.

    Args:
        selection: the measured steps.
        rows: their rows in the report.
        totals: sums over them.
    """
    steps = selection.analysis.steps

    def share(total: float | None) -> float | None:
        return None if total is None or not rows else total / len(rows)

    count, blocked = totals.own_syncs() or (None, None)
    return schema.PerStep(
        steps=len(rows),
        of=len(steps.name),
        marked=steps.marked,
        chosen=selection.by_name,
        text=steps_text(selection),
        **{field: _mean([getattr(row, field) for row in rows]) for field in _MEANS},
        **{field: share(getattr(totals, field)) for field in _SHARES},
        idle=mean_idle(rows),
        device_us=share(_whole(totals.device_us_by_kind.values(), rows)),
        device_us_by_kind={
            kind: us / len(rows) for kind, us in totals.device_us_by_kind.items() if rows
        },
        sync_count=share(count),
        sync_blocked_us=share(blocked),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def mean_idle(rows: Sequence[schema.Step]) -> schema.Idle | None:
    """Mean idle time of some steps by cause; None where one of them does not know."""
    known = [asdict(row.idle) for row in rows if row.idle is not None]
    if not known or len(known) < len(rows):
        return None
    means: dict[str, Any] = {cause: _mean([part[cause] for part in known]) for cause in known[0]}
    return schema.Idle(**means)


def _whole(kinds: Iterable[float], rows: Sequence[schema.Step]) -> float | None:
    """Sum over all kinds; None without device events."""
    return None if any(row.device_busy_us is None for row in rows) else sum(kinds)


def steps_text(selection: Selection) -> str:
    """Say which steps a selection is, and why others are left out."""
    steps = selection.analysis.steps
    chosen, total = selection.steps, len(steps.name)
    if not steps.marked:
        return "the whole trace, which marks no steps"
    if total == 1:
        return f"{steps.name[0]}, the only step"
    if selection.by_name:
        named = steps.name[chosen[0]] if len(chosen) == 1 else format_count(len(chosen), "step")
        return f"{named} of {total:,}, as chosen"
    each = f", {steps.each}" if steps.each else ""
    if not steps.counted.any():
        return f"mean of all {total:,} steps{each}; nothing was launched in any of them"
    differ = _differ(selection)
    if len(chosen) == total:
        return f"mean of all {total:,} steps{each}{differ}"
    left_out = " and ".join(_left_out(selection))
    return f"mean of {len(chosen):,} of {total:,} steps{each}; {left_out}{differ}"


def _differ(selection: Selection) -> str:
    """Clause on steps that lack what others have: they evaluate, or accumulate gradients."""
    times, chosen = selection.analysis.step_times, list(selection.steps)
    lacking = [
        f"{none:,} without {what}"
        for phase, what in _PASSES
        if 0 < (none := int(np.count_nonzero(times.phase[phase][chosen] == 0))) < len(chosen)
    ]
    return f"; they differ: {' and '.join(lacking)}" if lacking else ""


def _left_out(selection: Selection) -> list[str]:
    """Reasons for which steps do not count."""
    steps, before = selection.analysis.steps, selection.analysis.step_device_events.before
    warm_up, left = steps.warm_up, int(np.count_nonzero(~steps.counted))
    reasons = []
    if warm_up >= 0:
        held = "holds work launched before it" if before[warm_up] else "warms up"
        reasons.append(f"the first {held}")
    if steps.cut:
        reasons.append("the last has no backward pass")
    if lost := len(steps.lost):
        last = "the last lacks" if lost == 1 else f"the last {lost:,} lack"
        reasons.append(f"{last} device work, which the recording did not wait for")
    if idle := left - (warm_up >= 0) - steps.cut - lost:
        reasons.append(f"{format_count(idle, 'step')} launched nothing")
    return reasons
