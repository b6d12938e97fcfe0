"""Softmax kernels of attention that runs as separate operators, forward or backward.

    kernels of a thread, as launched    [bmm] [scale] [mask] [softmax] [dropout] [bmm]

Both products are batched, and what lies between them is elementwise, a copy or a reduction.

This classifies single kernels, for `kernels[].kind`: it needs no names of operators but those of
the products, so it holds for the backward as well, whose operators have other names.
`rules/evidence/attention.py` finds whole chains by operators, forward only, because the fix
replaces an operator's call and all that it launches, products included.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.schema.terms import KINDS

_MATRIX = KINDS.index("matrix")
_BETWEEN = tuple(KINDS.index(kind) for kind in ("elementwise", "copy", "set", "reduction"))
_PRODUCTS = ("aten::bmm", "aten::baddbmm")
_REACH = 8
"""Kernels between the softmax and a product: scale, mask, casts, dropout."""


def softmax_of_attention(host: HostRows, device_events: DeviceEvents, kind: Int) -> Bool:
    """Softmax kernels between two batched products on the thread that launched them, shape (d,).

    Args:
        host: host rows.
        device_events: kernels, copies and sets.
        kind: index into KINDS of each.
    """
    found = np.zeros(len(kind), bool)
    names = host.trace.events.name[device_events.event].astype(np.int64)
    softmax = _holding(host, names, "softmax")
    if not softmax.any():
        return found
    order = np.flatnonzero(device_events.launch >= 0)
    order = order[np.argsort(device_events.launch[order], kind="stable")]
    launch = device_events.launch[order]
    called = lookup(host.string, host.operator_around[launch])
    softmax = softmax[order] & ~_holding(host, called, "log_softmax")
    products = [name for name in host.names if host.trace.strings[name] in _PRODUCTS]
    product = (kind[order] == _MATRIX) & isin(called, products)
    between = isin(kind[order], _BETWEEN)
    place = np.flatnonzero(softmax)
    thread = host.call_tree.thread[launch]
    for step in (-1, 1):
        place = place[_reached(place, step, product, between, thread)]
    found[order[place]] = True
    return found


def _holding(host: HostRows, names: Int, word: str) -> Bool:
    """Whether each name, an index into the strings of the trace or -1, holds a word."""
    texts, distinct = host.trace.strings, unique(names).tolist()
    return isin(names, [name for name in distinct if name >= 0 and word in texts[name].lower()])


def _reached(place: Int, step: int, product: Bool, between: Bool, thread: Int) -> Bool:
    """Whether a product follows (`step` 1) or precedes (-1) each kernel, with little between."""
    found, open_ = np.zeros(len(place), bool), np.ones(len(place), bool)
    for distance in range(1, _REACH + 1):
        at = place + step * distance
        open_ &= (at >= 0) & (at < len(product))
        at = np.where(open_, at, place)
        open_ &= thread[at] == thread[place]
        found |= open_ & product[at]
        open_ &= ~product[at] & between[at]
    return found
