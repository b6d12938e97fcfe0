"""Rows of a graph's call paired with the calls in the recorder's map.

    map     mm   add_0   mm   add_1   mul_2
    rows    mm   add_0   mm   copy_   add_1   mul_2
    call     0     1      2     -       3       4

Names are called several times, for different modules, so position is the key: the k-th row of a
name is the k-th call of that name. That holds only where a name has as many rows as calls; the
rows of other names are not placed. All pairs of one range have to be in order.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.compiled.graphs import Variants
from tb_hookview.arrays.joins import dense_rank
from tb_hookview.arrays.types import Bool, Int


class Alignment(Struct, frozen=True):
    """What rows were paired with."""

    call: Int
    """Call of each row, -1 for none, shape (k,)."""
    disordered: Bool
    """Ranges whose pairs are not in order, shape (r,). Their rows have no call."""


def align(variants: Variants, variant: Int, group: Int, name: Int) -> Alignment:
    """Pair rows with calls.

    Args:
        variants: the calls.
        variant: of each range, shape (r,).
        group: range of each row, ascending, shape (k,). Rows of one are in program order.
        name: number of each row's name, -1 for a name without calls.
    """
    width = len(variants.names) + 1
    of_call = np.repeat(np.arange(len(variants.backward)), np.diff(variants.first_call))
    keys = of_call * width + variants.name
    by_key = np.argsort(keys, kind="stable")
    wanted = variant[group] * width + name
    first = np.searchsorted(keys[by_key], wanted)
    count = np.searchsorted(keys[by_key], wanted, side="right") - first
    ordinal, rows = _ordinals(group, name)
    known = (name >= 0) & (count == rows)
    call = np.full(len(group), -1, np.int64)
    call[known] = by_key[(first + ordinal)[known]]
    paired = np.flatnonzero(known)
    backwards = (np.diff(group[paired]) == 0) & (np.diff(call[paired]) <= 0)
    disordered = np.zeros(len(variant), bool)
    disordered[group[paired[1:][backwards]]] = True
    call[disordered[group]] = -1
    return Alignment(call, disordered)


def _ordinals(group: Int, name: Int) -> tuple[Int, Int]:
    """How many equal rows are before each in its group, and how many there are."""
    key = dense_rank(group, name)
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], key)
    ordinal = np.empty(len(key), np.int64)
    ordinal[order] = np.arange(len(key)) - first[order]
    return ordinal, np.bincount(key)[key] if len(key) else key
