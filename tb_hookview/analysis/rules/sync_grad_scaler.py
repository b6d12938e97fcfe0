"""GradScaler asks the device whether any gradient overflowed before it lets the optimizer step."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.forest import lookup
from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Rule
from tb_hookview.trace.columns import Bool

_CHECK = "aten::_amp_foreach_non_finite_check_and_unscale_"
_UPDATE = "aten::_amp_update_scale_"
_READS = ("aten::item", "aten::_local_scalar_dense")


def _waits(context: Context) -> Bool:
    """Reads with the check right before them, or between the check and the step it decides on."""
    waits = context.waits
    read = waits.outermost("|".join(_READS))
    before, after = waits.before(read, *_READS), waits.after(read, *_READS)
    decides = waits.named(after, _UPDATE)
    decides |= [name.startswith("Optimizer.step#") for name in waits.names(after)]
    asked = waits.named(before, _CHECK, _UPDATE) | (decides & _checked(context))
    return np.asarray((read >= 0) & ~waits.inside("aten::is_nonzero") & asked)


def _checked(context: Context) -> Bool:
    """Waits that have had a check since their thread's last step of an optimizer."""
    waits, forest = context.waits, context.forest
    check = waits.last_before(context.named(_CHECK))
    step = waits.last_before(context.matching(r"^Optimizer\.step#"))
    return (check >= 0) & (lookup(forest.start, check) > lookup(forest.start, step))


RULE = Rule(
    id="sync-grad-scaler",
    family="sync",
    title="GradScaler waits to learn whether gradients overflowed",
    matches="aten::item right after aten::_amp_foreach_non_finite_check_and_unscale_ or "
    "aten::_amp_update_scale_, or between that check and Optimizer.step.",
    fix="Train in bf16, which needs no scaler, or use a fused=True optimizer, which takes the "
    "overflow flag and the scale as device tensors. Do not call get_scale() every step.",
    reference="PyTorch issue 80167; accelerate issue 1714",
    waits=_waits,
)
