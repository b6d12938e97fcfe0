"""One value read back to Python: `loss.item()`, `float(t)`, `print(t)`."""

from __future__ import annotations

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Rule


def _waits(context: Context) -> Bool:
    return context.waits.reads_value | context.waits.prints


RULE = Rule(
    id="sync-scalar-item",
    family="sync",
    title="A single value is read back to the host",
    matches="A wait in aten::item or aten::_local_scalar_dense that no rule before explains, or in "
    "the aten::masked_select by which print() formats a tensor.",
    fix="Keep metrics as detached tensors on the device and read them once every k steps, which "
    "keeps 1/k of the cost. Stack several values and copy them once. To log, copy into pinned "
    "memory with non_blocking=True and read it a step later. Print outside of the loop.",
    reference="PyTorch Performance Tuning Guide: avoid unnecessary CPU-GPU synchronization",
    waits=_waits,
)
