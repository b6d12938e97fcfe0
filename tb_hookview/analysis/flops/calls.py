"""FLOPs and bytes of calls of operators, and the device events that do the work.

A call with a formula holds others with one (`aten::linear` an `aten::addmm`): the outermost counts.

    main ops   [aten::linear           ]      counts: 2MKN
    main ops     [aten::addmm        ]        the same work
    gpu  kernel      [gemm] [bias]            gemm does it: of those of its kind

Not so where an operator is called again within itself: see `_redispatched`.
"""

from __future__ import annotations

from math import prod

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.device.kinds import DeviceEventKinds
from tb_hookview.analysis.flops.formulas import FORMULAS, work_of
from tb_hookview.analysis.host.inputs import Input, inputs_of_call, width
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import dense_rank, first_of_each, isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Float, Int, TreeRow
from tb_hookview.schema.terms import KINDS
from tb_hookview.trace import EventCategory

DTYPES = ("float64", "float32", "float16", "bfloat16", "float8", "int8")
"""Types of operands for which devices have peaks."""
_DTYPE = {
    "double": "float64",
    "float": "float32",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    **dict.fromkeys(
        (f"c10::Float8_{form}" for form in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")), "float8"
    ),
    "signed char": "int8",
}
_WORKING = [KINDS.index(kind) for kind in ("matrix", "convolution", "attention")]
"""Kinds of kernels that have FLOPs worth counting."""


class CallWork(Struct, frozen=True):
    """Work of calls with a formula; columns over rows of the call tree."""

    flops: Float
    """NaN for unknown; of calls around one that calls itself again, for whom that one counts."""
    bytes: Float
    """Inputs and results, each once: the least that is moved. NaN for unknown."""
    dtype: Int
    """Index into DTYPES, -1 for none of them."""
    outermost: Bool
    """Calls of known FLOPs in no other such call, but for those that call themselves again."""


class DeviceWork(Struct, frozen=True):
    """Work of device events, shape (d,)."""

    call: TreeRow
    """Outermost call of known FLOPs in which each was launched, -1 for none."""
    flops: Float
    """Their part of that call's: by duration among those that compute; 0 for the others."""
    bytes: Float
    """The same part of its bytes; NaN for unknown."""
    works: Bool
    """Kernels of products, convolutions and attention, whether their FLOPs are known or not."""


def call_work(host: HostRows) -> CallWork:
    """Work of every call; equal calls are counted once."""
    flops, moved = (np.full(len(host), np.nan) for _ in range(2))
    dtype = np.full(len(host), -1, np.int64)
    events, texts = host.trace.events, host.trace.texts
    rows = host.named(FORMULAS.__contains__)
    event = host.call_tree.event[rows]
    known = (events.shapes[event] > 0) & (events.types[event] > 0)
    rows, event = rows[known], event[known]
    given = events.shapes, events.types, events.concrete
    columns = [host.string[rows], *(column[event].astype(np.int64) for column in given)]
    rank = dense_rank(*columns)
    first = first_of_each(rank)
    distinct = zip(*(column[first].tolist() for column in columns), strict=True)
    found = [
        _one(host.trace.strings[name], inputs_of_call(texts, *arguments))
        for name, *arguments in distinct
    ]
    if found:
        by_rank = np.array(found, np.float64)[rank]
        flops[rows], moved[rows], dtype[rows] = by_rank.T
    counted = ~np.isnan(flops)
    again = _redispatched(host, counted)
    flops[again] = moved[again] = np.nan
    counted &= ~again
    outermost = counted & (host.call_tree.nearest_above(counted) < 0)
    return CallWork(flops, moved, dtype, outermost)


def _redispatched(host: HostRows, counted: Bool) -> Bool:
    """Calls around one of the same name, and all around these.

    `DTensor` calls the operator again on what this rank holds, autocast on inputs of its type: the
    shapes outside are those of all ranks, the types not those of the product.
    """
    above, found = host.call_tree.nearest_above(counted), np.zeros(len(host), bool)
    rows = np.flatnonzero(counted)
    around, again = lookup(above, rows), np.zeros(len(rows), bool)
    while (inside := around >= 0).any():
        rows, around = rows[inside], around[inside]
        again = again[inside] | (host.string[rows] == host.string[around])
        found[around[again]] = True
        around = lookup(above, around)
    return found


def _one(name: str, inputs: list[Input]) -> tuple[float, float, int]:
    """FLOPs, bytes and type of a call."""
    work = work_of(name, inputs)
    if work is None:
        return np.nan, np.nan, -1
    kinds = [each.type for each in inputs if each.shape]
    dtype = _DTYPE.get(kinds[0], "")
    sizes = [width(kind) or np.nan for kind in kinds]
    shapes = [each.shape for each in inputs if each.shape]
    read = sum(prod(shape) * size for shape, size in zip(shapes, sizes, strict=True))
    number = DTYPES.index(dtype) if dtype else -1
    return float(work.flops), read + work.written * sizes[0], number


def device_work(
    host: HostRows, events: DeviceEvents, kinds: DeviceEventKinds, calls: CallWork
) -> DeviceWork:
    """Share the work of each call among the device events that it launched."""
    call = lookup(host.call_tree.nearest(calls.outermost), events.launch)
    works = isin(kinds.kind, _WORKING) & ~kinds.unfused
    kernel = host.trace.events.kind[events.event] == EventCategory.KERNEL
    inside = call >= 0
    size = len(host)
    computing = np.bincount(call[inside & works], minlength=max(size, 1)) > 0
    doing = inside & np.where(computing[call], works, kernel)
    weight = np.where(doing, events.duration, 0).astype(np.float64)
    timeless = np.bincount(call[doing], weight[doing], minlength=max(size, 1)) == 0
    weight[doing & timeless[call]] = 1.0
    whole = np.bincount(call[doing], weight[doing], minlength=size)
    share = np.zeros(len(events))
    share[doing] = weight[doing] / whole[call[doing]]
    flops, moved = np.zeros(len(events)), np.full(len(events), np.nan)
    flops[doing] = share[doing] * calls.flops[call[doing]]
    moved[doing] = share[doing] * calls.bytes[call[doing]]
    return DeviceWork(call, flops, moved, works & kernel)
