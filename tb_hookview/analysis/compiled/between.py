"""Calls of what a replayed graph ran between the kernels that its map names.

    map       add_0   mm (of a)           sdpa (of b)     mul_1
    events    add_0   nvjet     memset    flash_fwd       mul_1
    call          0     1        1 or 2        2            3

An event belongs to a call between those of the named kernels around it. Of these, a product (GEMM,
convolution, attention) belongs to one that can launch its kind, and bounds the calls of the events
around it in turn. An event has a call where there is but one left, or all left are of one module.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.compiled.graphs import Variants
from tb_hookview.analysis.device.kinds import kind_of_operator
from tb_hookview.arrays.joins import isin, running_max
from tb_hookview.arrays.types import Bool, Int

PRODUCTS = ("matrix", "convolution", "attention")
"""Kinds of kernels that tell calls apart; any call may launch the others."""
ANY = len(PRODUCTS)
CLOSED = -1
"""Of an event that is not placed here: it is a generated kernel, or has a row."""
_LAUNCHED = {"matrix": "matrix", "convolution": "convolution matrix", "attention": "attention"}
"""Products that operators of a kind launch; those of other known kinds launch none."""
_FUSED = ("flash", "efficient", "cudnn")
"""Attention that is no composition of other products."""
_ROUNDS = 3
"""Each takes bounds one product further; what is left open after them has no call."""


def calls_between(variants: Variants, variant: Int, group: Int, call: Int, product: Int) -> Int:
    """Call of each event, -1 for unknown.

    Args:
        variants: the calls.
        variant: of each range, shape (r,).
        group: range of each event, ascending, shape (k,). Events of one are in order of calls.
        call: known calls, -1 for none.
        product: index into PRODUCTS, ANY for other events, CLOSED for those that stay as they are.
    """
    names = isin(np.arange(len(variants.names)), variants.name[call[call >= 0]])
    silent = variants.extern | ~names[variants.name]
    calls = [np.flatnonzero(silent & can) for can in _can_launch(variants)]
    # A known call is one that the events around it are not of.
    low = np.where(call >= 0, call + 1, variants.first_call[variant][group])
    high = np.where(call >= 0, call, variants.first_call[variant + 1][group]) - 1
    rows = [np.flatnonzero(product == number) for number in range(len(calls))]
    for _ in range(_ROUNDS):
        low = running_max(group, low)
        high = -running_max(-group[::-1], -high[::-1])[::-1]
        for mine, of in zip(rows, calls, strict=True):
            first, last = _within(of, low[mine], high[mine])
            some = first <= last
            low[mine[some]], high[mine[some]] = of[first[some]], of[last[some]]
    found, modules = call.copy(), _one_module(variants)
    for mine, of in zip(rows, calls, strict=True):
        first, last = _within(of, low[mine], high[mine])
        mine, first, last = (each[first <= last] for each in (mine, first, last))
        changes = np.cumsum(np.diff(modules[of], prepend=0) != 0)
        found[mine] = np.where(changes[first] == changes[last], of[first], -1)
    return found


def _within(of: Int, low: Int, high: Int) -> tuple[Int, Int]:
    """Places of the first and of the last call within bounds, the last before it for none."""
    return np.searchsorted(of, low), np.searchsorted(of, high, side="right") - 1


def _can_launch(variants: Variants) -> list[Bool]:
    """Whether each call can launch each of PRODUCTS, and anything else."""
    listed = [_products(name) for name in variants.names]
    able = [np.array([kind in each for each in listed], bool) for kind in PRODUCTS]
    return [*(each[variants.name] for each in able), np.ones(len(variants.name), bool)]


def _products(name: str) -> tuple[str, ...]:
    kind = kind_of_operator(name) if name.startswith("aten::") else None
    if kind is None or (kind == "attention" and not any(word in name for word in _FUSED)):
        return PRODUCTS
    return tuple(_LAUNCHED.get(kind, "").split())


def _one_module(variants: Variants) -> Int:
    """The module of each call, or a number of its own where it serves several."""
    low = np.minimum.reduceat(variants.module, variants.first_part[:-1])
    high = np.maximum.reduceat(variants.module, variants.first_part[:-1])
    return np.where(low == high, low, -2 - np.arange(len(low)))
