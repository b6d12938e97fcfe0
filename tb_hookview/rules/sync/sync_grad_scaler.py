"""GradScaler asks the device whether any gradient overflowed before it lets the optimizer step."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Rule

_CHECK = "aten::_amp_foreach_non_finite_check_and_unscale_"
_UPDATE = "aten::_amp_update_scale_"
_READS = ("aten::item", "aten::_local_scalar_dense")
_MOVES = ("aten::to", "aten::_to_copy")


def _explains(context: Context) -> Bool:
    """The last read between a check and its step, or the update if skipped.

    A read after the update is left to others: it may be of the scale, and is as often of the loss.
    """
    syncs = context.syncs
    read = syncs.outermost("|".join(_READS))
    decided = syncs.after(read, *_MOVES)
    decides = syncs.named(decided, _UPDATE)
    names = syncs.names(decided)
    decides |= np.array([name.startswith("Optimizer.step#") for name in names], bool)
    return np.asarray((read >= 0) & decides & _checked(context))


def _checked(context: Context) -> Bool:
    """Syncs that have had a check since their thread's last step of an optimizer."""
    syncs, call_tree = context.syncs, context.call_tree
    check = syncs.last_before(context.rows.named(_CHECK))
    step = syncs.last_before(context.rows.beginning("Optimizer.step#"))
    return (check >= 0) & (lookup(call_tree.start, check) > lookup(call_tree.start, step))


RULE = Rule(
    id="sync-grad-scaler",
    family="sync",
    title="GradScaler syncs to check for overflowed gradients",
    description="The last aten::item between aten::_amp_foreach_non_finite_check_and_unscale_ and "
    "Optimizer.step, or aten::_amp_update_scale_ where the step is skipped.",
    fix="Train in bf16, which needs no scaler, or use a fused=True optimizer, which takes the "
    "overflow flag and the scale as device tensors. Do not call get_scale() every step.",
    reference="PyTorch issue 80167; accelerate issue 1714",
    explains=_explains,
)
