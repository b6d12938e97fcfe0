"""The optimizer updates one parameter after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.schema import Phase

_UPDATED = ("add", "addcdiv", "addcmul", "mul", "div", "sqrt", "lerp", "sub", "maximum", "copy")
_UPDATES = tuple(f"aten::{name}{in_place}" for name in _UPDATED for in_place in ("", "_"))
_GROUPED = r"^aten::_(foreach|fused)_|multi_tensor|^fbgemm::"
_MANY = 20
"""Updates a step; a model of a few parameters has nothing to group."""


def _match(context: Context) -> Iterator[Occurrence]:
    stepping = context.beginning("Optimizer.step#") & context.rows
    if not stepping.any():
        return
    inside = context.inside(stepping) & (context.analysis.phases.row == Phase.OPTIMIZER)
    if (inside & context.matching(_GROUPED)).any():
        return
    work = context.work_launched(inside) & context.work
    updates = context.inside(inside & context.named(*_UPDATES))
    updates = context.work_launched(updates) & context.work
    count, whole = int(np.count_nonzero(updates)), int(np.count_nonzero(work))
    if not count or count < _MANY * len(context.steps) or 2 * count < whole:
        return
    span = intervals.of(context.call_tree.start[stepping], context.call_tree.end[stepping])
    yield Occurrence(
        place="Optimizer.step",
        everywhere=True,
        evidence=f"{whole / len(context.steps):.0f} kernels a step by operators on single tensors, "
        "none by operators on lists; the host spends "
        f"{context.per_step(intervals.length(span)):.1f} us a step in Optimizer.step, the device "
        f"{context.device_us(work):.1f} us on it",
        count=count,
        gaps=context.gaps_at(inside, Cause.LAUNCH),
        examples=context.work_starts(updates),
        latent="the device does not idle because of it in this trace; a fused optimizer passes "
        "over each parameter once instead of several times",
    )


RULE = Rule(
    id="optimizer-single-tensor",
    family="optimizer",
    title="The optimizer updates parameters one by one",
    matches="At least 20 kernels a step in Optimizer.step, most of them by aten::add_, mul_, "
    "addcdiv_, sqrt and the like, and no aten::_foreach_*, aten::_fused_* or multi-tensor kernel.",
    fix="Pass fused=True, or foreach=True, to the optimizer, and keep few parameter groups. Put an "
    "optimizer of your own on torch._foreach_* functions, or compile its step.",
    reference="torch.optim documentation: foreach, fused; pattern matcher OptimizerSingleTensor",
    match=_match,
)
