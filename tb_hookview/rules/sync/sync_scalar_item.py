"""One value read back to Python: `loss.item()`, `float(t)`, `print(t)`."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.copies import SIZES, Purpose, purposes

_INSTEAD = {
    Purpose.METRIC: ("", ""),
    Purpose.SIZE: ("as sizes, splits and indices are read", SIZES),
    Purpose.FLAG: (
        "each tests a tensor",
        "Replace the test by torch.where or a mask, or by torch._assert_async if it is a check. "
        "Where the answer is the same in every step, ask once.",
    ),
    Purpose.NORM: (
        "each right after a norm",
        "Take all norms at once on the device (torch.nn.utils.get_total_norm, torch._foreach_norm) "
        "and leave the total there: clip by it with clip_grads_with_norm_, and read it every k "
        "steps.",
    ),
    Purpose.SCALE: (
        "each right after GradScaler.update(): of the scale or of the loss",
        "Do not call GradScaler.get_scale() in every step. Keep the loss as a detached tensor on "
        "the device, and read both once every k steps, which keeps 1/k of the cost.",
    ),
    Purpose.PRINT: ("each formats a tensor, as print() does", "Print outside of the loop."),
}
"""What the evidence says of a read, and the remedy, where it is not the rule's."""


def _explains(context: Context) -> Bool:
    return context.syncs.reads_value | context.syncs.prints


def _find(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(RULE)
    if not explained.any():
        return
    purpose = purposes(context)
    for each, (note, fix) in _INSTEAD.items():
        yield from by_place(context, explained & (purpose == each), note=note, fix=fix)


RULE = Rule(
    id="sync-scalar-item",
    family="sync",
    title="A scalar is read back to the host",
    description="A sync in aten::item or aten::_local_scalar_dense that no rule of higher priority "
    "explains, or in the aten::masked_select by which print() formats a tensor. The fix is that of "
    "what the value seems to be for: a metric, a size, a test, a norm, the scale of a loss.",
    fix="Keep metrics as detached tensors on the device and read them once every k steps, which "
    "keeps 1/k of the cost. Stack several values and copy them once. To log, copy into pinned "
    "memory with non_blocking=True and read it a step later. Print outside of the loop.",
    reference="PyTorch Performance Tuning Guide: avoid unnecessary CPU-GPU synchronization",
    explains=_explains,
    find=_find,
)
