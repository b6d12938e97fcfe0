"""Lanes of a device: idle time by cause, its queue of launched device events, and its memory."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.queue_length import queue_length
from tb_hookview.analysis.memory.events import AllocatorEvents
from tb_hookview.arrays.types import Int
from tb_hookview.timeline.lanes.colours import OF_CAUSE
from tb_hookview.timeline.lanes.curves import Curve
from tb_hookview.timeline.lanes.lane import LaneItems
from tb_hookview.timeline.lanes.names import LaneNames


def idle_items(analysis: Analysis, names: LaneNames, device: int) -> LaneItems:
    """Idle time of a device by cause.

    The source of an item is its row of `Gaps`.
    """
    gaps = analysis.gaps
    rows = np.flatnonzero(gaps.device == device)
    cause = gaps.cause[rows]
    return LaneItems(gaps.start[rows], gaps.end[rows], names.cause + cause, OF_CAUSE[cause], rows)


def queue_curve(analysis: Analysis, device: int) -> Curve:
    """Number of device events that were launched and have not begun."""
    queue = queue_length(
        analysis.call_tree, analysis.device_events, analysis.device_events.device == device
    )
    return Curve(queue.time, queue.length, analysis.bounds[0])


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
