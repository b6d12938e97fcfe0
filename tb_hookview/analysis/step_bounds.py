"""Time at the ends of steps that is the recording's and not the program's.

    first step   [synchronize  ]                        |
    last step                   |        ...[operator]   nothing ]
                   left out      the step                left out

- As a recording starts, a synchronize waits for what was launched before it.
- As it stops, the profiler waits for the device with a synchronize of its own.
- Some versions of torch end the last step only when the profiler has stopped: nothing is recorded
  there, for far longer than at the ends of the other steps.
"""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
from msgspec import Struct

from tb_hookview.analysis.consistency.fault import Fault
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.steps import Steps
from tb_hookview.analysis.syncs.detection import Syncs
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Intervals, Nanoseconds
from tb_hookview.trace import EventCategory

_LONG_NS = 1_000_000
"""Time without any row at the end of the last step that is not looked at."""
_LONGER = 10
"""Multiple of the longest such time of any other step from which on it is the profiler's."""
_OTHERS = 2
"""Number of other steps that it takes to tell."""
_REMARKABLE = 0.01
"""Share of the marks from which on it is worth a remark."""
_AT_WORK = (int(EventCategory.OPERATOR), int(EventCategory.RUNTIME))


def of_program(steps: Steps, host: HostRows, device_events: DeviceEvents, syncs: Syncs) -> Steps:
    """Steps without what is the recording's at their ends."""
    ends = _Ends(host, syncs)
    window = _after_start(steps.window, host, device_events, syncs)
    window = _before_stop(window, ends, device_events, syncs, marked=steps.marked)
    if steps.marked:
        window = _without_silence(window, ends)
    return msgspec.structs.replace(steps, window=window)


def step_faults(steps: Steps) -> tuple[Fault, ...]:
    """What was left out, as a remark about the trace."""
    shorter, time = np.flatnonzero(steps.left_out), int(steps.left_out.sum())
    marked = (steps.mark[shorter, 1] - steps.mark[shorter, 0]).sum()
    if not time or time < _REMARKABLE * marked:
        return ()
    return (Fault("left-out-of-steps", len(shorter), time=time),)


def _after_start(
    window: Intervals, host: HostRows, device_events: DeviceEvents, syncs: Syncs
) -> Intervals:
    """Windows from the end of a synchronize that waits for work from before the recording."""
    before = (syncs.blocking_event >= 0) & (lookup(device_events.launch, syncs.blocking_event) < 0)
    later = window.copy()
    for sync in np.flatnonzero(syncs.at_start & before).tolist():
        inside = (window[:, 0] <= syncs.start[sync]) & (syncs.end[sync] < window[:, 1])
        inside &= ~_launched(host, device_events, window[:, 0], syncs.end[sync])
        later[inside, 0] = syncs.end[sync]
    return later


def _before_stop(
    window: Intervals, ends: _Ends, device_events: DeviceEvents, syncs: Syncs, *, marked: bool
) -> Intervals:
    """Windows to the start of the profiler's synchronize as it stops.

    Without marks the only one ends with what the device did.
    """
    earlier = window.copy()
    for sync in np.flatnonzero(syncs.by_profiler & ~syncs.at_start).tolist():
        start = syncs.start[sync]
        inside = (window[:, 0] <= start) & (syncs.end[sync] <= window[:, 1])
        inside &= ~_launched(ends.host, device_events, start, window[:, 1])
        end = np.full(len(window), start)
        if not marked:
            done = device_events.end.max(initial=start)
            end = np.maximum(ends.before(window[:, 1]), done)
        earlier[inside, 1] = np.minimum(end, window[:, 1])[inside]
    return earlier


def _launched(
    host: HostRows, device_events: DeviceEvents, since: Nanoseconds, until: Nanoseconds
) -> Bool:
    """Whether anything was launched between moments."""
    launch = device_events.launch
    launched = np.sort(host.call_tree.start[launch[launch >= 0]])
    place = np.searchsorted(launched, since)
    return np.asarray(np.searchsorted(launched, until, side="right") > place)


def _without_silence(window: Intervals, ends: _Ends) -> Intervals:
    """Windows without what follows the last row of the last step, if that is far longer there."""
    kinds = ends.host.trace.events.kind
    if len(window) <= _OTHERS or (kinds == EventCategory.PYTHON).any():
        return window
    silence = window[:, 1] - ends.before(window[:, 1])
    usual = max(int(silence[:-1].max()), 0)
    if silence[-1] - usual < _LONG_NS or silence[-1] < _LONGER * usual:
        return window
    shorter = window.copy()
    shorter[-1, 1] -= silence[-1] - usual
    return shorter


class _Ends(Struct, frozen=True, dict=True):
    """Ends of the operators and calls of the host, but the profiler's own syncs."""

    host: HostRows
    syncs: Syncs

    def before(self, moment: Nanoseconds) -> Nanoseconds:
        """Latest end of what began before each moment."""
        latest = np.full(len(moment), np.iinfo(np.int64).min // 2)
        for start, ended in self._of_threads:
            place = np.searchsorted(start, moment) - 1
            latest = np.maximum(latest, np.where(place >= 0, ended[place], latest))
        return latest

    @cached_property
    def _of_threads(self) -> list[tuple[Nanoseconds, Nanoseconds]]:
        """Start of each on a thread, and the latest end until there."""
        host, tree = self.host, self.host.call_tree
        works = isin(host.kind, _AT_WORK) & ~host.device_threads[tree.thread]
        works[self.syncs.row[self.syncs.by_profiler]] = False
        rows, found = np.flatnonzero(works), []
        for thread in unique(tree.thread[rows]).tolist():
            mine = rows[tree.thread[rows] == thread]
            found.append((tree.start[mine], np.maximum.accumulate(tree.end[mine])))
        return found
