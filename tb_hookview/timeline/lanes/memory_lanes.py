"""Lanes of memory: bytes that an allocator has given out, and that it holds."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.memory.events import AllocatorEvents
from tb_hookview.arrays.types import Int
from tb_hookview.timeline.lanes.curves import Curve


def memory_curve(analysis: Analysis, events: AllocatorEvents, total: Int, device: int) -> Curve:
    """One total of a device, where the trace knows it.

    Args:
        analysis: the trace.
        events: of its allocators.
        total: bytes after each event, -1 for unknown.
        device: index into `events.devices`.
    """
    mine = np.arange(len(events))[events.of(device)]
    known = mine[total[mine] >= 0]
    return Curve(events.time[known], total[known], analysis.bounds[0])
