"""Rules about types and shapes for which devices are slow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.flops.peaks import name_of, peaks_of
from tb_hookview.arrays.joins import mask_of, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, TreeRow
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import (
    Product,
    all_have_tensor_cores,
    all_have_tf32,
    attention,
    device_events_of,
    float32_products,
    in_float64,
    in_tf32,
    may_be_of_convolutions,
    named_so,
    products_of,
    shaped_so,
    tf32_speedup,
    too_small,
)
from tb_hookview.rules.evidence.host import Inputs, inputs_of, types_with, units, with_inputs

# Kernels that compute in double precision.


BYTES = 0.5
"""Of what memory or the width of vector registers bounds: half as many bytes for each number."""
_ON_CPU = (
    (re.compile(r"layer_norm|group_norm|batch_norm"), 0.15),
    (re.compile(r"conv"), 0.7),
    (re.compile(r"gelu|tanh|erf"), 0.75),
    (re.compile(r"softmax|sigmoid|cross_entropy|silu|logsumexp"), 0.6),
)
"""By name; `BYTES` for any other, and for products. Timed on one thread of a Xeon (torch 2.13, 256
rows of 64, 256 and 1,024 numbers), the middle of the three: layer_norm saved 0.15, conv2d 0.70,
gelu 0.83, tanh 0.74, log_softmax 0.65, sigmoid 0.57; mm 0.50, add 0.62, relu 0.47, sum 0.42."""


def saved_on_cpu(context: Context, rows: Bool) -> float:
    """Time that float32 saves of some operators with tensors of type double, nanoseconds.

    Args:
        context: the trace.
        rows: operators, none of which is around another, shape (n,).
    """
    found = np.flatnonzero(rows)
    time = context.call_tree.duration[found]
    parts = np.array([_saved_by(context.host.name(row)) for row in found.tolist()])
    return float((time * parts).sum())


def _saved_by(name: str) -> float:
    return next((saved for pattern, saved in _ON_CPU if pattern.search(name)), BYTES)


def saved_on_devices(context: Context, events: DeviceEventIndex) -> float:
    """Part of the time of some device events that float32 saves.

    Products gain by the peaks of their device, float64 on tensor cores where it has such, against
    float32 without TF32. On an A100 or H100 these are equal.
    """
    work = context.analysis.device_events
    time, device = work.duration[events], work.device[events]
    ratio = np.full(len(events), BYTES)
    is_product = context.device_events.of_kinds("matrix")[events]
    for number in unique(device[is_product]).tolist():
        ratio[is_product & (device == number)] = _saved_by_peaks(context, number)
    return float((time * ratio).sum() / max(time.sum(), 1))


def _saved_by_peaks(context: Context, device: int) -> float:
    peaks = peaks_of(name_of(context.analysis.trace.devices, device))
    tflops = peaks.tflops if peaks else {}
    if "float64" not in tflops:
        return BYTES
    double = tflops.get("float64_tensor", tflops["float64"])
    return max(0.0, 1 - double / tflops["float32"])


_SHARE = 0.005
_HOST_SHARE = 0.03
"""Part of a step from which on it counts on the CPU."""
_MOVES = ("copy", "communication")
_OTHER_TYPES = ("sgemm", "<float,", "<float>", "c10::Half", "BFloat16")


def _asked_in_float64(context: Context) -> Bool:
    """Device events of torch's operators that compute with tensors of type double, shape (d,).

    A tensor without dimensions does not make an operator compute in its type.
    """
    operator = context.rows.operator_of(context.analysis.device_events.launch)
    wanted = mask_of(operator[operator >= 0], len(context.call_tree))
    wanted &= context.rows.beginning("aten::")
    rows = with_inputs(context, types_with(context, wanted, "double"), _has_double)
    asked = np.asarray(lookup(rows, operator) == 1)
    if not asked.any():
        return asked
    events = context.device_events
    return np.asarray(asked & ~events.of_kinds(*_MOVES) & ~events.containing(*_OTHER_TYPES))


def _has_double(inputs: Inputs) -> bool:
    """Complex numbers too: c10::complex<double>."""
    return any("double" in kind and shape for shape, kind in inputs)


def _on_host(context: Context) -> Iterator[Occurrence]:
    """Yield one occurrence for what the CPU computes with tensors of type double."""
    wanted = context.rows.beginning("aten::") & context.rows.counted
    computing = with_inputs(context, types_with(context, wanted, "double"), _has_double)
    around = context.rows.outermost_of(units(context), np.flatnonzero(computing))
    rows = np.zeros(len(wanted), bool)
    rows[around[around >= 0]] = True  # of a node the whole
    held = context.rows.host_us(rows)
    if held <= _HOST_SHARE * context.steps.duration_us:
        return
    inner = lookup(context.rows.inside(computing), context.call_tree.parent)
    saved = saved_on_cpu(context, computing & (inner != 1))
    names = [name for name, _ in context.rows.times_by_name(rows)]
    listed = ", ".join(names[:4])
    yield Occurrence(
        place="operators on type double",
        evidence=f"{context.part_text(held)}, in {listed}{' and others' if len(names) > 4 else ''}",
        host=context.rows.host_time(rows),
        saved=min(saved / max(int(context.call_tree.duration[rows].sum()), 1), 1.0),
        examples=context.call_tree.start[rows],
        title="Operators compute in float64",
    )


def _on_devices(context: Context) -> Iterator[Occurrence]:
    found = (in_float64(context) | _asked_in_float64(context)) & context.device_events.counted
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    if share < _SHARE:
        return
    yield Occurrence(
        place="kernels of type double",
        evidence=f"{context.us_text(time)} ({share:.1%} of device work) in "
        f"{_operators(context, np.flatnonzero(found))}",
        wasted=np.flatnonzero(found),
        saved=saved_on_devices(context, np.flatnonzero(found)),
    )


def _operators(context: Context, found: DeviceEventIndex) -> str:
    """The operators of some kernels (rows of device events), most expensive first."""
    work = context.analysis.device_events
    operator = context.rows.operator_of(work.launch[found])
    rows, place = unique_inverse(lookup(context.host.string, operator))
    time = np.bincount(place, weights=work.duration[found])
    texts = context.analysis.trace.strings
    names = [texts[int(rows[i])] if rows[i] >= 0 else "no operator" for i in np.argsort(-time)]
    return ", ".join(names[:4]) + (", and others" if len(names) > 4 else "")


FP64_KERNELS = Rule(
    id="fp64-kernels",
    family="precision",
    title="Kernels compute in float64",
    description="Kernels whose name says that they compute in double (the type of a template or of "
    "its function for each value; parameters that the host passes do not count), products in "
    "double, or kernels of operators with tensors of type double (where input types were "
    "recorded), in 0.5% of device work or more. Where the model runs on the CPU such operators, "
    "with the nodes around them, in 3% of a step or more.",
    fix="Cast in the dataset (np.float32) and pass dtype= where tensors are created from Python or "
    "numpy values. Use float64 only for the few numbers that need it, and sum them rarely.",
    reference="NVIDIA tables of throughput by precision",
    find=lambda context: _on_host(context) if context.on_host else _on_devices(context),
)


# Matrix products in float32 run at full precision on a device that has TF32.


_OPERATORS = (
    *("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::addbmm"),
    *("aten::mv", "aten::addmv", "aten::linear", "aten::matmul", "aten::_addmm_activation"),
)
_SHARE_TF32_DISABLED = 0.01


def _find_tf32_disabled(context: Context) -> Iterator[Occurrence]:
    if not all_have_tf32(context):
        return
    asked = _of_products(context) & context.device_events.counted
    found = asked & float32_products(context) & ~too_small(context)
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    faster, known = tf32_speedup(context)
    enabled = (asked & in_tf32(context)).any()
    if share >= _SHARE_TF32_DISABLED and not enabled and faster > 1:
        yield Occurrence(
            place="matrix products",
            evidence=f"{context.us_text(time)} ({share:.0%} of device work) in float32 "
            "kernels without tensor cores, and no matrix product in TF32"
            f"{_phrase_without(context, found)}",
            wasted=np.flatnonzero(found),
            saved=1 - 1 / faster,
            caveats=(
                f"Assumes that products become {faster:.1f} times as fast{known}; small ones are "
                "bound by memory and gain little.",
            ),
        )


def _of_products(context: Context) -> Bool:
    """Device events that operators of matrix products launched, or no operator, shape (d,)."""
    inside = context.rows.inside(context.rows.named(*_OPERATORS))
    unnamed = _without_operator(context) & context.device_events.of_kinds("matrix")
    return np.asarray(context.device_events.launched_by(inside) | unnamed)


def _without_operator(context: Context) -> Bool:
    """Device events of CUDA graphs, or launched in no operator of torch."""
    launch = context.analysis.device_events.launch
    alone = (launch >= 0) & (context.rows.operator_of(launch) < 0)
    return np.asarray(context.device_events.of_graph | alone)


def _phrase_without(context: Context, found: Bool) -> str:
    found = found & _without_operator(context)
    if not found.any():
        return ""
    time = context.us_text(context.device_events.us_per_step(found))
    if (context.device_events.of_graph & found).any():
        return f"; {time} of it is in CUDA graphs, whose operators the trace lacks"
    return f"; {time} of it was launched outside of operators"


TF32_DISABLED = Rule(
    id="tf32-disabled",
    family="precision",
    title="Float32 matrix products do not use TF32",
    description="Operators of matrix products, CUDA graphs or launches in no operator run "
    "kernels of float32 without tensor cores (sgemm, f32f32) in 1% of device work or more, and "
    "none in TF32, on NVIDIA devices of compute capability 8.0 or more whose peak in TF32 is not "
    "that in float32, as GeForce's are. Kernels too small to gain (see tensor-cores-unused) do not "
    "count. (Convolutions use TF32 by default.)",
    fix='Call torch.set_float32_matmul_precision("high") if a mantissa of 10 bits is enough, or '
    "run under torch.autocast with bfloat16.",
    reference="CUDA semantics, TensorFloat-32; pattern matcher FP32MatMul",
    find=_find_tf32_disabled,
)


# Matrix products and convolutions, none of them on tensor cores.


_IN_FLOAT32 = ("fmha_cutlassF_f32_", "fmha_cutlassB_f32_")
_SHARE_TENSOR_CORES_UNUSED = 0.05
"""Part of device work; with less to gain, nobody changes a precision."""
_UNKNOWN = 0.1
"""Part of the time in such kernels up to which their names may leave the use open."""
_FASTER = 2.0
"""Times as fast, at least, on devices without TF32; mixed precision makes it 2 to 4."""
_SUMS = "splitKreduce"
_THIN = f"gemv|gemmSN_|{_SUMS}"
"""Products of a matrix with a vector or a few, and sums of a product's parts: they read memory."""
_IN_HALF = ("__half", "__nv_bfloat16")
_ALLOW_TF32 = (
    "Convolutions use TF32 by default, where cuDNN finds it quicker: if it was turned off, set "
    "torch.backends.cudnn.allow_tf32 = True again where a mantissa of 10 bits is enough. "
)


_HALVES = "Keep sizes multiples of 8. Lower precision halves copies and activations as well."


def _find_tensor_cores_unused(context: Context) -> Iterator[Occurrence]:
    able = (
        context.device_events.of_kinds("matrix", "convolution", "attention")
        & context.device_events.counted
        & ~context.analysis.kinds.unfused
    )
    thin = able & context.device_events.matching(_THIN)
    able &= ~(thin & context.device_events.containing(*_IN_HALF))
    cores, us_per_step = context.analysis.kinds.tensor_core, context.device_events.us_per_step
    if not all_have_tensor_cores(context) or (able & (cores == 1) & ~_in_float32(context)).any():
        return
    unknown = us_per_step(able & (cores < 0))
    if unknown > _UNKNOWN * us_per_step(able):
        return
    able &= (cores == 0) & ~in_float64(context) & ~too_small(context)
    faster, fix = _FASTER, _lower_precision(context)
    tf32 = us_per_step(context.device_events.counted & in_tf32(context))
    if all_have_tf32(context) and tf32_speedup(context)[0] > 1:
        sums = context.device_events.matching(_SUMS)
        able &= ~((float32_products(context) | sums) & _of_products(context))  # see `tf32-disabled`
        if not tf32:
            faster = max(faster, tf32_speedup(context)[0])
            if (able & context.device_events.of_kinds("convolution")).any():
                fix = _ALLOW_TF32 + fix
    share = context.device_events.share(able)
    if share >= _SHARE_TENSOR_CORES_UNUSED and us_per_step(able) > tf32:
        bound_us = us_per_step(able & thin)
        part = bound_us / us_per_step(able)
        yield Occurrence(
            place="matrix products and convolutions",
            evidence=f"{context.us_text(us_per_step(able))} ({share:.0%} of device work) in "
            "kernels of matrix products, convolutions and attention without tensor cores, on a "
            f"device that has them{_open(unknown)}{_tf32(tf32)}{_memory(bound_us)}",
            wasted=np.flatnonzero(able),
            saved=(1 - part) * (1 - 1 / faster) + part * BYTES,
            caveats=(_assumed(faster, part),),
            title="Tensor cores are used by some products only" if tf32 else "",
            fix=fix,
        )


def _lower_precision(context: Context) -> str:
    """The remedy by device and program: bfloat16 from Ampere on, a GradScaler with a backward."""
    newer = all_have_tf32(context)
    if context.trains or not context.syncs.operators_known:
        scaled = "float16 and a GradScaler (bfloat16 is on tensor cores from Ampere on)"
        how = "Run forward and loss, not the backward, under torch.autocast with "
        return f"{how}{'bfloat16' if newer else scaled}. {_HALVES}"
    kind, convert = ("bfloat16", "to(torch.bfloat16)") if newer else ("float16", "half()")
    without = "" if newer else " (bfloat16 is on tensor cores from Ampere on)"
    return (
        f"Convert model and inputs to {kind}{without}: .{convert}, or run the model under "
        f"torch.autocast with {kind}; both in torch.inference_mode(). {_HALVES}"
    )


def _in_float32(context: Context) -> Bool:
    """Kernels of float32 on tensor cores (attention in parts, TF32): no mixed precision."""
    events = context.device_events
    return events.beginning(*_IN_FLOAT32) | in_tf32(context)


def _tf32(us: float) -> str:
    return f"; others, {format_us(us)}, compute in TF32" if us else ""


def _memory(us: float) -> str:
    return (
        f"; {format_us(us)} of it is bound by memory, as products with a vector are" if us else ""
    )


def _assumed(faster: float, part: float) -> str:
    """Caveat on kernels of which that part of the time is bound by memory."""
    assumes, read_less = "Assumes that such kernels become {:.1f} times as fast", 1 / (1 - BYTES)
    if part == 1:
        return f"{assumes.format(read_less)}: they read that much less."
    others = f", those bound by memory {read_less:.1f} times" if part and faster > read_less else ""
    return f"{assumes.format(faster)}{others}."


def _open(unknown_us: float) -> str:
    if not unknown_us:
        return ""
    return f"; the names of others, {format_us(unknown_us)}, leave their use open"


TENSOR_CORES_UNUSED = Rule(
    id="tensor-cores-unused",
    family="precision",
    title="Tensor cores are not used",
    description="NVIDIA devices of compute capability 7.0 or more, by the trace or by name; matrix "
    "products, convolutions or attention without them in 5% of device work or more; none of "
    "their kernels on tensor cores by its name (attention in float32 aside, and TF32 in less than "
    "half of the time), and no more than a tenth of their time in kernels whose names leave that "
    "unknown. Kernels that a single multiprocessor could compute in a tenth of their time (180 "
    "GFLOP/s), with operands and results moved in as little (300 GB/s), do not count.",
    fix="Run forward and loss, not the backward, under torch.autocast with bfloat16; before Ampere "
    f"(V100, T4) with float16 and a GradScaler. Of inference convert model and inputs. {_HALVES}",
    reference="torch.amp documentation; torch_tb_profiler, tensor cores",
    find=_find_tensor_cores_unused,
)


# Training on tensor cores in TF32, everything else in float32.


_BUSY = 0.8
"""Part of a step from which on device work decides how long it is."""
_IN_TF32 = 0.05
_IN_FLOAT = 0.5
_LITTLE = 0.01
"""Part of device work in half precision up to which it is no mixed precision."""
_NAMES_HALF = ("Half", "half", "bfloat16", "BFloat16", "bf16", "f16", "fp16", "h16816", "h884")
_STATES = ("multi_tensor_apply", "FusedAdam", "FusedSgd")
"""Kernels of optimizers, whose states stay in float32."""
_UPPER_BOUND = (
    "Assumes half the time for these kernels, an upper bound: they move half the bytes, and tensor "
    "cores are twice as fast as in TF32; but autocast leaves losses, softmax and many sums in "
    "float32, and casts take time."
)


def _find_float32_training(context: Context) -> Iterator[Occurrence]:
    events = context.device_events
    work_us = events.work_us / max(len(events.devices), 1)
    if not context.trains or work_us < _BUSY * context.steps.measured_us:
        return
    half = events.containing(*_NAMES_HALF)
    products = events.of_kinds("matrix", "convolution", "attention") & in_tf32(context)
    if events.share(products) < _IN_TF32 or events.share(half) > _LITTLE:
        return
    others = events.containing("float") & ~events.containing(*_STATES)
    others &= ~(products | half | events.of_kinds("communication"))
    found = (products | others) & events.counted
    if not all_have_tf32(context) or events.share(found) < _IN_FLOAT:
        return
    share, others_share = events.share(products), events.share(others)
    yield Occurrence(
        place="the model",
        evidence=f"{context.us_text(events.us_per_step(products))} ({share:.0%} of device work) in "
        f"products and convolutions in TF32, {format_us(events.us_per_step(others))} "
        f"({others_share:.0%}) in other kernels of float32, and none in half precision",
        wasted=np.flatnonzero(found),
        saved=BYTES,
        caveats=(_UPPER_BOUND,),
        fix=_lower_precision(context),
    )


FLOAT32_TRAINING = Rule(
    id="float32-training",
    family="precision",
    title="Training runs in float32, without mixed precision",
    description="Training on NVIDIA devices of compute capability 8.0 or more that compute for "
    "80% of a step or more (of a trace without steps, less its set-up): 5% of device work or more "
    "in products and convolutions in TF32, half of it or more in these and in other kernels of "
    "float32 by their names (collectives and optimizers aside), and no more than 1% in half "
    "precision.",
    fix=f"Run forward and loss, not the backward, under torch.autocast with bfloat16. {_HALVES}",
    reference="torch.amp documentation; PyTorch, Automatic Mixed Precision recipe",
    confidence="low",
    find=_find_float32_training,
)


# Matrix products on tensor cores whose sizes do not fit their loads.


_SHARE_MATMUL_MISALIGNED = 0.01
_OR_CONVOLUTIONS = (
    "The trace lacks the operators of {} of it: these may be convolutions, whose sizes are "
    "channels and pixels."
)
_LISTED = 3
"""Products that the evidence lists."""


def _find_matmul_misaligned(context: Context) -> Iterator[Occurrence]:
    named, shaped = named_so(context), shaped_so(context)
    found = named | shaped
    if found.any():
        found &= ~device_events_of(context, attention(context))
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    open_ = found & may_be_of_convolutions(context)
    unknown = context.device_events.us_per_step(open_)
    if share >= _SHARE_MATMUL_MISALIGNED:
        yield Occurrence(
            place="matrix products",
            evidence=f"{context.us_text(time)} ({share:.0%} of device work) in kernels of "
            f"matrix products that load less than 16 bytes at once: {np.sum(named & found)} in "
            f"{context.steps.text} by their names, {np.sum(shaped & found)} by the shapes of what "
            "they multiply" + _sizes(context, found),
            wasted=np.flatnonzero(found),
            claims_gain=False,
            confidence="low" if 2 * unknown > time else None,
            caveats=(
                "The cost is all the time of these kernels; aligned ones take time too.",
                *([_OR_CONVOLUTIONS.format(format_us(unknown))] if unknown else []),
            ),
        )


def _sizes(context: Context, found: Bool) -> str:
    """Phrase of the products that take most of the time, with their odd sizes."""
    events = context.analysis.device_events
    kernels = np.flatnonzero(found)
    operator = context.rows.operator_of(events.launch[kernels])
    time: Counter[str] = Counter()
    for product, kernel, duration in zip(
        products_of(context, operator),
        kernels.tolist(),
        events.duration[kernels].tolist(),
        strict=True,
    ):
        if product is not None:
            time[_phrase(product, context.device_events.name_of(kernel))] += duration
    known = context.steps.us_per_step(sum(time.values()))
    listed = [
        f"{phrase}: {format_us(context.steps.us_per_step(each))}"
        for phrase, each in time.most_common(_LISTED)
    ]
    kernels = kernels[~_recorded(context, operator)]
    unknown = context.steps.us_per_step(events.duration[kernels].sum())
    if unknown > known:
        listed.append(f"the trace has no shapes for {format_us(unknown)} of it")
    return "".join(f"; {phrase}" for phrase in listed)


def _recorded(context: Context, operators: TreeRow) -> Bool:
    """Whether the trace has the inputs of each of some operators of torch (-1 for none)."""
    of_torch = lookup(context.rows.beginning("aten::"), operators) == 1
    return np.asarray(of_torch & (inputs_of(context, operators)[1] >= 0))


def _phrase(product: Product, kernel: str) -> str:
    odd = " and ".join(product.odd(kernel)) or "no size odd, so a stride or an address is"
    return (
        f"{product.operator} of {product.rows} x {product.inner} by {product.inner} x "
        f"{product.columns} ({odd})"
    )


MATMUL_MISALIGNED = Rule(
    id="matmul-misaligned",
    family="precision",
    title="Matrix product sizes are not aligned for tensor cores",
    description="Kernels of matrix products on tensor cores with align1 or align2 in their names "
    "(in half precision align4 as well; float64 apart), or products in half precision on NVIDIA "
    "devices whose result has rows of a length that 8 does not divide, in 1% of device work or "
    "more. Convolutions do not count; kernels that may be of convolutions, as the trace lacks "
    "their operators, make the confidence low. Those of attention by its parts are in "
    "attention-unfused.",
    fix="Pad the odd size to a multiple of 8 (better 64), of 4 for TF32. Columns and inner sizes "
    "of a layer's forward are features: vocabulary, classes, hidden sizes. Rows, and sizes of "
    "batched products, come from the data: pad or pack sequences, and drop the last odd batch "
    "(drop_last=True).",
    reference="NVIDIA, Matrix Multiplication Background; pattern matcher MatMulDim",
    find=_find_matmul_misaligned,
)
