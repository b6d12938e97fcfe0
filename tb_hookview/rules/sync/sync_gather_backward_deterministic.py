"""The backward of `torch.gather` under deterministic algorithms copies strides from the host.

Up to torch 2.8. Later versions call `index_put_` with indices that are made on the device.
"""

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
    "aten::gather_backward: torch before 2.9 with deterministic algorithms.",
    fix="Update to torch 2.9, which makes the indices on the device. Else select by indexing the "
    "flattened tensor (row offset plus index, then reshape) instead of torch.gather, or relax "
    "determinism for this operator. All of these but the last sort in the backward, so measure.",
    reference="torch.use_deterministic_algorithms; PyTorch PR 58761",
    explains=_explains,
)
