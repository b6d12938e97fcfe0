"""A convolution adds a bias that the batch norm after it subtracts again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import asof
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_CONVOLUTION = ("aten::conv1d", "aten::conv2d", "aten::conv3d")
_ADDED = ("aten::add", "aten::add_")


def _find(context: Context) -> Iterator[Occurrence]:
    if not context.rows.named("aten::batch_norm").any():
        return
    adding = _biases(context)
    rows = np.flatnonzero(adding)
    work = (
        context.device_events.launched_by(context.rows.inside(adding))
        & context.device_events.counted
    )
    if not work.any():
        return
    module = context.rows.common_module(rows)
    yield Occurrence(
        place="convolution and batch norm",
        module=module,
        everywhere=module is None,
        evidence=f"{format_count(len(rows), 'time')} a bias is added and a batch norm follows, "
        f"{context.us_text(context.device_events.us_per_step(work))} for adding alone; its "
        "gradient is not in this figure",
        count=len(rows),
        wasted=np.flatnonzero(work),
        examples=context.device_events.starts(work),
    )


def _biases(context: Context) -> Bool:
    """Rows that add the bias of a convolution which a batch norm follows."""
    normed = np.zeros(len(context.call_tree), bool)
    outer = np.flatnonzero(context.rows.named(*_CONVOLUTION) & context.rows.counted)
    normed[outer] = context.rows.named("aten::batch_norm")[_following(context, outer)]
    parent = context.call_tree.parent
    adds = context.rows.named(*_ADDED) & (parent >= 0) & context.rows.inside(normed)
    return np.asarray(adds & context.rows.named("aten::_convolution")[parent])


def _following(context: Context, rows: TreeRow) -> TreeRow:
    """First operator after each row on its thread, the outermost one of that start.

    The counter of batches that a batch norm raises before all else is passed over. A row that
    nothing follows gets itself.
    """
    call_tree = context.call_tree
    operators = np.flatnonzero(context.rows.beginning("aten::") & ~context.rows.named(*_ADDED))[
        ::-1
    ]
    found = asof(
        call_tree.thread[operators],
        -call_tree.start[operators],
        call_tree.thread[rows],
        -call_tree.end[rows],
    )
    return np.where(found >= 0, lookup(operators, found), rows)


RULE = Rule(
    id="conv-bias-before-bn",
    family="kernels",
    title="Convolution bias before batch norm has no effect",
    description="aten::_convolution adds a bias in a separate kernel, and the next operator is "
    "aten::batch_norm.",
    fix="Create convolutions that feed a batch norm with bias=False.",
    reference="PyTorch, Performance Tuning Guide: disable bias for convolutions before batch norm",
    find=_find,
)
