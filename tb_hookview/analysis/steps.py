"""Steps of the training loop: their times, and those that count in means."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.idle.gaps import Cause, Gaps
from tb_hookview.analysis.iterations import find_iterations
from tb_hookview.analysis.phases import Phases
from tb_hookview.analysis.syncs.detection import Syncs
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import (
    Bool,
    Int,
    Intervals,
    Nanoseconds,
    StepIndex,
    ThreadIndex,
    TimeSet,
)
from tb_hookview.schema.terms import Phase
from tb_hookview.trace import EventCategory, Trace


class Steps(Struct, frozen=True):
    """Steps of the training loop in order of time, shape (s,)."""

    name: tuple[str, ...]
    window: Intervals
    """Start and end of each on the host, shape (s, 2)."""
    thread: ThreadIndex
    """Thread on which each is marked; -1 for a step without a mark."""
    counted: Bool
    """Whether each step counts in means of a whole trace.

    Those in which the host launched do, less the first.
    The first one warms up. What follows the last step of a loop is often recorded as a further
    step, in which nothing is launched. A lone step counts if the host launched in it. In a trace of
    a device alone, its events count in place of launches.
    """
    mark: Intervals
    """Start and end of each as marked, with what is the recording's; see `step_bounds.py`."""
    warm_up: int = -1
    """The first step in which the host launched, where it launched in others too; -1 for none."""
    each: str = ""
    """Phrase of what each is where none is marked (`Iterations.each`)."""

    @property
    def marked(self) -> bool:
        """Whether the trace shows steps; else its one step is the whole trace."""
        return bool((self.thread >= 0).any())

    @property
    def left_out(self) -> Nanoseconds:
        """Time at the ends of each mark that is no part of the step."""
        bounds = self.mark - self.window
        return np.asarray(bounds[:, 1] - bounds[:, 0])

    @property
    def worked(self) -> Intervals:
        """Windows of the steps in which the host launched; of all steps where it did in none."""
        launched = self.counted | (np.arange(len(self.name)) == self.warm_up)
        return self.window[launched] if launched.any() else self.window

    def at(self, time: Nanoseconds) -> StepIndex:
        """Step in which each moment lies, -1 outside all."""
        return _at(self.window, time)


def find_steps(trace: Trace, role: Int, bounds: tuple[int, int], launched: Nanoseconds) -> Steps:
    """Find steps by the host's `ProfilerStep#N` rows, else by `iterations.py`.

    Where neither shows any, the whole trace is one step.

    Args:
        trace: the trace.
        role: role of every event (not of rows of the call tree).
        bounds: start and end of the trace, nanoseconds.
        launched: starts of launches; where launches are not known those of all host rows, or of
            the device events of a trace of a device alone.
    """
    events = trace.events
    rows = np.flatnonzero((role == Role.STEP) & (events.kind != EventCategory.DEVICE_ANNOTATION))
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    if not len(rows):
        return _without_marks(trace, role, bounds, launched)
    start = events.start[rows]
    end = start + events.duration[rows]
    end[:-1] = np.minimum(end[:-1], start[1:])  # a step's end and the next one's start may cross
    window = np.stack([start, end], axis=1)
    names = tuple(trace.strings[name] for name in events.name[rows])
    thread = events.thread[rows].astype(np.int64)
    return _steps(names, window, thread, launched)


def _steps(
    names: tuple[str, ...],
    window: Intervals,
    thread: ThreadIndex,
    launched: Nanoseconds,
    each: str = "",
) -> Steps:
    counted, warm_up = _counted(window, launched)
    return Steps(names, window, thread, counted, window, warm_up, each)


def _without_marks(
    trace: Trace, role: Int, bounds: tuple[int, int], launched: Nanoseconds
) -> Steps:
    found = find_iterations(trace, role, bounds)
    if found is None:
        window = np.array([bounds], np.int64)
        return _steps(("whole trace",), window, np.array([-1]), launched)
    names = tuple(f"iteration {number}" for number in range(1, len(found.window) + 1))
    thread = np.full(len(names), found.thread)
    return _steps(names, found.window, thread, launched, found.each)


def _at(window: Intervals, time: Nanoseconds) -> StepIndex:
    place = np.searchsorted(window[:, 0], time, side="right") - 1
    inside = (place >= 0) & (time <= window[np.maximum(place, 0), 1])
    return np.where(inside, place, -1)


def _counted(window: Intervals, launched: Nanoseconds) -> tuple[Bool, int]:
    """`Steps.counted` and `Steps.warm_up`."""
    used = unique(_at(window, launched))
    used = used[used >= 0]
    several = len(used) > 1
    counted = np.zeros(len(window), bool)
    counted[used[1:] if several else used] = True
    return counted, int(used[0]) if several else -1


class StepTimes(Struct, frozen=True):
    """Times of the steps, nanoseconds; arrays of shape (s,).

    Those of devices are sums over the devices that did anything, and None where none did.
    """

    duration: Nanoseconds
    phase: tuple[Nanoseconds, ...]
    """Host time by `Phase`; they add up to the duration."""
    sync_blocked: Nanoseconds
    """Any host thread was in a sync that is not the profiler's own."""
    device_busy: Nanoseconds | None
    device_idle: Nanoseconds | None
    idle: dict[Cause, Nanoseconds] | None
    """Idle time of the devices by cause; the causes add up to it."""
    backward_idle: Nanoseconds | None
    """The host was in the backward pass and a device did nothing."""
    queue_full: Nanoseconds | None
    """A launch waited for room in a full queue; None without a known launch."""
    communication_wait: Nanoseconds
    """The training thread waited for a collective of the host."""


class StepDeviceEvents(Struct, frozen=True):
    """Device events of the steps; arrays of shape (s,), times in nanoseconds."""

    time: Nanoseconds
    """Durations of those of each step, summed."""
    before: Int
    """Number that began in each step, and were launched before the trace began."""
    before_time: Nanoseconds
    """Their durations, summed."""


def step_device_events(
    steps: Steps, device_events: DeviceEvents, step: StepIndex, launched_before: Bool
) -> StepDeviceEvents:
    """Sum the device events of each step.

    Args:
        steps: the steps.
        device_events: all device events.
        step: the step of each, -1 for none.
        launched_before: which of them were launched before the trace began.
    """
    began = np.where(launched_before, steps.at(device_events.start), -1)

    def summed(of: StepIndex) -> Nanoseconds:
        return sum_by(of, device_events.duration, len(steps.name))

    count = np.bincount(began[began >= 0], minlength=len(steps.name))
    return StepDeviceEvents(summed(step), count, summed(began))


def step_times(
    steps: Steps,
    phases: Phases,
    syncs: Syncs,
    device_events: DeviceEvents,
    gaps: Gaps,
    queue_full: TimeSet,
    communication_waits: TimeSet,
) -> StepTimes:
    """Measure every step."""
    window = steps.window
    duration = window[:, 1] - window[:, 0]
    named = tuple(intervals.lengths_within(time, window) for time in phases.time)
    busy, backward_idle = _device_times(device_events, phases.time[Phase.BACKWARD], window)
    any_event, any_launch = len(device_events) > 0, bool((device_events.launch >= 0).any())
    return StepTimes(
        duration=duration,
        phase=(*named, duration - sum(named)),
        sync_blocked=intervals.lengths_within(syncs.blocked, window),
        device_busy=busy if any_event else None,
        device_idle=duration * len(device_events.busy) - busy if any_event else None,
        idle=gaps.within(window) if any_event else None,
        backward_idle=backward_idle if any_event else None,
        queue_full=intervals.lengths_within(queue_full, window) if any_launch else None,
        communication_wait=intervals.lengths_within(communication_waits, window),
    )


def _device_times(
    device_events: DeviceEvents, backward: TimeSet, window: Intervals
) -> tuple[Nanoseconds, Nanoseconds]:
    """Busy time and time of an idle device in the backward pass, of each window."""
    busy, idle = np.zeros(len(window), np.int64), np.zeros(len(window), np.int64)
    for time in device_events.busy.values():
        busy += intervals.lengths_within(time, window)
        idle += intervals.lengths_within(intervals.subtract(backward, time), window)
    return busy, idle
