"""Abilities of the devices: by compute capability, by name, or by the names of their kernels."""

from __future__ import annotations

import re

from tb_hookview.analysis.device.generation import capability_by_kernels
from tb_hookview.analysis.flops.peaks import name_of, peaks_of
from tb_hookview.rules.engine.context import Context
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
