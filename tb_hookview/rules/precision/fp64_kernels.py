"""Kernels that compute in double precision."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.flops.peaks import name_of, peaks_of
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.arrays.joins import unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import in_float64
from tb_hookview.rules.evidence.host import Inputs, types_with, units, with_inputs

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
_OTHER_TYPES = r"sgemm|<float[,>]|c10::Half|BFloat16"


def _asked_in_float64(context: Context) -> Bool:
    """Device events of torch's operators that compute with tensors of type double, shape (d,).

    A tensor without dimensions does not make an operator compute in its type.
    """
    wanted = types_with(context, "double") & context.rows.beginning("aten::")
    if not wanted.any():
        return np.zeros(len(context.device_events.counted), bool)
    operator = context.rows.operator_of(context.analysis.device_events.launch)
    launching = np.zeros(len(context.call_tree), bool)
    launching[operator[operator >= 0]] = True
    rows = with_inputs(context, wanted & launching, _has_double)
    asked = (operator >= 0) & rows[operator]
    if not asked.any():
        return np.asarray(asked)
    other = context.device_events.of_kinds(*_MOVES) | context.device_events.matching(_OTHER_TYPES)
    return np.asarray(asked & ~other)


def _has_double(inputs: Inputs) -> bool:
    return any(kind == "double" and shape for shape, kind in inputs)


def _find(context: Context) -> Iterator[Occurrence]:
    return _on_host(context) if context.on_host else _on_devices(context)


def _on_host(context: Context) -> Iterator[Occurrence]:
    """Yield one occurrence for what the CPU computes with tensors of type double."""
    wanted = types_with(context, "double") & context.rows.beginning("aten::")
    wanted &= context.rows.counted
    computing = with_inputs(context, wanted, _has_double) if wanted.any() else wanted
    around = context.rows.outermost_of(units(context), np.flatnonzero(computing))
    rows = np.zeros(len(wanted), bool)
    rows[around[around >= 0]] = True  # of a node the whole
    held = context.rows.host_us(rows)
    if held <= _HOST_SHARE * context.steps.duration_us:
        return
    inner = lookup(context.rows.inside(computing).astype(np.int64), context.call_tree.parent)
    saved = saved_on_cpu(context, computing & (inner != 1))
    names, place = unique_inverse(context.host.string[rows])
    time = np.bincount(place, context.call_tree.duration[rows])
    texts = context.analysis.trace.strings
    listed = ", ".join(node_name(texts[int(names[i])]) for i in np.argsort(-time)[:4])
    yield Occurrence(
        place="operators on type double",
        everywhere=True,
        evidence=f"{context.us_text(held)}, {held / context.steps.duration_us:.0%} of it, in "
        f"{listed}{' and others' if len(names) > 4 else ''}",
        count=int(np.count_nonzero(rows)),
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
        everywhere=True,
        evidence=f"{context.us_text(time)} ({share:.1%} of the busy time) in "
        f"{_operators(context, np.flatnonzero(found))}",
        count=int(np.count_nonzero(found)),
        wasted=np.flatnonzero(found),
        saved=saved_on_devices(context, np.flatnonzero(found)),
        examples=context.device_events.starts(found),
    )


def _operators(context: Context, found: DeviceEventIndex) -> str:
    """The operators of some kernels (rows of device events), most expensive first."""
    work = context.analysis.device_events
    operator = context.rows.operator_of(work.launch[found])
    string = np.where(operator >= 0, context.host.string[operator], -1)
    rows, place = unique_inverse(string)
    time = np.bincount(place, weights=work.duration[found])
    texts = context.analysis.trace.strings
    names = [texts[int(rows[i])] if rows[i] >= 0 else "no operator" for i in np.argsort(-time)]
    return ", ".join(names[:4]) + (", and others" if len(names) > 4 else "")


RULE = Rule(
    id="fp64-kernels",
    family="precision",
    title="Kernels compute in float64",
    description="Kernels whose name says that they compute in double (the type of a template or of "
    "its function for each value; parameters that the host passes do not count), products in "
    "double, or kernels of operators with tensors of type double (where input types were "
    "recorded), in 0.5% of the busy time or more. Where the model runs on the CPU such operators, "
    "with the nodes around them, in 3% of a step or more.",
    fix="Cast in the dataset (np.float32) and pass dtype= where tensors are created from Python or "
    "numpy values. Use float64 only for the few numbers that need it, and sum them seldom.",
    reference="NVIDIA tables of throughput by precision",
    find=_find,
)
