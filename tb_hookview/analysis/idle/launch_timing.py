"""What the split of idle time and the launch queue ask about the time of the devices."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.syncs.detection import Syncs
from tb_hookview.arrays.joins import median, unique, unique_inverse
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.trace import EventCategory


class LaunchTiming(Struct, frozen=True, dict=True):
    """What all devices of one trace did, and what the host did for it."""

    host: HostRows
    work: DeviceEvents
    syncs: Syncs
    call: Int
    """`Call` of each forest row."""
    communication: Bool
    """Which work is a collective's, shape (d,)."""

    @property
    def call_tree(self) -> CallTree:
        """The nested host rows."""
        return self.host.call_tree

    @cached_property
    def busy_until(self) -> Int:
        """For each piece of work, the end of all that its device started before it, shape (d,).

        The first of a device has its own start.
        """
        return self._before[0]

    @cached_property
    def previous(self) -> Int:
        """For each piece of work, that of the pieces before it which ended last; -1 for none."""
        return self._before[1]

    @cached_property
    def _before(self) -> tuple[Int, Int]:
        until, previous = self.work.start.copy(), np.full(len(self.work), -1, np.int64)
        for device in unique(self.work.device):
            rows = np.flatnonzero(self.work.device == device)
            end = self.work.end[rows]
            reach = np.maximum.accumulate(end)
            last = np.maximum.accumulate(np.where(end == reach, np.arange(len(rows)), 0))
            until[rows[1:]] = reach[:-1]
            previous[rows[1:]] = rows[last[:-1]]
        return until, previous

    @cached_property
    def launch_start(self) -> Int:
        """Start of the launching call of each piece of work, -1 where it is unknown."""
        return lookup(self.call_tree.start, self.work.launch)

    @cached_property
    def floor(self) -> int:
        """Median time from a launch to its start on an idle device, nanoseconds; 0 if unknown."""
        begun = self.launch_start
        onto_idle = (begun >= 0) & (self.busy_until <= begun) & (self.work.start >= begun)
        return int(median((self.work.start - begun)[onto_idle])) if onto_idle.any() else 0

    @cached_property
    def first_of_launch(self) -> Bool:
        """Which work was the first of its launch to start on its device; a graph owns many."""
        first = np.zeros(len(self.work), bool)
        of_launch = unique_inverse(self.work.device)[1]
        of_launch = of_launch + (self.work.launch + 1) * (of_launch.max(initial=0) + 1)
        first[np.unique(of_launch, return_index=True)[1]] = True
        return first & (self.work.launch >= 0)

    @cached_property
    def queued_before(self) -> Bool:
        """Which work was launched before the trace began: its number is below every call's."""
        events = self.host.trace.events
        calls = events.correlation[self.call_tree.event[self.host.kind == EventCategory.RUNTIME]]
        calls = calls[calls >= 0]
        mine = events.correlation[self.work.event]
        first = calls.min() if len(calls) else 0
        return np.asarray((self.work.launch < 0) & (mine >= 0) & (mine < first))

    @cached_property
    def process(self) -> Int:
        """Process of each thread of the trace, as a number."""
        numbers = {pid: i for i, pid in enumerate({t.pid for t in self.host.trace.threads})}
        return np.array([numbers[thread.pid] for thread in self.host.trace.threads], np.int64)
