"""What the devices of a trace can do, told by their names: a trace may hold nothing else."""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.rules.context import Context

_WITH_TF32 = re.compile(
    r"\b(A2|A10|A10G|A16|A30|A40|A100|A800|A4000|A4500|A5000|A5500|A6000|L4|L20|L40|L40S|H20|H100"
    r"|H200|H800|GH200|B100|B200|B300|GB200|GB300|RTX [345]0[5-9]0)\b"
)
_WITH_TENSOR_CORES = re.compile(r"\b(V100|V100S|TITAN V|T4|T4G|TITAN RTX|RTX 20[6-8]0)\b")


def all_have_tf32(context: Context) -> bool:
    """Whether all devices that worked are of NVIDIA's compute capability 8.0 or later."""
    return _all_named(context, _WITH_TF32)


def all_have_tensor_cores(context: Context) -> bool:
    """Whether all devices that worked are of NVIDIA's compute capability 7.0 or later."""
    return _all_named(context, re.compile(f"{_WITH_TF32.pattern}|{_WITH_TENSOR_CORES.pattern}"))


def _all_named(context: Context, pattern: re.Pattern[str]) -> bool:
    """Whether the name of every device that worked fits; one without a name does not."""
    names = {device.id: device.name for device in context.analysis.trace.devices}
    used = np.unique(context.analysis.work.device[context.work]).tolist()
    return bool(used) and all(pattern.search(names.get(device, "")) for device in used)
