"""Indexing by a boolean mask: the number of elements is known on the device only."""

from __future__ import annotations

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Rule

_INDEXING = (
    *("aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_"),
    *("aten::masked_scatter_", "aten::masked_scatter"),
)


def _explains(context: Context) -> Bool:
    syncs = context.syncs
    selected = syncs.inside("aten::masked_select") & ~syncs.prints
    return selected | (syncs.inside("aten::nonzero") & syncs.inside(*_INDEXING))


RULE = Rule(
    id="sync-mask-index",
    family="sync",
    title="Indexing by a boolean mask syncs to count the selected elements",
    description="A sync in aten::nonzero inside aten::index or aten::index_put_, or in "
    "aten::masked_select.",
    fix="Write with a Python number (x[mask] = 0.0 does not sync), masked_fill or torch.where. In "
    "a loss multiply by the mask and divide by mask.sum(), or use ignore_index. If the mask came "
    "from the host, compute the integer indices there once.",
    reference="PyTorch issue 12461: implicit sync points",
    explains=_explains,
)
