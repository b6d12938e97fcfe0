"""Values read back inside the optimizer's step: step counters or learning rates on the device."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Rule
from tb_hookview.schema import Phase


def _explains(context: Context) -> Bool:
    syncs = context.syncs
    updating = lookup(context.analysis.phases.row, syncs.row) == Phase.OPTIMIZER
    in_step = syncs.inside_matching(r"Optimizer\.step#.*")
    return np.asarray(syncs.reads_value & in_step & updating)


RULE = Rule(
    id="sync-optimizer-scalar-state",
    family="sync",
    title="Optimizer.step reads values from the device",
    description="aten::item inside Optimizer.step, and not in the forward or backward of a "
    "closure.",
    fix="Keep step counters on the CPU (the default), or pass capturable=True or fused=True so "
    'that they stay on the device. After loading a checkpoint check state["step"].device. Do not '
    "pass a learning rate that is a CUDA tensor unless capturable.",
    reference="torch.optim documentation: capturable, fused, foreach",
    confidence="medium",
    explains=_explains,
)
