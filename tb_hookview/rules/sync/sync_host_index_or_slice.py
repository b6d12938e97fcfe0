"""Indices from the host, and bounds of slices from the device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.engine.syncs import Direction

_INDEXING = ("aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_")
_SLICES = ("aten::slice", "aten::select", "aten::narrow")
_READS = ("aten::item", "aten::_local_scalar_dense")
_INDICES = "Create index tensors on the device once and reuse them, by index_select or gather."
_LENGTHS = (
    "Keep lengths as Python numbers from the data pipeline on. Replace slices whose bound is on "
    "the device by masks."
)
_AT_ONCE_NS = 10_000
"""Time after a read of a bound within which torch slices; Python takes longer."""


def _explains(context: Context) -> Bool:
    return _uploads(context) | _bounds(context)


def _uploads(context: Context) -> Bool:
    syncs = context.syncs
    copied = syncs.inside("aten::to", "aten::_to_copy", "aten::copy_")
    upload = copied & (syncs.direction != Direction.TO_HOST) & ~syncs.reads_value
    return np.asarray(upload & syncs.inside(*_INDEXING))


def _bounds(context: Context) -> Bool:
    """Values read in a module's call, if any, and sliced by at once."""
    syncs, call_tree = context.syncs, context.call_tree
    read = syncs.outermost("|".join(_READS))
    following = syncs.after(read, *_READS)
    soon = lookup(call_tree.start, following) - lookup(call_tree.end, read) <= _AT_ONCE_NS
    module = context.analysis.attribution.row_module[syncs.row]
    in_model = (module >= 0) | (len(context.analysis.modules) == 0)
    return np.asarray((read >= 0) & syncs.named(following, *_SLICES) & soon & in_model)


def _find(context: Context) -> Iterator[Occurrence]:
    explained, uploads = context.explained_by(RULE), _uploads(context)
    yield from by_place(
        context, explained & uploads, note="an index is copied to the device", fix=_INDICES
    )
    yield from by_place(
        context,
        explained & ~uploads,
        note="each followed at once by a slice or select, as when the value is its bound",
        confidence="medium",
        fix=_LENGTHS,
    )


RULE = Rule(
    id="sync-host-index-or-slice",
    family="sync",
    title="Host tensor used as an index, or device scalar as a slice bound",
    description="A blocking copy to the device inside aten::index or aten::index_put_; or "
    "aten::item inside a module with aten::slice, select or narrow right after it.",
    fix=f"{_INDICES} {_LENGTHS}",
    reference="NVIDIA, CUDA Graphs: quick checklist",
    explains=_explains,
    find=_find,
)
