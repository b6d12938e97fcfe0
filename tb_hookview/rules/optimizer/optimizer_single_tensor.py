"""The optimizer updates one parameter after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import units
from tb_hookview.schema import Phase

_UPDATED = ("add", "addcdiv", "addcmul", "mul", "div", "sqrt", "lerp", "sub", "maximum", "copy")
_UPDATES = tuple(f"aten::{name}{in_place}" for name in _UPDATED for in_place in ("", "_"))
_GROUPED = r"^aten::_(foreach|fused)_|multi_tensor|^fbgemm::"
_FUSED = r"^aten::_fused_|^fbgemm::"
_FUSE = (
    "Pass fused=True to the optimizer (Adam, AdamW, SGD, Adagrad): it updates a parameter in one "
    "pass. foreach=True loops over the parameters on the CPU."
)
_PASSES = (
    "The gain takes a fused update to last as long as two of the operators that it replaces, on "
    "average: the update, and the counters of steps. Python between operators is taken to stay."
)
_SHARE = 0.03
"""Part of a step from which on Optimizer.step counts on the CPU."""
_MANY = 20
"""Updates a step; a model of a few parameters has nothing to group."""


def _find(context: Context) -> Iterator[Occurrence]:
    stepping = context.rows.beginning("Optimizer.step#") & context.rows.counted
    if not stepping.any():
        return
    inside = context.rows.inside(stepping) & (context.analysis.phases.row == Phase.OPTIMIZER)
    if context.on_host:
        yield from _on_host(context, stepping, inside)
        return
    if (inside & context.rows.matching(_GROUPED)).any():
        return
    work = context.device_events.launched_by(inside) & context.device_events.counted
    updates = context.rows.inside(inside & context.rows.named(*_UPDATES))
    updates = context.device_events.launched_by(updates) & context.device_events.counted
    count, whole = int(np.count_nonzero(updates)), int(np.count_nonzero(work))
    if not count or count < _MANY * len(context.steps) or 2 * count < whole:
        return
    span = intervals.of(context.call_tree.start[stepping], context.call_tree.end[stepping])
    yield Occurrence(
        place="Optimizer.step",
        everywhere=True,
        evidence=f"{whole / len(context.steps):.0f} kernels{context.each} by operators on single "
        "tensors, "
        "none by operators on lists; the host spends "
        f"{context.us_text(context.steps.us_per_step(intervals.length(span)))} in Optimizer.step, "
        f"the device {format_us(context.device_events.us_per_step(work))} on it",
        count=count,
        gaps=context.gaps.at(inside, Cause.LAUNCH),
        examples=context.device_events.starts(updates),
        latent="the device does not idle because of it in this trace; a fused optimizer passes "
        "over each parameter once instead of several times",
    )


def _on_host(context: Context, stepping: Bool, inside: Bool) -> Iterator[Occurrence]:
    """Yield an occurrence where the CPU runs an operator per parameter and part of the update.

    So do operators on lists, which loop over them on the CPU.
    """
    if (inside & context.rows.matching(_FUSED)).any():
        return
    updates = inside & context.rows.named(*_UPDATES)
    counts = np.bincount(context.host.string[updates])
    each_step = counts[counts >= _MANY * len(context.steps)]
    held = context.rows.host_us(stepping)
    if not len(each_step) or held <= _SHARE * context.steps.duration_us:
        return
    passes = each_step.sum() / each_step.min()
    yield Occurrence(
        place="Optimizer.step",
        everywhere=True,
        evidence=f"{each_step.sum() / len(context.steps):.0f} operators{context.each} on single "
        f"tensors, about {passes:.0f} for each parameter, none that does a whole update; "
        f"Optimizer.step takes {context.us_text(held)}, "
        f"{held / context.steps.duration_us:.0%} of it",
        count=int(each_step.sum()),
        host=context.rows.host_time(inside & units(context)),
        saved=max(0.0, 1 - 2 / passes),
        examples=context.call_tree.start[stepping],
        confidence="medium",
        caveats=(_PASSES,),
        fix=_FUSE,
    )


RULE = Rule(
    id="optimizer-single-tensor",
    family="optimizer",
    title="The optimizer updates parameters one by one",
    description="At least 20 kernels per step in Optimizer.step, most of them by aten::add_, mul_, "
    "addcdiv_, sqrt and the like, and no aten::_foreach_*, aten::_fused_* or multi-tensor kernel. "
    "Where the model runs on the CPU at least 20 such operators, none of them fused, and over 3% "
    "of a step in Optimizer.step.",
    fix="Pass fused=True, or foreach=True, to the optimizer, and keep few parameter groups. Put an "
    "optimizer of your own on torch._foreach_* functions, or compile its step.",
    reference="torch.optim documentation: foreach, fused; pattern matcher OptimizerSingleTensor",
    find=_find,
)
