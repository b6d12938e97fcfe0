"""What float32 saves of time in float64: by operator on the CPU, by peak rates on a device."""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.flops.peaks import name_of, peaks_of
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, DeviceEventIndex
from tb_hookview.rules.engine.context import Context

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
