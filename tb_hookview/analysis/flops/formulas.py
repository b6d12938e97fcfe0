"""FLOPs of operators by the shapes of their inputs: a multiplication and an addition are two.

Each formula is that of `torch.utils.flop_counter` (torch 2.13) unless its docstring says otherwise.
A causal mask halves no count, there and here: kernels differ in what they skip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.device.kinds import DeviceEventKinds
from tb_hookview.analysis.host.activity import Input, inputs_of_call, width
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import dense_rank, first_of_each, isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Float, Int, TreeRow
from tb_hookview.schema.terms import KINDS

Shape = list[int]


class Work(NamedTuple):
    """What one call computes."""

    flops: int
    written: int
    """Elements of its results."""
    dtype: str | None = None
    """Their type, "" for unknown; None for that of the first input."""


_SCALAR_TYPES = {"5": "c10::Half", "6": "float", "15": "c10::BFloat16"}
"""By the number in c10's `ScalarType`."""

Formula = Callable[[list[Input]], Work]
"""Raises LookupError, TypeError or ValueError where the inputs do not fit the operator."""


def _product(first: int, inputs: list[Input]) -> Work:
    """2·M·K·N for (M, K) by (K, N), the matrices at `first` and after it.

    Source: `mm_flop`, `addmm_flop`, `_scaled_mm_flop`.
    """
    (rows, inner), (same, columns) = _sizes(inputs, first, 2), _sizes(inputs, first + 1, 2)
    _equal(inner, same)
    return Work(2 * rows * inner * columns, rows * columns)


def _scaled_product(inputs: list[Input]) -> Work:
    """A product of types of 8 bits, whose result has the type `out_dtype`."""
    return _product(0, inputs)._replace(dtype=_result_type(6, inputs))


def _result_type(place: int, inputs: list[Input]) -> str | None:
    """The type by the argument `out_dtype`; None where it is not given."""
    out = inputs[place] if len(inputs) > place else Input([], "", "")
    return _SCALAR_TYPES.get(out.value, "") if out.type else None


def _grouped_product(offsets: int, out_dtype: int, inputs: list[Input]) -> Work:
    """2·M·K·N of products whose M, K or N is the sum over groups; of a batch 2·B·M·K·N.

    An operand of three dimensions has one matrix for each group. One of two dimensions has those of
    all groups next to each other, up to the argument at `offsets`. Two such operands part K, and
    the result has one matrix for each group.

    Source: the definition of `torch._grouped_mm`; `flop_counter` has none.
    """
    dtype, left, right = _result_type(out_dtype, inputs), _sizes(inputs, 0), _sizes(inputs, 1)
    if len(left) == len(right) == 3:
        return _batched_product(0, inputs)._replace(dtype=dtype)
    if {len(left), len(right)} - {2, 3}:
        raise ValueError
    (rows, inner), (same, columns) = left[-2:], right[-2:]
    _equal(inner, same)
    written = rows * columns * (_sizes(inputs, offsets, 1)[0] if len(left) == len(right) else 1)
    return Work(2 * rows * inner * columns, written, dtype)


def _batched_product(first: int, inputs: list[Input]) -> Work:
    """2·B·M·K·N for (B, M, K) by (B, K, N).

    Source: `bmm_flop`, `baddbmm_flop`.
    """
    left, right = _sizes(inputs, first, 3), _sizes(inputs, first + 1, 3)
    _equal([left[0], left[2]], right[:2])
    batch, rows, inner = left
    return Work(2 * batch * rows * inner * right[2], batch * rows * right[2])


def _summed_products(inputs: list[Input]) -> Work:
    """As a batched product, whose batch is summed: 2·B·M·K·N for `addbmm`.

    Source: the definition of `torch.addbmm`; `flop_counter` has none.
    """
    work = _batched_product(1, inputs)
    return Work(work.flops, work.written // inputs[1].shape[0])


def _linear(inputs: list[Input]) -> Work:
    """2·prod(input)·columns for an input (..., K) by a weight (columns, K).

    Source: `mm_flop` of the product that it is.
    """
    given, (columns, inner) = _sizes(inputs, 0), _sizes(inputs, 1, 2)
    _equal(given[-1], inner)
    return Work(2 * prod(given) * columns, prod(given[:-1]) * columns)


def _convolution(inputs: list[Input]) -> Work:
    """2·N·prod(weight)·positions: output positions; of a transposed one, input positions.

    The weight (out, in / groups, kernel...) holds the groups. Source: `conv_flop_count`; Dumoulin
    and Visin, A guide to convolution arithmetic, for the size of the output.
    """
    transposed = _truth(inputs[6])
    steps = inputs[3], _list(inputs[4]), inputs[5]
    extra, groups = _list(inputs[7]), int(inputs[8].value)
    return _convolved(inputs, steps, transposed=transposed, extra=extra, groups=groups)


def _backend_convolution(first: int, inputs: list[Input]) -> Work:
    """A library's own convolution; its padding, stride and dilation are at `first` and after it.

    Source: native_functions.yaml of torch; count as in `_convolution`.
    """
    padding, stride, dilation = inputs[first : first + 3]
    return _convolved(
        inputs, (stride, _list(padding), dilation), transposed=False, extra=[], groups=1
    )


def _backend_transposed(first: int, inputs: list[Input]) -> Work:
    """The same of a transposed one, which takes the padding of its result after its padding."""
    padding, extra, stride, dilation, groups = inputs[first : first + 5]
    steps = stride, _list(padding), dilation
    return _convolved(inputs, steps, transposed=True, extra=_list(extra), groups=int(groups.value))


def _convolved(
    inputs: list[Input],
    steps: tuple[Input, Shape, Input],
    *,
    transposed: bool,
    extra: Shape,
    groups: int,
) -> Work:
    (batch, _, *size), (outer, inner, *kernel) = _sizes(inputs, 0), _sizes(inputs, 1)
    if not size or not kernel:
        raise ValueError
    stride, padding, dilation = _list(steps[0]), steps[1], _list(steps[2])
    sizes = zip(
        size, kernel, *(_spread(each, len(size)) for each in (stride, padding, dilation)),
        _spread(extra or [0], len(size)), strict=True,
    )  # fmt: skip
    if transposed:
        result = [(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in sizes]
    else:
        result = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d, _ in sizes]
    channels = inner * groups if transposed else outer
    positions = prod(size if transposed else result)
    return Work(
        2 * batch * outer * inner * prod(kernel) * positions, batch * channels * prod(result)
    )


def _convolution_backward(inputs: list[Input]) -> Work:
    """As much as the forward for each of the gradients of input and weight that are asked for.

    Source: `conv_backward_flop`. It counts the gradient of a grouped weight `groups` times too
    often, as its weight then has all inputs' channels; each weight has in / groups of them here.
    """
    result, given, weight = (_sizes(inputs, place) for place in range(3))
    transposed, asked = _truth(inputs[7]), inputs[10].value.strip("[]").split(", ")
    if len(asked) != 3 or not set(asked) <= {"True", "False"}:
        raise ValueError
    positions = prod((given if transposed else result)[2:])
    once = 2 * given[0] * prod(weight) * positions
    wanted = [answer == "True" for answer in asked[:2]]
    written = sum(
        prod(s) for s, is_wanted in zip((given, weight), wanted, strict=True) if is_wanted
    )
    return Work(once * sum(wanted), written)


def _attention(heads: int, inputs: list[Input]) -> Work:
    """2·B·H·S·T·(D + V): scores of S queries and T keys of size D, then values of size V.

    Heads are the dimension `heads`, positions the other of 1 and 2. Keys may have fewer heads.
    Source: `sdpa_flop_count`; flash attention: Dao et al. 2022, section 3.
    """
    batch, many, queries, size, keys, values = _attended(inputs[:3], heads)
    return Work(
        2 * batch * many * queries * keys * (size + values), batch * many * queries * values
    )


def _attention_backward(heads: int, inputs: list[Input]) -> Work:
    """2·B·H·S·T·(3·D + 2·V): scores again, then gradients of scores, values, queries and keys.

    Source: `sdpa_backward_flop_count`; Dao et al. 2022, appendix B.4.
    """
    batch, many, queries, size, keys, values = _attended(inputs[1:4], heads)
    written = sum(prod(each.shape) for each in inputs[1:4])
    return Work(2 * batch * many * queries * keys * (3 * size + 2 * values), written)


def _attended(inputs: list[Input], heads: int) -> tuple[int, ...]:
    """Batch, heads, queries, their size, keys, and the size of values."""
    query, key, value = (_sizes(inputs, place, 4) for place in range(3))
    others = 3 - heads
    _equal([query[0], query[3], key[:3]], [key[0], key[3], value[:3]])
    if not key[heads] or query[heads] % key[heads]:
        raise ValueError
    return query[0], query[heads], query[others], query[3], key[others], value[3]


def _sizes(inputs: list[Input], place: int, dimensions: int | None = None) -> Shape:
    shape = inputs[place].shape
    if dimensions is not None and len(shape) != dimensions:
        raise ValueError
    if not shape or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError
    return shape


def _equal(one: object, other: object) -> None:
    if one != other:
        raise ValueError


def _truth(given: Input) -> bool:
    return {"True": True, "False": False}[given.value]


def _list(given: Input) -> Shape:
    return [int(number) for number in given.value.strip("[]").split(", ") if number]


def _spread(given: Shape, dimensions: int) -> Shape:
    """One number for each dimension; torch takes one for all."""
    return given * dimensions if len(given) == 1 else given


FORMULAS: Mapping[str, Formula] = {
    "aten::mm": partial(_product, 0),
    "aten::_scaled_mm": _scaled_product,
    **dict.fromkeys(
        ("aten::addmm", "aten::addmm_", "aten::_addmm_activation"), partial(_product, 1)
    ),
    "aten::bmm": partial(_batched_product, 0),
    **dict.fromkeys(("aten::baddbmm", "aten::baddbmm_"), partial(_batched_product, 1)),
    "aten::addbmm": _summed_products,
    "aten::_grouped_mm": partial(_grouped_product, 2, 4),
    "aten::_scaled_grouped_mm": partial(_grouped_product, 4, 7),
    "aten::linear": _linear,
    **dict.fromkeys(
        ("aten::convolution", "aten::_convolution", "aten::convolution_overrideable"), _convolution
    ),
    "aten::cudnn_convolution": partial(_backend_convolution, 2),
    **dict.fromkeys(
        ("aten::miopen_convolution", "aten::mkldnn_convolution"), partial(_backend_convolution, 3)
    ),
    "aten::cudnn_convolution_transpose": partial(_backend_transposed, 2),
    "aten::miopen_convolution_transpose": partial(_backend_transposed, 3),
    "aten::convolution_backward": _convolution_backward,
    **{
        f"aten::_scaled_dot_product_{kind}_attention{of}{way}": partial(work, 1)
        for kind, of in (
            *(("efficient", ""), ("flash", ""), ("cudnn", "")),
            *(("flash", "_for_cpu"), ("fused", "_overrideable")),
        )
        for way, work in (("", _attention), ("_backward", _attention_backward))
    },
    **{
        f"{name}_{way}": partial(work, 2)
        for name in (
            *("aten::_flash_attention", "aten::_efficient_attention"),
            "flash_attn::_flash_attn",
        )
        for way, work in (("forward", _attention), ("backward", _attention_backward))
    },
}
"""Formula by the name of an operator. Operators that call these have the sum of what they call."""


_READ = {
    **dict.fromkeys(("aten::mm", "aten::bmm"), 2),
    **dict.fromkeys(("aten::addmm", "aten::baddbmm", "aten::addbmm"), 5),
    "aten::_addmm_activation": 6,
    "aten::_scaled_mm": 8,
    "aten::linear": 3,
}
"""Arguments of products that are read: those after them are written (`out`) or no tensors."""


def work_of(name: str, inputs: list[Input]) -> Work | None:
    """Work of a call of an operator; None without a formula, or where the inputs do not fit it."""
    formula = FORMULAS.get(name)
    if formula is None:
        return None
    try:
        return formula(inputs)
    except (LookupError, TypeError, ValueError):
        return None


# FLOPs and bytes of calls of operators, and the device events that do the work.
#
# A call with a formula holds others with one (`aten::linear` an `aten::addmm`): the outermost
# counts.
#
#     main ops   [aten::linear           ]      counts: 2MKN
#     main ops     [aten::addmm        ]        the same work
#     gpu  kernel      [gemm] [bias]            gemm does it: of those of its kind
#
# Not so where an operator is called again within itself: see `_redispatched`.


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


def call_work(host: HostRows, is_partial: Bool) -> CallWork:
    """Work of every call; equal calls are counted once.

    Args:
        host: host rows.
        is_partial: rows of whose device events the trace lacks some, shape (n,). Their FLOPs are
            unknown: a part of their time would make their speed too high.
    """
    flops, moved = (np.full(len(host), np.nan) for _ in range(2))
    dtype = np.full(len(host), -1, np.int64)
    events, texts = host.trace.events, host.trace.texts
    rows = host.named(FORMULAS.__contains__)
    event = host.call_tree.event[rows]
    known = (events.shapes[event] > 0) & (events.types[event] > 0) & ~is_partial[rows]
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
    read = [each for each in inputs[: _READ.get(name)] if each.shape]
    kinds = [each.type for each in read]
    dtype = _DTYPE.get(kinds[0], "")
    sizes = [width(kind) or np.nan for kind in kinds]
    moved = sum(prod(each.shape) * size for each, size in zip(read, sizes, strict=True))
    number = DTYPES.index(dtype) if dtype else -1
    written = sizes[0] if work.dtype is None else width(work.dtype) or np.nan
    return float(work.flops), moved + work.written * written, number


def device_work(
    host: HostRows, events: DeviceEvents, kinds: DeviceEventKinds, calls: CallWork
) -> DeviceWork:
    """Share the work of each call among the device events that it launched."""
    call = lookup(host.call_tree.nearest(calls.outermost), events.launch)
    works = isin(kinds.kind, _WORKING) & ~kinds.unfused
    inside = call >= 0
    size = len(host)
    computing = np.bincount(call[inside & works], minlength=max(size, 1)) > 0
    doing = inside & np.where(computing[call], works, events.is_kernel)
    weight = np.where(doing, events.duration, 0).astype(np.float64)
    timeless = np.bincount(call[doing], weight[doing], minlength=max(size, 1)) == 0
    weight[doing & timeless[call]] = 1.0
    whole = np.bincount(call[doing], weight[doing], minlength=size)
    share = np.zeros(len(events))
    share[doing] = weight[doing] / whole[call[doing]]
    flops, moved = np.zeros(len(events)), np.full(len(events), np.nan)
    flops[doing] = share[doing] * calls.flops[call[doing]]
    moved[doing] = share[doing] * calls.bytes[call[doing]]
    return DeviceWork(call, flops, moved, works & events.is_kernel)
