"""Gradients are filled with zeros instead of dropped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_SUMS = ("aten::add", "aten::add_")
_SINK = "AccumulateGrad"


def _match(context: Context) -> Iterator[Occurrence]:
    zeroing = context.beginning("Optimizer.zero_grad#")
    if not zeroing.any():
        return
    inside = context.inside(zeroing)
    zeros = inside & context.inside(context.named("aten::zero_", "aten::_foreach_zero_"))
    fills = context.work_launched(zeros) & context.work
    if not fills.any():
        return
    adding = context.inside(context.holding(_SINK)) & context.named(*_SUMS)
    adds = context.work_launched(context.inside(adding)) & context.work
    filled, added = int(np.count_nonzero(fills)), int(np.count_nonzero(adds))
    # With gradients summed over several backward passes only the first sum of each is in vain.
    share = min(1.0, filled / added) if added else 0.0
    wasted, duration = np.flatnonzero(fills | adds), context.analysis.device_events.duration
    time = np.where(fills[wasted], 1.0, share) * duration[wasted]
    yield Occurrence(
        place="Optimizer.zero_grad",
        everywhere=True,
        evidence=f"{filled / len(context.steps):.0f} fills a step take "
        f"{context.device_us(fills):.1f} us, adding to those zeros in the backward "
        f"{context.device_us(adds) * share:.1f} us",
        count=filled,
        gaps=context.gaps_at(zeros, Cause.LAUNCH),
        wasted=wasted,
        wasted_ns=time.astype(np.int64),
        examples=context.work_starts(fills),
    )


RULE = Rule(
    id="zero-grad-fill",
    family="optimizer",
    title="Gradients are filled with zeros",
    matches="Device work of aten::zero_ or aten::_foreach_zero_ inside Optimizer.zero_grad. "
    "Additions in AccumulateGrad are counted with it, as many as there are fills.",
    fix="Call zero_grad(set_to_none=True), the default since torch 2.0. With "
    "DistributedDataParallel also pass gradient_as_bucket_view=True.",
    reference="PyTorch, Performance Tuning Guide; pattern matcher GradNotSetToNone",
    match=_match,
)
