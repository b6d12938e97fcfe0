"""The backward of `torch.gather` under deterministic algorithms copies strides from the host."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Rule
from tb_hookview.rules.engine.syncs import Direction


def _explains(context: Context) -> Bool:
    syncs = context.syncs
    in_backward = syncs.inside_matching(
        r"(autograd::engine::evaluate_function: )?Gather\w*Backward\d*|aten::gather_backward"
    )
    upload = syncs.inside("aten::copy_", "aten::_to_copy", "aten::to")
    return np.asarray(in_backward & upload & (syncs.direction != Direction.TO_HOST))


RULE = Rule(
    id="sync-gather-backward-deterministic",
    family="sync",
    title="The backward of gather copies strides from the host (deterministic mode)",
    description="A blocking copy to the device inside the node GatherBackward0, or inside "
    "aten::gather_backward.",
    fix="Select by indexing the flattened tensor (row offset plus index, then reshape) instead of "
    "torch.gather, or relax determinism for this operator. The backward of an index sorts, so "
    "measure both.",
    reference="torch.use_deterministic_algorithms; PyTorch PR 58761",
    explains=_explains,
)
