"""Times of device events and their launches, for idle time and full queues."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import (
    first_of_each,
    lower_quartile,
    median,
    setdiff,
    unique,
    unique_inverse,
)
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds, TreeRow
from tb_hookview.trace import EventCategory

SLOW = 20
"""Multiple of its name's median from which on a launch is slow.

The first launch of a kernel whose code is in place takes up to 15 times the median."""

_USUAL_NS = 50_000
"""Latency below which all launches onto idle CUDA and HIP devices are."""


class LaunchTiming(Struct, frozen=True, dict=True):
    """Timing of device events and of the calls that launched them; shape (d,)."""

    host: HostRows
    device_events: DeviceEvents
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
        """Time from a launch to its start on an idle device, nanoseconds; 0 if unknown.

        The lower quartile of (start - start of the launching call) over the first event of each
        launch that began no earlier than the end of all its device had started. A quarter of them
        has to be free of anything else that delays a start: a call that loads code, a device busy
        with what is not in the trace. The first event of a device is left out, because what the
        device did before is not in the trace: it need not have been idle.
        """
        begun, start = self.launch_start, self.device_events.start
        onto_idle = (begun >= 0) & (self.busy_until <= begun) & (start >= begun)
        onto_idle &= self.first_of_launch & (self.previous >= 0)
        return int(lower_quartile((start - begun)[onto_idle])) if onto_idle.any() else 0

    @cached_property
    def startable(self) -> Nanoseconds:
        """Moment from which its device could start each event; -1 where the launch is unknown.

        The later of start + `launch_latency` and end of the launching call. An event that starts
        at most one further latency later (`_USUAL_NS` if that is unknown) starts as usual: that
        moment is its start.
        """
        begun, start = self.launch_start, self.device_events.start
        returned = lookup(self.call_tree.end, self.device_events.launch)
        ready = np.maximum(begun + self.launch_latency, returned)
        usual = self.launch_latency or _USUAL_NS
        ready = np.where(start - ready <= usual, start, ready)
        return np.where(begun >= 0, np.minimum(ready, start), -1)

    def slow(self, launches: TreeRow, lasted: Nanoseconds, *, but_these: bool = False) -> Bool:
        """Whether each of some launches lasted over `SLOW` times the median of its name.

        Args:
            launches: these launches.
            lasted: what counts of each.
            but_these: the median is of others, if there are any of the name.
        """
        if not len(launches):
            return np.zeros(0, bool)
        every = self._launches
        others = setdiff(every, launches) if but_these else every
        names, slow = self.host.string, np.zeros(len(launches), bool)
        for name in unique(names[launches]):
            of_name = others[names[others] == name]
            of_name = of_name if len(of_name) else every[names[every] == name]
            usual = median(self.call_tree.duration[of_name])
            slow |= (names[launches] == name) & (lasted > SLOW * usual)
        return slow

    @cached_property
    def _launches(self) -> TreeRow:
        launch = self.device_events.launch
        return unique(launch[launch >= 0])

    @cached_property
    def first_of_launch(self) -> Bool:
        """First device event of each launch on its device; a graph has many."""
        first = np.zeros(len(self.device_events), bool)
        of_launch = unique_inverse(self.device_events.device)[1]
        of_launch = of_launch + (self.device_events.launch + 1) * (of_launch.max(initial=0) + 1)
        first[first_of_each(of_launch)] = True
        return first & (self.device_events.launch >= 0)

    @cached_property
    def first_of_stream(self) -> Bool:
        """First device event of each stream."""
        first = np.zeros(len(self.device_events), bool)
        first[first_of_each(self.device_events.stream)] = True
        return first

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
