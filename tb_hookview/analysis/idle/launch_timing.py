"""Times of device events and their launches, for idle time and full queues."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.syncs.detection import Syncs
from tb_hookview.arrays.joins import median, unique, unique_inverse
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds
from tb_hookview.trace import EventCategory


class LaunchTiming(Struct, frozen=True, dict=True):
    """Timing of device events and of the calls that launched them; shape (d,)."""

    host: HostRows
    device_events: DeviceEvents
    syncs: Syncs
    call: Int
    """`Call` of each row of the call tree."""
    communication: Bool
    """Whether each device event is a collective's."""

    @property
    def call_tree(self) -> CallTree:
        """The nested host rows."""
        return self.host.call_tree

    @cached_property
    def busy_until(self) -> Nanoseconds:
        """Latest end of the device events that its device started before each.

        The first of a device has its own start.
        """
        return self._before[0]

    @cached_property
    def previous(self) -> DeviceEventIndex:
        """Last to end of the events its device started before each; or -1."""
        return self._before[1]

    @cached_property
    def _before(self) -> tuple[Nanoseconds, DeviceEventIndex]:
        until, previous = (
            self.device_events.start.copy(),
            np.full(len(self.device_events), -1, np.int64),
        )
        for device in unique(self.device_events.device):
            rows = np.flatnonzero(self.device_events.device == device)
            end = self.device_events.end[rows]
            reach = np.maximum.accumulate(end)
            last = np.maximum.accumulate(np.where(end == reach, np.arange(len(rows)), 0))
            until[rows[1:]] = reach[:-1]
            previous[rows[1:]] = rows[last[:-1]]
        return until, previous

    @cached_property
    def launch_start(self) -> Nanoseconds:
        """Start of the launching call of each device event, -1 where it is unknown."""
        return lookup(self.call_tree.start, self.device_events.launch)

    @cached_property
    def launch_latency(self) -> int:
        """Median time from launch to start on an idle device, nanoseconds; 0 if unknown."""
        begun = self.launch_start
        onto_idle = (begun >= 0) & (self.busy_until <= begun) & (self.device_events.start >= begun)
        return int(median((self.device_events.start - begun)[onto_idle])) if onto_idle.any() else 0

    @cached_property
    def first_of_launch(self) -> Bool:
        """First device event of each launch on its device; a graph has many."""
        first = np.zeros(len(self.device_events), bool)
        of_launch = unique_inverse(self.device_events.device)[1]
        of_launch = of_launch + (self.device_events.launch + 1) * (of_launch.max(initial=0) + 1)
        first[np.unique(of_launch, return_index=True)[1]] = True
        return first & (self.device_events.launch >= 0)

    @cached_property
    def queued_before(self) -> Bool:
        """Events launched before the trace began."""
        return queued_before(self.host, self.device_events)


def queued_before(host: HostRows, device_events: DeviceEvents) -> Bool:
    """Events launched before the trace began: their correlation id is below every call's."""
    events = host.trace.events
    calls = events.correlation[host.call_tree.event[host.kind == EventCategory.RUNTIME]]
    calls = calls[calls >= 0]
    mine = events.correlation[device_events.event]
    first = calls.min() if len(calls) else 0
    return np.asarray((device_events.launch < 0) & (mine >= 0) & (mine < first))
