"""Attention computed by its parts: scores, softmax, and a second product."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.trace import EventCategory

_PRODUCTS = ("aten::matmul", "aten::bmm", "aten::baddbmm", "aten::einsum")
_SOFTMAX = ("aten::softmax", "aten::_softmax")
_BETWEEN = tuple(
    f"aten::{name}{in_place}"
    for name in (
        *("mul", "div", "add", "sub", "true_divide", "masked_fill", "where", "dropout"),
        *("native_dropout", "baddbmm", "expand", "to", "_to_copy", "float", "type_as", "clone"),
        *("contiguous", "view", "_unsafe_view", "reshape", "transpose", "permute", "unsqueeze"),
        *("squeeze", "slice", "alias", "tril", "triu", "eq", "lt", "logical_not", "bitwise_not"),
        "t",
    )
    for in_place in ("", "_")
)
_REACH = 8
"""Operators between the softmax and a product: scale, mask, dropout, cast."""


def _find(context: Context) -> Iterator[Occurrence]:
    chains = list(_chains(context))
    if not chains:
        return
    chosen = np.zeros(len(context.call_tree), bool)
    chosen[np.concatenate(chains)] = True
    inside = context.device_events.launched_by(context.rows.inside(chosen))
    between = inside & ~context.device_events.of_kinds("matrix") & context.device_events.counted
    module = context.rows.common_module(np.concatenate(chains))
    yield Occurrence(
        place="aten::softmax",
        module=module,
        everywhere=module is None,
        evidence=f"{format_count(len(chains), 'time')} a product, a softmax and a product in a "
        f"row, {format_us(context.device_events.us_per_step(inside))} a step; all but the products "
        f"take {format_us(context.device_events.us_per_step(between))} of it, in the forward alone",
        count=len(chains),
        wasted=np.flatnonzero(between),
        examples=context.call_tree.start[[chain[0] for chain in chains]],
        caveats=("The backward of these operators is not in the figures.",),
    )


def _chains(context: Context) -> Iterator[TreeRow]:
    """Call tree rows of each chain, from the first product to the last."""
    row = _outermost(context) if context.rows.named(*_SOFTMAX).any() else np.zeros(0, np.int64)
    if not len(row):
        return
    product = context.rows.named(*_PRODUCTS)[row] & _batched(context)[row]
    softmax, between = context.rows.named(*_SOFTMAX)[row], context.rows.named(*_BETWEEN)[row]
    place = np.flatnonzero(softmax)
    first, last = _reach(place, -1, product, between), _reach(place, 1, product, between)
    thread = context.call_tree.thread[row]
    whole = (first >= 0) & (last >= 0)
    whole &= thread[first] == thread[last]
    for i in np.flatnonzero(whole).tolist():
        yield row[first[i] : last[i] + 1]


def _outermost(context: Context) -> TreeRow:
    """Operators of torch that lie in no other, in the steps that count."""
    operator = (
        context.rows.beginning("aten::")
        & (context.host.kind == EventCategory.OPERATOR)
        & context.rows.counted
    )
    row = np.flatnonzero(operator)
    around = context.rows.operator_of(row)
    if len(row):
        row = row[(around < 0) | ~context.rows.beginning("aten::")[around]]
    return row


def _batched(context: Context) -> Bool:
    """Rows around a product of batches of matrices, as those of attention are."""
    rows = np.flatnonzero(context.rows.named("aten::bmm", "aten::baddbmm"))
    found = np.zeros(len(context.call_tree), bool)
    while len(rows):
        found[rows] = True
        rows = unique(context.call_tree.parent[rows])
        rows = rows[rows >= 0]
    return found


def _reach(place: Int, step: int, product: Bool, between: Bool) -> Int:
    """First product on one side of each softmax, only `between` on the way; or -1."""
    found = np.full(len(place), -1, np.int64)
    open_ = np.ones(len(place), bool)
    for distance in range(1, _REACH + 1):
        at = place + step * distance
        open_ &= (at >= 0) & (at < len(product))
        here = np.where(open_, at, 0)
        hit = open_ & product[here]
        found[hit] = here[hit]
        open_ &= ~hit & between[here]
    return found


RULE = Rule(
    id="attention-unfused",
    family="kernels",
    title="Attention runs as separate matrix products and softmax",
    description="A batched matrix product, a softmax and a batched product in a row, with nothing "
    "but scaling, masks, casts and dropout between them; inside scaled_dot_product_attention as "
    "well, where it falls back to its own parts.",
    fix="Call torch.nn.functional.scaled_dot_product_attention, in float16 or bfloat16, with a "
    "head size that is supported, and is_causal=True instead of a dense mask. Use FlexAttention "
    "for masks of your own.",
    reference="PyTorch, scaled_dot_product_attention tutorial",
    find=_find,
)
