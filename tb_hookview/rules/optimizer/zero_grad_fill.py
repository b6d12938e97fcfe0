"""Gradients are filled with zeros instead of dropped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_SUMS = ("aten::add", "aten::add_")
_SINK = "AccumulateGrad"
_SHARE = 0.02
"""Part of a step from which on this counts on the CPU."""


def _find(context: Context) -> Iterator[Occurrence]:
    zeroing = context.rows.beginning("Optimizer.zero_grad#")
    if not zeroing.any():
        return
    inside = context.rows.inside(zeroing)
    zeros = inside & context.rows.inside(context.rows.named("aten::zero_", "aten::_foreach_zero_"))
    fills = context.device_events.launched_by(zeros) & context.device_events.counted
    if context.on_host:
        yield from _on_host(context, zeros)
    if not fills.any():
        return
    adding = context.rows.inside(context.rows.containing(_SINK)) & context.rows.named(*_SUMS)
    adds = (
        context.device_events.launched_by(context.rows.inside(adding))
        & context.device_events.counted
    )
    filled, added = int(np.count_nonzero(fills)), int(np.count_nonzero(adds))
    # With gradients summed over several backward passes only the first sum of each is in vain.
    share = min(1.0, filled / added) if added else 0.0
    wasted, duration = np.flatnonzero(fills | adds), context.analysis.device_events.duration
    time = np.where(fills[wasted], 1.0, share) * duration[wasted]
    yield Occurrence(
        place="Optimizer.zero_grad",
        everywhere=True,
        evidence=f"{format_count(filled / len(context.steps), 'fill')}{context.each} take "
        f"{format_us(context.device_events.us_per_step(fills))}, adding to those zeros in the "
        f"backward {format_us(context.device_events.us_per_step(adds) * share)}",
        count=filled,
        gaps=context.gaps.at(zeros, Cause.LAUNCH),
        wasted=wasted,
        wasted_ns=time.astype(np.int64),
        examples=context.device_events.starts(fills),
    )


def _on_host(context: Context, zeros: Bool) -> Iterator[Occurrence]:
    """Yield an occurrence where the CPU fills gradients, and adds to them in the backward."""
    filling = zeros & context.rows.named("aten::zero_", "aten::_foreach_zero_")
    adding = context.rows.inside(context.rows.containing(_SINK)) & context.rows.named("aten::add_")
    filled = int(np.count_nonzero(filling & context.rows.counted))
    added = np.flatnonzero(adding & context.rows.counted)
    adding[added[filled:]] = False  # a sum for each fill; further backwards add to what is there
    fill, add = context.rows.host_us(filling), context.rows.host_us(adding)
    if fill + add > _SHARE * context.steps.duration_us:
        yield Occurrence(
            place="Optimizer.zero_grad",
            everywhere=True,
            evidence=f"{format_count(filled / len(context.steps), 'fill')}{context.each} take "
            f"{format_us(fill)}, adding to those zeros in the backward {format_us(add)}",
            count=filled,
            host=context.rows.host_time(filling | adding),
            examples=context.call_tree.start[filling],
        )


RULE = Rule(
    id="zero-grad-fill",
    family="optimizer",
    title="Gradients are filled with zeros instead of set to None",
    description="Device events of aten::zero_ or aten::_foreach_zero_ inside Optimizer.zero_grad. "
    "Additions in AccumulateGrad are counted with it, as many as there are fills. Where the model "
    "runs on the CPU those operators themselves, over 2% of a step.",
    fix="Call zero_grad(set_to_none=True), the default since torch 2.0. With "
    "DistributedDataParallel also pass gradient_as_bucket_view=True.",
    reference="PyTorch, Performance Tuning Guide; pattern matcher GradNotSetToNone",
    find=_find,
)
