"""Gradients of embeddings that are mostly zeros, where the model runs on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_SHARE = 0.03
_BACKWARD = ("aten::embedding_dense_backward", "aten::_embedding_bag_dense_backward")
_FILLS = ("aten::zeros", "aten::zero_", "aten::fill_")
_FILLING = 0.15
"""Part of its time in which such an operator fills zeros, from which on few rows are used."""
_CAVEAT = (
    "The optimizer then reads and writes every row, too, which is not in the figures: with sparse "
    "gradients it skips what no index names."
)


def _find(context: Context) -> Iterator[Occurrence]:
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
    "a step, and 15% of that or more to fill zeros.",
    fix="Pass sparse=True to nn.Embedding, and give its weight to an optimizer that takes sparse "
    "gradients: SGD without weight decay, Adagrad or SparseAdam.",
    reference="torch.nn.Embedding, sparse; torch.optim.SparseAdam",
    find=_find,
)
