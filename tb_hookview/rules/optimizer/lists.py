"""Updates by operators on lists of tensors, which pass over memory once each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_STEPS = ("Optimizer.step#Adam.step", "Optimizer.step#AdamW.step")
_FEWER = 7 / 18
"""Tensors as large as the parameters that are read or written: a parameter, its gradient and both
moments by a fused update; 3, 2, 3, 2, 2, 2 and 4 by lerp_, mul_, addcmul_, sqrt, div_, add_ and
addcdiv_. An H200 took 361 us for 48 layers with the one, 1025 us with the other."""
_SHARE = 0.03
"""Part of the device work from which on the update counts."""


def _find(context: Context) -> Iterator[Occurrence]:
    stepping = context.rows.named(*_STEPS) & context.rows.counted
    if not stepping.any():
        return
    inside = context.rows.inside(stepping)
    if (inside & context.rows.beginning("aten::_fused_")).any():
        return
    lists = context.rows.inside(inside & context.rows.beginning("aten::_foreach_"))
    work = context.device_events.launched_by(lists) & context.device_events.counted
    share = context.device_events.share(work)
    if share < _SHARE:
        return
    count = np.count_nonzero(work) / len(context.steps)
    yield Occurrence(
        place="Optimizer.step",
        evidence=f"{count:.0f} kernels{context.each} of operators on lists (aten::_foreach_*) take "
        f"{format_us(context.device_events.us_per_step(work))}: {share:.0%} of device work",
        wasted=np.flatnonzero(work),
        saved=1 - _FEWER,
        caveats=(
            "The gain takes these kernels to be limited by memory: a fused update reads and writes "
            "7 tensors as large as the parameters, operators on lists 18.",
        ),
    )


OPTIMIZER_NOT_FUSED = Rule(
    id="optimizer-not-fused",
    family="optimizer",
    title="The optimizer updates by lists, and not by fused kernels",
    description="Kernels of aten::_foreach_* operators in steps of Adam or AdamW take 3% of device "
    "work or more, and no aten::_fused_* operator runs there.",
    fix="Pass fused=True to the optimizer: one kernel updates parameter and moments, and no "
    "temporary tensors as large as the parameters are made.",
    reference="torch.optim documentation: fused",
    confidence="medium",
    find=_find,
)
