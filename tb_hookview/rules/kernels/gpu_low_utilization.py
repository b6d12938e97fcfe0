"""The devices do nothing for more than half of the time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.types import Int
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_BUSY = 0.5
_NOT_COUNTED = (Cause.PROFILER, Cause.DEVICE, Cause.UNKNOWN)
"""Idle time that is the profiler's, at the ends of the trace, or before work launched in time: that
is where kernels are missing from a trace, those of a CUDA graph for instance."""
_LITTLE = 10
"""Pieces of work a step; a trace with no more is a snippet."""
_LONG_NS = 1_000_000
_NO_STEPS = (
    "The trace marks no steps; gaps of more than 1 ms are left out, as they may be of its set-up.",
)


def _match(context: Context) -> Iterator[Occurrence]:
    length = context.analysis.gaps.duration
    gaps = context.gaps_of(*(cause for cause in Cause if cause not in _NOT_COUNTED))
    if not context.has_steps:
        gaps = gaps[length[gaps] <= _LONG_NS]
    busy, idle = context.busy_us or 0.0, context.per_step(length[gaps].sum())
    little = np.count_nonzero(context.work) <= _LITTLE * len(context.steps)
    if little or not context.analysis.launches_known or busy >= _BUSY * (busy + idle):
        return
    yield Occurrence(
        place="the whole step",
        everywhere=True,
        evidence=f"the devices were busy for {busy:.1f} of {busy + idle:.1f} us a step "
        f"({busy / (busy + idle):.0%}; without the profiler's time, the ends of the trace and "
        "pauses before work launched in time), and idle by cause: "
        f"{_by_cause(context, gaps)}",
        count=len(context.steps),
        gaps=gaps,
        claims_gain=False,
        caveats=() if context.has_steps else _NO_STEPS,
        latent="other findings are billed for all of that idle time",
    )


def _by_cause(context: Context, gaps: Int) -> str:
    table = context.analysis.gaps
    total = np.bincount(table.cause[gaps], weights=table.duration[gaps], minlength=len(Cause))
    return ", ".join(
        f"{Cause(cause).name.lower().replace('_', ' ')} {context.per_step(total[cause]):.1f} us"
        for cause in np.argsort(-total, kind="stable").tolist()
        if total[cause]
    )


RULE = Rule(
    id="gpu-low-utilization",
    family="kernels",
    title="The device is idle for most of the step",
    matches="Devices busy for less than half of the time; the profiler's, the ends of the trace "
    "and pauses before work launched in time are not counted. At least 11 pieces of work a step. "
    "Idle time that other findings are billed for is not billed again.",
    fix="Follow the dearest cause, and the findings that name it. Where the host launches too late "
    "and kernels are short, raise the batch size, compile the model or use CUDA graphs.",
    reference="torch_tb_profiler, GPU utilization; Nsight Systems rules gpu_gaps, gpu_time_util; "
    "Holistic Trace Analysis, idle time breakdown",
    match=_match,
)
