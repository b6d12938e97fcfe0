"""Indexing by a boolean mask: how many are chosen is known on the device only."""

from __future__ import annotations

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Rule

_INDEXING = (
    *("aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_"),
    *("aten::masked_scatter_", "aten::masked_scatter"),
)


def _waits(context: Context) -> Bool:
    waits = context.waits
    selected = waits.inside("aten::masked_select") & ~waits.prints
    return selected | (waits.inside("aten::nonzero") & waits.inside(*_INDEXING))


RULE = Rule(
    id="sync-mask-index",
    family="sync",
    title="Indexing by a mask waits to learn how many elements it chooses",
    matches="A wait in aten::nonzero inside aten::index or aten::index_put_, or in "
    "aten::masked_select.",
    fix="Write with a Python number (x[mask] = 0.0 needs no wait), masked_fill or torch.where. In "
    "a loss multiply by the mask and divide by mask.sum(), or use ignore_index. If the mask came "
    "from the host, make the integer indices there once.",
    reference="PyTorch issue 12461: implicit sync points",
    waits=_waits,
)
