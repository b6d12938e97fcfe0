"""Gradients of embeddings that are, or are made, dense, where the model runs on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import Inputs, inputs_of, units, with_inputs
from tb_hookview.schema import Phase

_SHARE = 0.03
_BACKWARD = ("aten::embedding_dense_backward", "aten::_embedding_bag_dense_backward")
_SPARSE = ("aten::embedding_sparse_backward", "aten::_embedding_bag_sparse_backward")
_KEEP = (
    "Leave the gradient sparse: no to_dense(), and SGD without weight decay, Adagrad or SparseAdam "
    "for the embedding's weight. clip_grad_norm_ takes dense gradients alone: scale what "
    "grad.coalesce().values() holds."
)
_FILLS = ("aten::zeros", "aten::zero_", "aten::fill_")
_FILLING = 0.15
"""Part of its time in which such an operator fills zeros, from which on few rows are used."""
_CAVEAT = (
    "The optimizer then reads and writes every row, too, which is not in the figures: with sparse "
    "gradients it skips what no index names."
)


def _find(context: Context) -> Iterator[Occurrence]:
    yield from _made_dense(context)
    yield from _filled(context)


def _made_dense(context: Context) -> Iterator[Occurrence]:
    """Yield an occurrence for sparse gradients made dense, and for the updates of every row."""
    sparse = context.rows.named(*_SPARSE) & context.rows.counted
    dense = context.rows.named("aten::to_dense") & context.rows.counted
    if not (context.on_host and sparse.any() and dense.any()):
        return
    shapes, _ = inputs_of(context, np.flatnonzero(dense))
    tables = [call[0][0] for call in shapes if call]
    part, updates = _updates(context, tables)
    made, updated = context.rows.host_us(dense), context.rows.host_us(updates)
    if made + updated <= _SHARE * context.steps.duration_us:
        return
    yield Occurrence(
        place="aten::to_dense of its gradient",
        module=context.rows.common_module(np.flatnonzero(sparse)),
        evidence=f"aten::to_dense takes {context.us_text(made)}"
        + (f", the update of every row {format_us(updated * part)}" if shapes else ""),
        count=int(np.count_nonzero(dense)),
        host=context.rows.host_time(dense | updates),
        saved=(made + updated * part) / (made + updated),
        examples=context.call_tree.start[dense],
        caveats=() if shapes else (_CAVEAT,),
        title="A sparse gradient is made dense",
        fix=_KEEP,
    )


def _updates(context: Context, tables: list[list[Any]]) -> tuple[float, Bool]:
    """Operators of the optimizer that update some tables, and the part of their elements."""
    stepping = (context.analysis.phases.row == Phase.OPTIMIZER) & units(context)
    rows = with_inputs(context, stepping, lambda call: any(e in tables for e in _tensors(call)))
    calls, _ = inputs_of(context, np.flatnonzero(rows))
    sizes = [[prod(shape) * (shape in tables or -1) for shape in _tensors(call)] for call in calls]
    mine = sum(size for call in sizes for size in call if size > 0)
    return mine / max(sum(abs(size) for call in sizes for size in call), 1), rows


def _tensors(call: Inputs) -> list[list[int]]:
    """Shapes of the first input: a tensor, or a list of them."""
    first: list[Any] = call[0][0] if call else []
    return first if first and isinstance(first[0], list) else [first]


def _filled(context: Context) -> Iterator[Occurrence]:
    backward = context.rows.named(*_BACKWARD) & context.rows.counted
    if not (context.on_host and backward.any()):
        return
    fills = context.rows.inside(backward) & context.rows.named(*_FILLS)
    modules = context.analysis.attribution.row_module
    for module in unique(modules[backward]).tolist():
        mine, filling = backward & (modules == module), fills & (modules == module)
        held, filled = context.rows.host_us(mine), context.rows.host_us(filling)
        if filled < _FILLING * held or held <= _SHARE * context.steps.duration_us:
            continue
        rows = np.flatnonzero(mine)
        yield Occurrence(
            place="the gradient of its weight",
            module=module,
            evidence=f"{format_count(len(rows), 'gradient')} in {context.steps.text} take "
            f"{context.us_text(held)}, {filled / held:.0%} of it to fill zeros",
            count=len(rows),
            host=context.rows.host_time(mine),
            examples=context.call_tree.start[rows],
            caveats=(_CAVEAT,),
        )


RULE = Rule(
    id="dense-embedding-gradient",
    family="optimizer",
    title="The gradient of an embedding is dense and mostly zeros",
    description="Where the model runs on the CPU: aten::embedding_dense_backward takes over 3% of "
    "a step, and 15% of that or more to fill zeros. Or the gradients are sparse, and "
    "aten::to_dense with the updates of the whole weight (by recorded shapes) takes as much.",
    fix="Pass sparse=True to nn.Embedding, and give its weight to an optimizer that takes sparse "
    "gradients: SGD without weight decay, Adagrad or SparseAdam.",
    reference="torch.nn.Embedding, sparse; torch.optim.SparseAdam",
    find=_find,
)
