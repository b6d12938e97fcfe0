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
from tb_hookview.arrays.joins import isin
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
    order = np.flatnonzero(device_events.launch >= 0)
    order = order[np.argsort(device_events.launch[order], kind="stable")]
    launch, names = device_events.launch[order], host.trace.events.name[device_events.event[order]]
    operator = host.operator_around[launch]
    softmax = _holding(host, "softmax")[names] & ~_called(host, operator, "log_softmax")
    if not softmax.any():
        return found
    batched = np.array([text in _PRODUCTS for text in host.trace.strings.texts])
    product = (kind[order] == _MATRIX) & (operator >= 0) & batched[host.string[operator]]
    between = isin(kind[order], _BETWEEN)
    place = np.flatnonzero(softmax)
    thread = host.call_tree.thread[launch]
    for step in (-1, 1):
        place = place[_reached(place, step, product, between, thread)]
    found[order[place]] = True
    return found


def _holding(host: HostRows, word: str) -> Bool:
    """Whether each string of the trace holds a word."""
    return np.array([word in text.lower() for text in host.trace.strings.texts], bool)


def _called(host: HostRows, row: Int, word: str) -> Bool:
    return np.asarray((row >= 0) & _holding(host, word)[host.string[row]])


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
