"""Lanes of devices: streams and what is drawn as curves."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.queue_length import queue_length
from tb_hookview.analysis.memory.events import AllocatorEvents
from tb_hookview.arrays.types import Int, Nanoseconds
from tb_hookview.timeline.lanes.colours import OF_CAUSE
from tb_hookview.timeline.lanes.lane import LaneItems
from tb_hookview.timeline.lanes.names import LaneNames


class Curve:
    """Steps of a number: at each moment the value that holds until the next.

    Args:
        time: nanoseconds, ascending, shape (n,).
        value: shape (n,).
        origin: where cells are counted from.
    """

    def __init__(self, time: Nanoseconds, value: Int, origin: int) -> None:
        last = np.append(time[1:] != time[:-1], True) if len(time) else np.zeros(0, bool)
        self._time, self._value, self._origin = time[last], value[last], origin

    @property
    def points(self) -> int:
        """Moments at which the number changes."""
        return len(self._time)

    def within(self, start: int, end: int, resolution: int) -> tuple[Nanoseconds, Int]:
        """Moments and values that draw the curve in [start, end).

        The value that holds at the start comes first. Of the points in a cell of `resolution` (a
        power of two of nanoseconds) the first, the least, the greatest and the last remain.
        """
        low = max(int(np.searchsorted(self._time, start, side="right")) - 1, 0)
        high = int(np.searchsorted(self._time, end, side="left"))
        level = resolution.bit_length() - 1
        return _thinned(self._time[low:high], self._value[low:high], self._origin, level)


def _thinned(time: Nanoseconds, value: Int, origin: int, level: int) -> tuple[Nanoseconds, Int]:
    """First, least, greatest and last point of each cell of 2**level nanoseconds."""
    if not len(time):
        return time, value
    cell = (time - origin) >> level
    opens = np.concatenate([[True], cell[1:] != cell[:-1]])
    first = np.flatnonzero(opens)
    group = np.cumsum(opens) - 1
    chosen = opens | np.append(opens[1:], True)
    for extreme in (np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)):
        reaches = np.flatnonzero(value == extreme[group])
        chosen[reaches[np.diff(group[reaches], prepend=-1) > 0]] = True
    return time[chosen], value[chosen]


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
