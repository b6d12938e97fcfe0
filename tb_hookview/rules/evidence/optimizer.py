"""What the optimizer launches: kernels as large as the parameters, whatever the batch is."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, GapIndex, Nanoseconds
from tb_hookview.rules.engine.context import Context
from tb_hookview.schema import Phase

_NEARLY_ALL = 0.8
"""Part of the time from which on a remedy is the optimizer's."""
FIX = (
    "Nearly all of it is the optimizer's, whose kernels are as large as the parameters: a larger "
    "batch neither makes them larger nor fewer. Update many parameters in one kernel: pass "
    "fused=True or foreach=True to the optimizer, put one of your own on torch._foreach_* "
    "functions, or compile its step; or replay the step from a CUDA graph (capturable=True)."
)
"""Instead of a larger batch, where the optimizer launches nearly all."""


def fix_of_gaps(context: Context, gaps: GapIndex) -> str:
    """Return `FIX` where nearly all of some gaps' time is before what the optimizer launched."""
    table = context.analysis.gaps
    return fix_of_events(context, table.device_event[gaps], table.duration[gaps])


def fix_of_events(context: Context, events: DeviceEventIndex, time: Nanoseconds) -> str:
    """Return `FIX` where nearly all of a time of some device events is the optimizer's."""
    mine = time[launched_by_optimizer(context, events)].sum()
    return FIX if mine > _NEARLY_ALL * time.sum() else ""


def launched_by_optimizer(context: Context, events: DeviceEventIndex) -> Bool:
    """Whether the optimizer launched each of some device events (-1 for none)."""
    launch = lookup(context.analysis.device_events.launch, events)
    return np.asarray(lookup(context.analysis.phases.row, launch) == Phase.OPTIMIZER)
