"""Least compute capability of NVIDIA devices, by the names of the kernels they ran.

A kernel runs on the generation it is named for and on later ones, so the latest name counts.
"""

from __future__ import annotations

import re

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.arrays.joins import unique
from tb_hookview.trace import Trace

_NAMES = (
    ((10, 0), re.compile(r"(?<![a-z])sm1[0-2]\d[af]?(?!\d)|tcgen05|utcmma")),
    ((9, 0), re.compile(r"(?<![a-z])sm90|^nvjet|wgmma|\bcutlass3x_sm90")),
    ((8, 0), re.compile(r"(?:^|[ _:])ampere_|(?<![a-z])sm8[0-9](?!\d)|cutlass_8\d_|16816")),
    ((7, 5), re.compile(r"(?:^|[ _:])turing_|(?<![a-z])sm75(?!\d)|cutlass_75_|1688(?!\d)")),
    ((7, 0), re.compile(r"(?:^|[ _:])volta_|(?<![a-z])sm7[02](?!\d)|cutlass_70_|[hs]884")),
)


def capability_by_kernels(
    trace: Trace, device_events: DeviceEvents, device: int
) -> tuple[int, int]:
    """Least capability of a device that runs what it ran; (0, 0) where no name says."""
    if trace.runtime != "cuda":
        return 0, 0
    chosen = device_events.event[device_events.device == device]
    names = [trace.strings[name].lower() for name in unique(trace.events.name[chosen]).tolist()]
    for capability, pattern in _NAMES:
        if any(pattern.search(name) for name in names):
            return capability
    return 0, 0
