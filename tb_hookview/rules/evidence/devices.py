"""What devices can do, and the precision, products and attention that ran on them."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.kinds import capability_by_kernels
from tb_hookview.analysis.flops.peaks import name_of, peaks_of
from tb_hookview.arrays.joins import isin, mask_of, setdiff, unique
from tb_hookview.arrays.sums import greatest_by, least_by
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.evidence.host import Inputs, inputs_of, with_inputs
from tb_hookview.trace import EventCategory
from tb_hookview.trace.columns.trace import DeviceProperties

_WITH_TF32 = re.compile(
    r"\b(A2|A10|A10G|A16|A30|A40|A100|A800|A4000|A4500|A5000|A5500|A6000|L4|L20|L40|L40S|H20|H100"
    r"|H200|H800|GH200|B100|B200|B300|GB200|GB300|RTX [345]0[5-9]0)\b"
)
_WITH_TENSOR_CORES = re.compile(
    _WITH_TF32.pattern + r"|\b(V100|V100S|TITAN V|T4|T4G|TITAN RTX|RTX 20[6-8]0)\b"
)
_WITHOUT = re.compile(r"\bGTX\b|\bMX\d{3}\b")
"""Of capability 7.5, and without tensor cores."""

_SAME_PEAK = "GeForce"
"""In names of devices that compute as fast in float32 as in TF32, also where peaks are unknown."""
_FASTER = 3.0
"""Times as fast, typical of a large product where the peaks allow as much."""


def all_have_tf32(context: Context) -> bool:
    """Whether all devices that worked are of NVIDIA's compute capability 8.0 or later."""
    return _all(context, (8, 0), _WITH_TF32)


def all_have_tensor_cores(context: Context) -> bool:
    """Whether all devices that worked are of NVIDIA's compute capability 7.0 or later."""
    return _all(context, (7, 0), _WITH_TENSOR_CORES)


def _all(context: Context, least: tuple[int, int], named: re.Pattern[str]) -> bool:
    """Whether every device that worked is known to have at least some capability.

    The figures of devices that are not NVIDIA's mean something else.
    """
    trace = context.analysis.trace
    known = {device.id: device for device in trace.devices}

    def able(number: int) -> bool:
        device = known.get(number, DeviceProperties(number, ""))
        if _WITHOUT.search(device.name):
            return False
        if device.capability is not None and trace.runtime == "cuda":
            return device.capability >= least
        if device.name:
            return named.search(device.name) is not None
        return capability_by_kernels(trace, context.analysis.device_events, number) >= least

    devices = context.device_events.devices
    return bool(devices) and all(map(able, devices))


def tf32_speedup(context: Context) -> tuple[float, str]:
    """How many times as fast products become, and a phrase of what says so."""
    trace, ratio = context.analysis.trace, _FASTER
    for device in context.device_events.devices:
        name = name_of(trace.devices, device)
        peaks = peaks_of(name)
        if peaks is None and _SAME_PEAK in name:
            return 1.0, ""
        tflops = peaks.tflops if peaks else {}
        if "float32" in tflops and "float32_tensor" in tflops:
            ratio = min(ratio, tflops["float32_tensor"] / tflops["float32"])
    return ratio, ", as the peaks of the device do" if ratio < _FASTER else ""


# Products that are short because they are small, whatever they are computed in.


_FLOPS_PER_NS = 180
"""Of one multiprocessor of an A100 in float32, the slowest of NVIDIA's with tensor cores."""
_BYTES_PER_NS = 300
"""Of an L4, the least of those in `peaks.json`."""
_SMALL = 0.1


def too_small(context: Context) -> Bool:
    """Kernels that a single multiprocessor could compute in a tenth of their time, shape (d,).

    They take what a launch takes, in any precision. Kernels that move much, or whose FLOPs the
    trace does not show, are not among them.
    """
    work = context.analysis.device_work
    least = np.maximum(work.flops / _FLOPS_PER_NS, work.bytes / _BYTES_PER_NS)
    small = least < _SMALL * context.analysis.device_events.duration
    return np.asarray((work.flops > 0) & small)


# Kernels that compute in float64 or float32, by their names.


_PRODUCT = re.compile(r"(?<![a-z])dgemm|d884gemm|f64f64|-dtype_Double")
_IN_PRODUCT = ("gemm", "f64f64", "dtype_Double")
_LAMBDA = re.compile(r"\{lambda\(([^()]*)\)")
_PARAMETERS = re.compile(r"\([^()]*(?:\)|$)")
_DOUBLE = re.compile(
    r"(?<!optional)(?<!vector)(?<!Array)(?<!ArrayRef)<double[,>]|\bcusparse::.*(?<= )double[,>]"
)
_FLOAT32 = r"sgemm(?<![a-z]sgemm)(?<!16_sgemm)|xmma_gemm_f32f32_f32f32_f32_"
"""Ampere's names, CUTLASS's and older ones; and those of cuBLAS on Hopper and later."""
_TF32 = r"tf32|nvjet_(sm\d+_)?sss_|s1688gemm(?<!16_s1688gemm)(?!_b?fp?16)"
_MOVES = ("copy", "set", "communication")
_CACHED = 4096


@lru_cache(_CACHED)
def names_float64(name: str) -> bool:
    """Whether a kernel computes in float64, by its name.

    Its type is the first argument of a template (`CUDAFunctor_add<double>`), of cuSPARSE any
    (`csrmv_v3_kernel<false, int, int, double>`), or that of the function it calls for each value
    (`{lambda(double)#1}`). Parameters of functions around it are
    numbers of the host: `nan_to_num_kernel_cuda(at::TensorIteratorBase&, c10::optional<double>)`.
    """
    if any(word in name for word in _IN_PRODUCT) and _PRODUCT.search(name):
        return True
    if "double" not in name:
        return False
    count, name = 1, _LAMBDA.sub(r"{lambda<\1>", name)
    while count:
        name, count = _PARAMETERS.subn("", name)
    return _DOUBLE.search(name) is not None


def in_float64(context: Context) -> Bool:
    """Kernels that compute in float64 by their names, shape (d,)."""
    work = context.device_events
    return work.passing(names_float64) & ~work.of_kinds(*_MOVES)


def float32_products(context: Context) -> Bool:
    """Kernels of matrix products in float32 without TF32, shape (d,)."""
    products = context.device_events.matching(_FLOAT32, "gemm")
    return products & context.device_events.of_kinds("matrix")


def in_tf32(context: Context) -> Bool:
    """Kernels that compute in TF32 by their names, shape (d,)."""
    return context.device_events.matching(_TF32)


_CONVOLUTIONS = ("aten::conv1", "aten::conv2", "aten::conv3")


def of_convolutions(context: Context) -> Bool:
    """Device events launched by convolutions, shape (d,)."""
    rows = context.rows
    inside = rows.inside(rows.containing("convolution") | rows.beginning(*_CONVOLUTIONS))
    return context.device_events.launched_by(inside)


def without_operator(context: Context) -> Bool:
    """Device events whose operator the trace lacks: in graphs, or launched in none; shape (d,)."""
    operator = context.rows.operator_of(context.analysis.device_events.launch)
    return np.asarray(context.device_events.of_graph | (operator < 0))


def may_be_of_convolutions(context: Context) -> Bool:
    """Device events without an operator where the trace has kernels of convolutions, shape (d,)."""
    transposes = context.device_events.containing(*LAYOUTS)
    if not (transposes | context.device_events.of_kinds("convolution")).any():
        return np.zeros(len(transposes), bool)
    return without_operator(context)


LAYOUTS = ("nchwToNhwc", "nhwcToNchw")
"""In names of cuDNN's kernels that transpose the operands of convolutions."""


# Matrix products: their sizes, and kernels of those that do not fit tensor cores.


_LOADS_LITTLE = (
    r"cutlass\w*_(wmma_)?tensorop\w*(?<![dz]884)gemm\w*_align[12](?![0-9])"
    r"|cutlass\w*_(wmma_)?tensorop_(f16|bf16|h16816|h1688|h884)\w*gemm\w*_align4(?![0-9])"
)
"""The number after `align` is how many values are loaded at once; 16 bytes hold 4 of float32 (and
TF32), 8 of half precision. In float64 tensor cores take one at a time, so no size is odd."""
_FIRST = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}
"""Place of the first matrix among the inputs of a product."""
_HALF = ("c10::Half", "c10::BFloat16")
_UNIT, _UNIT_OF_FLOAT = 8, 4
"""Values of half precision, and of float32, in 16 bytes."""


_LAYOUT = re.compile(r"_([nt])([nt])_align")
"""Layout of the right and the left matrix (cuBLAS computes the transposed product)."""


class Product(NamedTuple):
    """Sizes of a product of two matrices."""

    operator: str
    rows: int
    inner: int
    columns: int
    unit: int
    """Values of its type in 16 bytes."""

    def odd(self, kernel: str) -> list[str]:
        """Sizes that the unit does not divide, of those that lie side by side in memory.

        Args:
            kernel: name of the kernel that computes it; the columns of the result always do.
        """
        layout = _LAYOUT.search(kernel)
        right, left = layout.groups() if layout else ("n", "")
        sizes = {"columns": self.columns}
        if left == "n" or right == "t":
            sizes["inner size"] = self.inner
        if left == "t":
            sizes["rows"] = self.rows
        return [f"{name} {size}" for name, size in sizes.items() if size % self.unit]


def misaligned(context: Context) -> Bool:
    """Kernels of products on tensor cores that load less than 16 bytes at once, shape (d,)."""
    return named_so(context) | shaped_so(context)


def named_so(context: Context) -> Bool:
    """Those of them whose names say so.

    A convolution of 1 x 1 runs such kernels, too, but its sizes are channels and pixels. Kernels
    whose operator the trace lacks are taken to be of convolutions if all others of their name are.
    """
    found = context.device_events.matching(_LOADS_LITTLE, "cutlass")
    found &= context.device_events.of_kinds("matrix")
    if not found.any():
        return found
    convolves, unknown = of_convolutions(context), without_operator(context) & found
    work, names = context.analysis.device_events, context.analysis.trace.events.name
    name = names[work.event].astype(np.int64)
    only = setdiff(unique(name[found & convolves]), name[found & ~convolves & ~unknown])
    return found & context.device_events.counted & ~convolves & ~(unknown & isin(name, only))


def shaped_so(context: Context) -> Bool:
    """The others in half precision whose result has rows of odd length."""
    if not all_have_tensor_cores(context):
        return np.zeros(len(context.device_events.counted), bool)
    odd = np.zeros(len(context.call_tree), bool)
    for name, first in _FIRST.items():
        odd |= with_inputs(context, context.rows.named(name), partial(_has_odd_rows, first + 1))
    launched = context.device_events.launched_by(context.rows.inside(odd))
    products = context.device_events.of_kinds("matrix") & context.device_events.counted
    return launched & products & ~named_so(context)


def products_of(context: Context, rows: TreeRow) -> list[Product | None]:
    """Product that each of some operators (call tree rows, -1 for none) computes, if known."""
    distinct, index = inputs_of(context, rows)
    names = [context.host.name(row) if row >= 0 else "" for row in rows.tolist()]
    return [
        _product(name, distinct[place]) if place >= 0 else None
        for name, place in zip(names, index.tolist(), strict=True)
    ]


def _product(operator: str, inputs: Inputs) -> Product | None:
    first = _FIRST.get(operator, len(inputs))
    if len(inputs) < first + 2:
        return None
    (left, kind), (right, _) = inputs[first : first + 2]
    sizes = [*left[-2:], *right[-1:]]
    if len(sizes) < 3 or not all(isinstance(size, int) for size in sizes):
        return None
    rows, inner, columns = sizes
    return Product(operator, rows, inner, columns, _UNIT if kind in _HALF else _UNIT_OF_FLOAT)


def _has_odd_rows(second: int, inputs: Inputs) -> bool:
    if len(inputs) <= second:
        return False
    shape, kind = inputs[second]
    width = shape[-1] if shape else None
    return kind in _HALF and isinstance(width, int) and width > _UNIT and width % _UNIT > 0


# Attention computed by its parts: scores, softmax, and a second product.
#
# This finds whole chains of operators, forward only: what one fused call replaces, with modules,
# shapes and every kernel that the operators launch. Whether a kernel is a softmax of attention,
# forward or backward, is its kind, which `analysis/device/kinds.py` decides by kernels.


_PRODUCTS = ("aten::matmul", "aten::bmm", "aten::baddbmm", "aten::einsum")
_BATCHED = ("aten::bmm", "aten::baddbmm")
"""Products of batches of matrices, as those of attention are."""
_SOFTMAX = ("aten::softmax", "aten::_softmax", "aten::_masked_softmax")
_FALLS_BACK = (
    *("aten::scaled_dot_product_attention", "aten::_scaled_dot_product_attention_math"),
    "aten::_native_multi_head_attention",
)
"""Where no fused kernel fits, these run the parts."""
_BIAS = (
    *("abs", "neg", "log", "pow", "exp", "min", "minimum", "max", "maximum", "clamp", "zero"),
    *("embedding", "index", "index_select", "gather", "cat", "stack"),
)
"""Operators that compute a bias of positions, as in T5, Swin and ALiBi; it is added after them."""
_BETWEEN = (
    *("mul", "div", "add", "sub", "true_divide", "masked_fill", "where", "dropout"),
    *("native_dropout", "baddbmm", "expand", "to", "_to_copy", "float", "type_as", "clone"),
    *("contiguous", "view", "_unsafe_view", "reshape", "transpose", "permute", "unsqueeze"),
    *("squeeze", "slice", "alias", "tril", "triu", "logical_not", "bitwise_not", "t"),
    *("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "bitwise_and"),
    *("bitwise_or", "__and__", "__or__", "arange", "expand_as", "repeat"),
    *(f"{how}{what}" for how in ("", "new_") for what in ("ones", "zeros", "full", "tensor")),
    *("ones_like", "zeros_like", "full_like", "scalar_tensor"),
    *("empty", "fill", "lift_fresh", "detach"),  # of torch.tensor()
    *_BIAS,
)
"""What may lie between a product and the softmax, also in place."""
ADDS = ("aten::add", "aten::add_")
_REACH = 40
"""Operators between the softmax and a product: scale, mask or bias and what makes it, dropout,
cast."""


class Attention(Struct, frozen=True):
    """Chains of a batched product, a softmax and a batched product, in the measured steps.

    Nothing but scaling, masks, biases, casts and dropout lies between them. Rows are of the call
    tree.
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
    between, bias = (
        context.rows.named(*(f"aten::{name}{end}" for name in names for end in ("", "_")))[row]
        for names in (_BETWEEN, _BIAS)
    )
    adds, thread = context.rows.named(*ADDS)[row], context.call_tree.thread[row]
    last = _reach(place, 1, product, between & ~bias, bias, adds)
    first = _reach(place, -1, product, between, bias, adds)
    whole = (first >= 0) & (last >= 0) & (thread[first] == thread[last])
    first, last = first[whole], last[whole]
    return Attention(row[first], row[place[whole]], row[last], _covered(context, row, first, last))


def _covered(context: Context, row: TreeRow, first: Int, last: Int) -> Bool:
    """Rows from the first of each chain to its last, both indices into `row`; shape (n,)."""
    opened = np.bincount(first, minlength=len(row) + 1)
    opened -= np.bincount(last + 1, minlength=len(row) + 1)
    return mask_of(row[np.cumsum(opened[:-1]) > 0], len(context.call_tree))


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
    opens, closes = mask_of(first, len(call_tree)), mask_of(last, len(call_tree))
    around = call_tree.nearest(opens | closes)
    product = np.flatnonzero(context.rows.named(*_BATCHED) & (around >= 0))
    begin = least_by(around[product], call_tree.start[product], len(call_tree))
    end = greatest_by(around[product], call_tree.end[product], len(call_tree))
    rows = np.flatnonzero(around >= 0)
    of, start = around[rows], call_tree.start[rows]
    ahead = opens[of] & ~closes[of] & (start < begin[of])
    after = closes[of] & ~opens[of] & (start >= end[of])
    return mask_of(rows[ahead | after], len(call_tree))


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


def _reach(place: Int, step: int, product: Bool, between: Bool, bias: Bool, adds: Bool) -> Int:
    """First product on one side of each softmax, only `between` on the way; or -1.

    What computes a bias lies beyond what adds something.
    """
    found = np.full(len(place), -1, np.int64)
    open_, added = np.ones(len(place), bool), np.zeros(len(place), bool)
    for distance in range(1, _REACH + 1):
        at = place + step * distance
        open_ &= (at >= 0) & (at < len(product))
        here = np.where(open_, at, 0)
        hit = open_ & product[here]
        found[hit] = here[hit]
        added |= open_ & adds[here]
        open_ &= ~hit & between[here] & (added | ~bias[here])
    return found
