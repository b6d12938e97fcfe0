"""One value read back to Python: `loss.item()`, `float(t)`, `print(t)`."""

from __future__ import annotations

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Rule


def _explains(context: Context) -> Bool:
    return context.syncs.reads_value | context.syncs.prints


RULE = Rule(
    id="sync-scalar-item",
    family="sync",
    title="A scalar is read back to the host",
    description="A sync in aten::item or aten::_local_scalar_dense that no rule of higher priority "
    "explains, or in the aten::masked_select by which print() formats a tensor.",
    fix="Keep metrics as detached tensors on the device and read them once every k steps, which "
    "keeps 1/k of the cost. Stack several values and copy them once. To log, copy into pinned "
    "memory with non_blocking=True and read it a step later. Print outside of the loop.",
    reference="PyTorch Performance Tuning Guide: avoid unnecessary CPU-GPU synchronization",
    explains=_explains,
)
