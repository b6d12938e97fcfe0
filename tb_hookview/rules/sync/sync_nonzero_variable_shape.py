"""`nonzero` and similar: the shape of the result depends on values."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_CONDITIONAL = (
    "The gain is conditional: fixed shapes compute more, which can cost more than the sync "
    "on small inputs; measure again after compiling and batching.",
)


def _explains(context: Context) -> Bool:
    return context.syncs.inside("aten::nonzero", "aten::argwhere", "aten::nonzero_numpy")


def _find(context: Context) -> Iterator[Occurrence]:
    return by_place(context, context.explained_by(RULE), caveats=_CONDITIONAL)


RULE = Rule(
    id="sync-nonzero-variable-shape",
    family="sync",
    title="Output shape depends on values on the device (nonzero)",
    description="A sync in aten::nonzero, argwhere or nonzero_numpy outside of indexing by a mask.",
    fix="Keep shapes fixed: torch.where with a mask, count_nonzero for counts, topk or argsort on "
    "masked scores for selection, padding with a validity mask, nonzero_static(size=...) where a "
    "bound is known.",
    reference="torch.nonzero_static; NVIDIA, Writing Sync-Free Code: dynamic shapes",
    explains=_explains,
    find=_find,
)
