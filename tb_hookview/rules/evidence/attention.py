"""Attention computed by its parts: scores, softmax, and a second product.

This finds whole chains of operators, forward only: what one fused call replaces, with modules,
shapes and every kernel that the operators launch. Whether a kernel is a softmax of attention,
forward or backward, is its kind, which `analysis/device/unfused_attention.py` decides by kernels.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.trace import EventCategory

_PRODUCTS = ("aten::matmul", "aten::bmm", "aten::baddbmm", "aten::einsum")
_BATCHED = ("aten::bmm", "aten::baddbmm")
"""Products of batches of matrices, as those of attention are."""
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
_FALLS_BACK = ("aten::scaled_dot_product_attention", "aten::_scaled_dot_product_attention_math")
"""Where no fused kernel fits, these run the parts."""
_REACH = 8
"""Operators between the softmax and a product: scale, mask, dropout, cast."""


class Attention(Struct, frozen=True):
    """Chains of a batched product, a softmax and a batched product, in the measured steps.

    Nothing but scaling, masks, casts and dropout lies between them. Rows are of the call tree.
    """

    first: TreeRow
    """Operator of the first product of each chain, shape (c,)."""
    softmax: TreeRow
    """The softmax of each, shape (c,)."""
    last: TreeRow
    """Operator of the second product of each, shape (c,)."""
    rows: Bool
    """Outermost operators of the chains, shape (n,)."""

    def __len__(self) -> int:
        return len(self.first)


def attention(context: Context) -> Attention:
    """Find attention by its parts in a trace."""
    row = np.zeros(0, np.int64)
    if context.rows.named(*_SOFTMAX).any():
        row = _outermost(context)
    if not len(row):
        return Attention(row, row, row, np.zeros(len(context.call_tree), bool))
    place = np.flatnonzero(context.rows.named(*_SOFTMAX)[row])
    product = context.rows.named(*_PRODUCTS)[row] & _around_batched(context)[row]
    between, thread = context.rows.named(*_BETWEEN)[row], context.call_tree.thread[row]
    first, last = _reach(place, -1, product, between), _reach(place, 1, product, between)
    whole = (first >= 0) & (last >= 0) & (thread[first] == thread[last])
    first, last = first[whole], last[whole]
    return Attention(row[first], row[place[whole]], row[last], _covered(context, row, first, last))


def _covered(context: Context, row: TreeRow, first: Int, last: Int) -> Bool:
    """Rows from the first of each chain to its last, both indices into `row`; shape (n,)."""
    opened = np.bincount(first, minlength=len(row) + 1)
    opened -= np.bincount(last + 1, minlength=len(row) + 1)
    found = np.zeros(len(context.call_tree), bool)
    found[row[np.cumsum(opened[:-1]) > 0]] = True
    return found


def device_events_of(context: Context, found: Attention) -> Bool:
    """Device events from the first product of a chain to the second, shape (d,).

    Copies that lay out the operands of the first product are launched by its operator, too; they
    come before the attention and are not in it.
    """
    launch = context.analysis.device_events.launch
    inside = context.device_events.launched_by(context.rows.inside(found.rows))
    early = context.device_events.launched_by(_outside(context, found.first, found.last))
    return np.asarray(inside & ~early & (launch >= 0) & context.device_events.counted)


def _outside(context: Context, first: TreeRow, last: TreeRow) -> Bool:
    """Rows of the first operators ahead of their product, and of the last ones after it."""
    call_tree = context.call_tree
    wanted = np.zeros(len(call_tree), bool)
    wanted[first] = wanted[last] = True
    around = call_tree.nearest(wanted)
    product = np.flatnonzero(context.rows.named(*_BATCHED) & (around >= 0))
    begin = np.full(len(call_tree), np.iinfo(np.int64).max)
    end = np.full(len(call_tree), np.iinfo(np.int64).min)
    np.minimum.at(begin, around[product], call_tree.start[product])
    np.maximum.at(end, around[product], call_tree.end[product])
    opens, closes = np.zeros(len(call_tree), bool), np.zeros(len(call_tree), bool)
    opens[first], closes[last] = True, True
    ahead = opens[around] & ~closes[around] & (call_tree.start < begin[around])
    after = closes[around] & ~opens[around] & (call_tree.start >= end[around])
    return np.asarray((around >= 0) & (ahead | after))


def _outermost(context: Context) -> TreeRow:
    """Operators of torch that lie in no other, in the measured steps."""
    parts = context.rows.beginning("aten::") & ~context.rows.named(*_FALLS_BACK)
    operator = context.host.kind == EventCategory.OPERATOR
    row = np.flatnonzero(parts & operator & context.rows.counted)
    around = context.rows.operator_of(row)
    return row[(around < 0) | ~parts[around]] if len(row) else row


def _around_batched(context: Context) -> Bool:
    """Rows that are, or are around, a batched product."""
    rows = np.flatnonzero(context.rows.named(*_BATCHED))
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
