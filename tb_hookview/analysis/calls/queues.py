"""Device events of each stream in order: which of them were launched, or done, by a moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Nanoseconds


class StreamQueue(Struct, frozen=True):
    """Device events of one stream by start, shape (d,)."""

    launched: Nanoseconds
    """Latest start of a launching call so far; -1 where all were launched before the trace."""
    ended: Nanoseconds
    """Latest end so far."""
    last: DeviceEventIndex
    """The event that ended then."""

    def ahead(
        self, launched: Nanoseconds, ended: Nanoseconds, partly: Bool
    ) -> tuple[DeviceEventIndex, Bool]:
        """Last to end of the events launched before some moments, if all ended by others.

        Args:
            launched: moments that they were launched before, shape (c,).
            ended: moments by which they ended.
            partly: where not all did, whether the last that did is wanted.

        Returns:
            The event, -1 for none, and whether any had not ended.
        """
        place = np.searchsorted(self.launched, launched) - 1
        done = np.searchsorted(self.ended, ended, side="right") - 1
        unfinished = place > done
        place = np.where(unfinished, np.where(partly, done, -1), place)
        return lookup(self.last, place), unfinished


def stream_queues(call_tree: CallTree, device_events: DeviceEvents) -> Sequence[StreamQueue]:
    """Put the events of each stream in order."""
    order = np.argsort(device_events.stream, kind="stable")  # each by start, as all
    bounds = np.flatnonzero(np.diff(device_events.stream[order]))
    launched = lookup(call_tree.start, device_events.launch)
    queues = []
    for rows in np.split(order, bounds + 1) if len(order) else ():
        end = device_events.end[rows]
        ended = np.maximum.accumulate(end)
        latest = np.maximum.accumulate(np.where(end == ended, np.arange(len(rows)), 0))
        launches = np.maximum.accumulate(launched[rows])
        queues.append(StreamQueue(launches, ended, rows[latest]))
    return queues


def previous_on_stream(device_events: DeviceEvents) -> DeviceEventIndex:
    """Event of the same stream that began before each, -1 for none; shape (d,)."""
    order = np.argsort(device_events.stream, kind="stable")
    previous = np.full(len(order), -1, np.int64)
    same = np.flatnonzero(np.diff(device_events.stream[order]) == 0)
    previous[order[same + 1]] = order[same]
    return previous
