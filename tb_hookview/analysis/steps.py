"""Steps of the training loop: their times, and those that count in means."""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
from msgspec import Struct

from tb_hookview.analysis.calls.waits import is_device_wide
from tb_hookview.analysis.consistency.checks import Fault, counted, launches_to_run
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import AT_WORK, HostRows, Role
from tb_hookview.analysis.idle.gaps import Cause, Gaps
from tb_hookview.analysis.iterations import find_iterations
from tb_hookview.analysis.phases import Phases
from tb_hookview.analysis.syncs.detection import Syncs
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, mask_of, unique
from tb_hookview.arrays.nesting import CallTree, lookup
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

_BACKWARD = (int(Role.NODE), int(Role.GRADIENT_SINK))


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
    step, in which nothing is launched. One that an exception ends, or that evaluates after the
    loop, has no backward pass where all others have: it does not count, nor do steps at the end
    whose device work is missing (`without_lost`). A lone step counts if the host launched in it.
    In a trace of a device alone, its events count in place of launches.
    """
    mark: Intervals
    """Start and end of each as marked, with what is the recording's; see `step_bounds.py`."""
    warm_up: int = -1
    """The first step in which the host launched, where it launched in others too; -1 for none."""
    each: str = ""
    """Phrase of what each is where none is marked (`Iterations.each`)."""
    cut: bool = False
    """Whether the last step is left out as it has no backward pass, which all others have."""
    lost: tuple[int, ...] = ()
    """Steps at the end that do not count as the trace lacks device work which they launched."""
    without_work: int = 0
    """Marks that are not used, as nothing but Python begins in any of them."""
    processes: int = 1
    """Processes that mark steps, as in ranks merged into one file; the first one's are used."""

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
    def with_recording(self) -> Intervals:
        """As `mark` where the trace itself marks the steps: torch_tb_profiler takes these. Else as
        `window`."""
        return self.mark if self.marked and not self.each else self.window

    @property
    def launched(self) -> Bool:
        """Whether the host launched in each step."""
        return self.counted | isin(np.arange(len(self.name)), (self.warm_up, *self.lost))

    @property
    def worked(self) -> Intervals:
        """Windows of the steps in which the host launched; of all steps where it did in none."""
        return self.window[self.launched] if self.launched.any() else self.window

    def at(self, time: Nanoseconds) -> StepIndex:
        """Step in which each moment lies, -1 outside all."""
        return _at(self.window, time)


def find_steps(trace: Trace, role: Int, bounds: tuple[int, int], launched: Nanoseconds) -> Steps:
    """Find steps by the host's `ProfilerStep#N` rows, else by `iterations.py`.

    Where neither shows any, the whole trace is one step. Some versions of torch with Python stacks
    mark only the end of a step: what it did lies outside of every mark.

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
    process = [trace.threads[thread].pid for thread in events.thread[rows].tolist()]
    rows = rows[[pid == process[0] for pid in process]]
    start = events.start[rows]
    end = start + events.duration[rows]
    end[:-1] = np.minimum(end[:-1], start[1:])  # a step's end and the next one's start may cross
    window = np.stack([start, end], axis=1)
    work = events.start[isin(events.kind, _SHOWN) & (role != Role.STEP)]
    stacks = (events.kind == EventCategory.PYTHON).any()
    if stacks and len(work) and (_at(window, work) < 0).all():
        steps = _without_marks(trace, role, bounds, launched)
        return msgspec.structs.replace(steps, without_work=len(rows))
    names = tuple(trace.strings[name] for name in events.name[rows])
    thread = events.thread[rows].astype(np.int64)
    steps = _steps(names, window, thread, launched)
    steps = msgspec.structs.replace(steps, processes=len(set(process)))
    return _without_cut(steps, events.start[isin(role, _BACKWARD)])


def _without_cut(steps: Steps, nodes: Nanoseconds) -> Steps:
    """Steps of which the last does not count if it alone has no backward pass.

    Args:
        steps: as marked.
        nodes: starts of autograd nodes.
    """
    *others, last = np.bincount(steps.at(nodes) + 1, minlength=len(steps.name) + 1)[1:].tolist()
    if len(others) < _OTHERS or last or not all(others) or not steps.counted[-1]:
        return steps
    counted = steps.counted & (np.arange(len(steps.name)) < len(others))
    return msgspec.structs.replace(steps, counted=counted, cut=True)


# Steps at the end whose device work is missing: the recording ended before the device ran it.


_WHOLE = 0.8
"""A last step is cut off below this share of the previous step's events."""


def launching_step(steps: Steps, tree: CallTree, device_events: DeviceEvents) -> StepIndex:
    """Step in which the call that launched each device event lies as a whole; -1 for none."""
    start, end = (lookup(times, device_events.launch) for times in (tree.start, tree.end))
    window = steps.with_recording
    step = np.searchsorted(window[:, 0], start, side="right") - 1
    inside = (device_events.launch >= 0) & (step >= 0) & (end <= window[np.maximum(step, 0), 1])
    return np.where(inside, step, -1)


def whole_steps(launched: Int) -> int:
    """Number of steps without those at the end whose device events are missing.

    Args:
        launched: device events that each step launched; some step did.
    """
    last = int(np.flatnonzero(launched)[-1])
    cut = last > 0 and launched[last - 1] * _WHOLE > launched[last]
    return last if cut else last + 1


def without_lost(steps: Steps, host: HostRows, device_events: DeviceEvents) -> Steps:
    """Steps of which those at the end do not count whose device work is missing.

    They lie after the `whole_steps`, and launched too much for the events that they have: a step
    that launches less than the one before it counts. So does one where no other would.
    """
    count, launches = len(steps.name), launches_to_run(host)
    of_step = launching_step(steps, host.call_tree, device_events)
    launched = np.bincount(of_step[of_step >= 0], minlength=count)
    if not launched.any():
        return steps
    whole = whole_steps(launched)
    of_step = of_step[(of_step >= 0) & isin(device_events.launch, launches)]
    events = np.bincount(of_step, minlength=count)
    calls = np.bincount(steps.at(host.call_tree.start[launches]) + 1, minlength=count + 1)[1:]
    most = _WHOLE * events[whole - 1] * np.minimum(calls, calls[whole - 1])
    lost = (np.arange(count) >= whole) & (events * calls[whole - 1] < most)
    lost[-1] &= not steps.cut
    if not (steps.counted & ~lost).any():
        lost &= ~steps.counted
    counted = steps.counted & ~lost
    return msgspec.structs.replace(
        steps, counted=counted, lost=tuple(np.flatnonzero(lost).tolist())
    )


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
    start, end = window.T
    place = np.searchsorted(start, time, side="right") - 1
    return np.where((place >= 0) & (time <= end[place]), place, -1)


def _counted(window: Intervals, launched: Nanoseconds) -> tuple[Bool, int]:
    """`Steps.counted` and `Steps.warm_up`."""
    used = unique(_at(window, launched))
    used = used[used >= 0]
    several = len(used) > 1
    counted = mask_of(used[1:] if several else used, len(window))
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
    any_event, any_launch = len(device_events) > 0, len(device_events.launches) > 0
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


# Time at the ends of steps that is the recording's and not the program's.
#
#     first step   [synchronize  ]                        |
#     last step                   |        ...[operator]   nothing ]
#                    left out      the step                left out
#
# - As a recording starts, a synchronize waits for what was launched before it.
# - As it stops, the profiler waits for the device with a synchronize of its own.
# - Some versions of torch end the last step only when the profiler has stopped: nothing is recorded
#   there, for far longer than at the ends of the other steps.


_LONG_NS = 1_000_000
"""Time without any row at the end of the last step that is not looked at."""
_LONGER = 10
"""Multiple of the longest such time of any other step from which on it is the profiler's."""
_OTHERS = 2
"""Number of other steps that it takes to tell."""
_REMARKABLE = 0.01
"""Share of the marks from which on it is worth a remark."""
_SHOWN = (*AT_WORK, int(EventCategory.ANNOTATION))


def of_program(steps: Steps, host: HostRows, device_events: DeviceEvents, syncs: Syncs) -> Steps:
    """Steps without what is the recording's at their ends."""
    ends = _Ends(host, syncs)
    window = _after_start(steps.window, host, device_events, syncs)
    window = _before_stop(window, ends, device_events, syncs, marked=steps.marked)
    if steps.marked and not steps.each:  # iterations end with what is in the trace
        window = _without_silence(window, ends)
    return msgspec.structs.replace(steps, window=window)


def step_faults(steps: Steps) -> tuple[Fault, ...]:
    """What was left out, as a remark about the trace."""
    if steps.without_work:
        return counted("steps-without-work", steps.without_work)
    if steps.processes > 1:
        return counted("merged-processes", steps.processes)
    shorter, time = np.flatnonzero(steps.left_out), int(steps.left_out.sum())
    marked = (steps.mark[shorter, 1] - steps.mark[shorter, 0]).sum()
    if not time or time < _REMARKABLE * marked:
        return ()
    return (Fault("left-out-of-steps", len(shorter), time=time),)


def _after_start(
    window: Intervals, host: HostRows, device_events: DeviceEvents, syncs: Syncs
) -> Intervals:
    """Windows from the end of a synchronize that waits for work from before the recording.

    It waits for such a device event; or for the whole device, for most of a window in which nothing
    was launched yet.
    """
    known = (syncs.blocking_event >= 0) & (lookup(device_events.launch, syncs.blocking_event) < 0)
    known &= syncs.at_start
    launch = device_events.launches
    first = host.call_tree.start[launch].min(initial=np.iinfo(np.int64).max)
    unseen = (len(launch) > 0) & (syncs.end < first) & is_device_wide(host, syncs.row)
    later = window.copy()
    for sync in np.flatnonzero(known | unseen).tolist():
        inside = (window[:, 0] <= syncs.start[sync]) & (syncs.end[sync] < window[:, 1])
        inside &= ~_launched(host, device_events, window[:, 0], syncs.end[sync])
        if not known[sync]:
            inside &= syncs.duration[sync] > (window[:, 1] - window[:, 0]) // 2
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
    launched = np.sort(host.call_tree.start[device_events.launches])
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
    if silence[-1] >= window[-1, 1] - window[-1, 0]:
        return window  # a part of a trace, in which the step has no row at all
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
        works = isin(host.kind, AT_WORK) & ~host.device_threads[tree.thread]
        works[self.syncs.row[self.syncs.by_profiler]] = False
        rows, found = np.flatnonzero(works), []
        for thread in unique(tree.thread[rows]).tolist():
            mine = rows[tree.thread[rows] == thread]
            found.append((tree.start[mine], np.maximum.accumulate(tree.end[mine])))
        return found
