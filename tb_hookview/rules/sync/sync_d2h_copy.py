"""Tensors brought to the host: `.cpu()`, `.numpy()`, `.tolist()`, `torch.save`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.engine.syncs import Direction
from tb_hookview.rules.evidence.copies import SIZES, sizes_copied

_NO_OPERATORS = "the trace has no operators: it may be .item() as well as .cpu()"


def _explains(context: Context) -> Bool:
    syncs = context.syncs
    to_host = syncs.direction == Direction.TO_HOST
    if not syncs.operators_known:
        return np.asarray(to_host)
    return np.asarray(to_host & syncs.inside("aten::copy_", "aten::to", "aten::_to_copy"))


def _find(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(RULE)
    if not explained.any():
        return
    sizes = sizes_copied(context)
    unknown = "" if context.syncs.operators_known else _NO_OPERATORS
    yield from by_place(context, explained & ~sizes, note=unknown)
    note = "where batches are exchanged or split, as of lengths and split sizes"
    yield from by_place(context, explained & sizes, note=note, fix=SIZES)


RULE = Rule(
    id="sync-d2h-copy",
    family="sync",
    title="Blocking copy of a tensor to the host",
    description="A copy from the device to the host in aten::copy_ or aten::to that blocks, or a "
    "synchronize after it in the same operator; without operators in the trace, any such copy. "
    "Integers copied under an annotation about lengths, "
    "splits or an all-to-all have a separate fix.",
    fix="Reduce on the device and move the result only; gather small tensors into one first. Copy "
    "into a pinned buffer with non_blocking=True and use it after an event, never before. Take "
    "checkpoints asynchronously.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory()",
    explains=_explains,
    find=_find,
)
