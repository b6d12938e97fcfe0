"""`nonzero` and its kin: the shape of the result depends on values."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_CONDITIONAL = (
    "The gain is conditional: shapes kept fixed compute more, which can cost more than the wait "
    "on small inputs; measure again after compiling and batching.",
)


def _waits(context: Context) -> Bool:
    return context.waits.inside("aten::nonzero", "aten::argwhere", "aten::nonzero_numpy")


def _match(context: Context) -> Iterator[Occurrence]:
    return by_place(context, context.explained_by(RULE), caveats=_CONDITIONAL)


RULE = Rule(
    id="sync-nonzero-variable-shape",
    family="sync",
    title="The shape of a result depends on values on the device",
    matches="A wait in aten::nonzero, argwhere or nonzero_numpy that no index by a mask asked for.",
    fix="Keep shapes fixed: torch.where with a mask, count_nonzero for counts, topk or argsort on "
    "masked scores for selection, padding with a validity mask, nonzero_static(size=...) where a "
    "bound is known.",
    reference="torch.nonzero_static; NVIDIA, Writing Sync-Free Code: dynamic shapes",
    waits=_waits,
    match=_match,
)
