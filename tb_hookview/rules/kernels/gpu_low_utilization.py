"""The devices do nothing for more than half of the time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.types import GapIndex
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.parts import NO_STEPS
from tb_hookview.rules.engine.rule import Occurrence, Rule

_BUSY = 0.5
_NOT_COUNTED = (Cause.PROFILER, Cause.DEVICE, Cause.UNKNOWN)
"""Idle time of the profiler, at the ends of the trace, or although work is queued: that is where
kernels are missing from a trace, those of a CUDA graph for instance."""
_LITTLE = 10
"""Device events per step; a trace with no more is a snippet."""


def _find(context: Context) -> Iterator[Occurrence]:
    length = context.analysis.gaps.duration
    gaps = context.gaps.in_steps(*(cause for cause in Cause if cause not in _NOT_COUNTED))
    busy, idle = context.steps.busy_us or 0.0, context.steps.us_per_step(length[gaps].sum())
    little = np.count_nonzero(context.device_events.counted) <= _LITTLE * len(context.steps)
    if little or not context.analysis.launches_known or busy >= _BUSY * (busy + idle):
        return
    yield Occurrence(
        place="the whole step",
        everywhere=True,
        evidence=f"the devices were busy for {format_us(busy)} of {context.us_text(busy + idle)} "
        f"({busy / (busy + idle):.0%}; without the profiler's time, the ends of the trace and "
        "idle time with work queued), and idle by cause: "
        f"{_by_cause(context, gaps)}",
        count=len(context.steps),
        gaps=gaps,
        claims_gain=False,
        caveats=() if context.steps.marked else (NO_STEPS,),
        latent="all of that idle time is in the cost of other findings",
    )


def _by_cause(context: Context, gaps: GapIndex) -> str:
    table = context.analysis.gaps
    total = np.bincount(table.cause[gaps], weights=table.duration[gaps], minlength=len(Cause))
    return ", ".join(
        f"{Cause(cause).name.lower().replace('_', ' ')} "
        f"{format_us(context.steps.us_per_step(total[cause]))}"
        for cause in np.argsort(-total, kind="stable").tolist()
        if total[cause]
    )


RULE = Rule(
    id="gpu-low-utilization",
    family="kernels",
    title="The device is idle for most of the step",
    description="Devices busy for less than half of the time. Time of the profiler, the ends of "
    "the trace and idle time with work queued are not counted. At least 11 device events "
    "per step. Idle time in the cost of other findings is not in this one.",
    fix="Start with the most expensive cause, and the findings that name it. Where the host "
    "launches too late and kernels are short, raise the batch size, compile the model or use CUDA "
    "graphs.",
    reference="torch_tb_profiler, GPU utilization; Nsight Systems rules gpu_gaps, gpu_time_util; "
    "Holistic Trace Analysis, idle time breakdown",
    find=_find,
)
