"""Device events, the host calls that launched them, and how long each launch took."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import HostRows, device_threads
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import (
    asof,
    first_index,
    first_of_each,
    isin,
    last_greatest,
    lower_quartile,
    mask_of,
    median,
    setdiff,
    unique,
    unique_inverse,
)
from tb_hookview.arrays.nesting import ROUNDING_NS, CallTree, lookup
from tb_hookview.arrays.types import (
    Bool,
    Code,
    DeviceEventIndex,
    DeviceNumber,
    EventRow,
    Int,
    Nanoseconds,
    ThreadIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.trace import EventCategory, Trace
from tb_hookview.trace.format.vocabulary import DEVICE_CATEGORIES

_DEVICE_NUMBER = re.compile(r"[0-9]{1,9}")


class DeviceEvents(Struct, frozen=True, dict=True):
    """Kernels, copies and sets; arrays of shape (d,), ordered by start."""

    event: EventRow
    category: Code
    """`EventCategory` of each."""
    device: DeviceNumber
    stream: ThreadIndex
    """Thread of the trace that stands for the stream; `Thread.stream` is its name."""
    start: Nanoseconds
    end: Nanoseconds
    launch: TreeRow
    """The launching call, -1 for what was launched before the trace began."""

    def __len__(self) -> int:
        return len(self.event)

    @cached_property
    def duration(self) -> Nanoseconds:
        """End less start."""
        return self.end - self.start

    @cached_property
    def launches(self) -> TreeRow:
        """Calls that launched any of them, ascending."""
        return unique(self.launch[self.launch >= 0])

    @cached_property
    def is_kernel(self) -> Bool:
        """Kernels, those of collectives included."""
        return np.asarray(self.category == EventCategory.KERNEL)

    @cached_property
    def is_copy(self) -> Bool:
        """Copies, of which collectives may be made, too."""
        return np.asarray(self.category == EventCategory.COPY)

    @cached_property
    def busy(self) -> dict[int, TimeSet]:
        """Time in which each device did anything, by device in ascending order."""
        devices = unique(self.device).tolist()
        return {device: self.time_of(self.device == device) for device in devices}

    def time_of(self, chosen: Bool | DeviceEventIndex) -> TimeSet:
        """Time in which any of the chosen events ran."""
        return intervals.of(self.start[chosen], self.end[chosen])


def find_device_events(trace: Trace, call_tree: CallTree) -> DeviceEvents:
    """Collect what the devices did, and link it to its launches.

    A launch may own many device events (a graph). A device event that was queued before the
    recording began has no launch in the file.
    """
    events = trace.events
    rows = np.flatnonzero(isin(events.kind, [int(kind) for kind in DEVICE_CATEGORIES]))
    rows = _in_time(trace, rows)
    start = events.start[rows]
    return DeviceEvents(
        event=rows,
        category=events.kind[rows],
        device=_device(trace, rows),
        stream=events.thread[rows].astype(np.int64),
        start=start,
        end=start + events.duration[rows],
        launch=calls_of(trace, call_tree, events.correlation[rows], start),
    )


def _in_time(trace: Trace, rows: EventRow) -> EventRow:
    """Events by start, and those of one start by launch and stream, whatever the order of the file.

    With times in whole microseconds many have the same start.
    """
    events = trace.events
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    same = np.diff(events.start[rows]) == 0
    places = np.flatnonzero(np.append(same, False) | np.append(False, same))
    tied = rows[places]
    order = np.lexsort((events.thread[tied], events.correlation[tied], events.start[tied]))
    rows[places] = tied[order]
    return rows


def calls_of(trace: Trace, call_tree: CallTree, correlation: Int, start: Nanoseconds) -> TreeRow:
    """The runtime call of each correlation id, -1 for none.

    An id names one call of the host. Where ids start over within a file (several recordings in
    one), the call is the last one of its id before `start`, when the event with that id began.
    """
    if not len(correlation):
        return np.zeros(0, np.int64)
    calls = np.flatnonzero(_calls(trace, call_tree))
    own = trace.events.correlation[call_tree.event[calls]]
    found = first_index(own, correlation)
    if len(repeated := _repeated(trace, call_tree, calls)):
        host = np.flatnonzero(~device_threads(trace)[call_tree.thread[calls]])
        asked = np.flatnonzero(isin(correlation, repeated))
        began = trace.events.start[call_tree.event[calls[host]]]
        latest = asof(own[host], began, correlation[asked], start[asked])
        found[asked[latest >= 0]] = host[latest[latest >= 0]]
    return lookup(calls, np.where(correlation >= 0, found, -1))


def repeated_launches(trace: Trace, call_tree: CallTree, device_events: DeviceEvents) -> int:
    """Count device events whose correlation id several calls of the host have."""
    calls = np.flatnonzero(_calls(trace, call_tree))
    repeated = _repeated(trace, call_tree, calls)
    return int(np.count_nonzero(isin(trace.events.correlation[device_events.event], repeated)))


def _calls(trace: Trace, call_tree: CallTree) -> Bool:
    """Rows of the call tree that are runtime calls with a correlation id."""
    events = trace.events
    return np.asarray(
        (events.kind[call_tree.event] == EventCategory.RUNTIME)
        & (events.correlation[call_tree.event] >= 0)
    )


def _repeated(trace: Trace, call_tree: CallTree, calls: TreeRow) -> Int:
    """Correlation ids that several calls of the host have."""
    own = trace.events.correlation[call_tree.event[calls]]
    if len(unique(own)) == len(own):
        return own[:0]
    ordered = np.sort(own[~device_threads(trace)[call_tree.thread[calls]]])
    return unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _device(trace: Trace, rows: EventRow) -> DeviceNumber:
    """Device by `args.device`, else by the process id of the row."""
    # On device rows both are the same number.
    by_thread = [int(t.pid) if _DEVICE_NUMBER.fullmatch(t.pid) else -1 for t in trace.threads]
    pid = np.array(by_thread or [-1], np.int64)[trace.events.thread[rows]]
    stated = trace.events.device[rows]
    return np.where(stated >= 0, stated, pid)


# Times of device events and their launches, for idle time and full queues.


SLOW = 20
"""Multiple of its name's median from which on a launch is slow.

The first launch of a kernel whose code is in place takes up to 15 times the median."""
SLOW_NS = 50_000
"""Nanoseconds up to which a launch is not slow in replays, whatever the median."""

_USUAL_NS = 50_000
"""Latency below which all launches onto idle CUDA and HIP devices are."""
_FEW = 3
"""Launches that waited for another stream from which on this is no chance."""


class LaunchTiming(Struct, frozen=True, dict=True):
    """Timing of device events and of the calls that launched them; shape (d,)."""

    host: HostRows
    device_events: DeviceEvents
    call: Int
    """`Call` of each row of the call tree."""
    of_peers: Bool
    """Copies and fills of collectives, which start when other ranks let them.

    Kernels of collectives start without other ranks, and wait for them as they run.
    """

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
        until = self.device_events.start.copy()
        previous = np.full(len(self.device_events), -1, np.int64)
        for device in unique(self.device_events.device):
            rows = np.flatnonzero(self.device_events.device == device)
            end = self.device_events.end[rows]
            last = last_greatest(end)[:-1]
            until[rows[1:]] = end[last]
            previous[rows[1:]] = rows[last]
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
        device did before is not in the trace: it need not have been idle. What is longer than
        `_USUAL_NS` is no latency: too few were free.
        """
        begun, start = self.launch_start, self.device_events.start
        onto_idle = (begun >= 0) & (self.busy_until <= begun) & (start >= begun)
        onto_idle &= self.first_of_launch & (self.previous >= 0)
        latency = lower_quartile((start - begun)[onto_idle]) if onto_idle.any() else 0
        return latency if latency <= _USUAL_NS else 0

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
        every = self.device_events.launches
        others = setdiff(every, launches) if but_these else every
        names, slow = self.host.string, np.zeros(len(launches), bool)
        for name in unique(names[launches]):
            of_name = others[names[others] == name]
            of_name = of_name if len(of_name) else every[names[every] == name]
            usual = median(self.call_tree.duration[of_name])
            slow |= (names[launches] == name) & (lasted > SLOW * usual)
        return slow

    @cached_property
    def first_of_launch(self) -> Bool:
        """First device event of each launch on its device; a graph has many."""
        of_launch = unique_inverse(self.device_events.device)[1]
        of_launch = of_launch + (self.device_events.launch + 1) * (of_launch.max(initial=0) + 1)
        first = mask_of(first_of_each(of_launch), len(self.device_events))
        return first & (self.device_events.launch >= 0)

    @cached_property
    def first_of_stream(self) -> Bool:
        """First device event of each stream."""
        return mask_of(first_of_each(self.device_events.stream), len(self.device_events))

    @cached_property
    def stream(self) -> ThreadIndex:
        """Stream that each device event was launched on, as far as known.

        Some versions of CUPTI draw a graph on the stream that captured it, where nothing else runs.
        It was launched on the main stream of its device where both together ran in the order of
        their launches, one after the other, and a few times one can only have waited for the other.
        """
        events, launched = self.device_events, self.launch_start
        plain = ~of_graph(self.host, events, np.arange(len(events)))
        captured = ~isin(events.stream, unique(events.stream[plain]))
        stream = events.stream
        for device in unique(events.device[captured]).tolist():
            here = events.device == device
            main = np.bincount(stream[here & plain], minlength=1).argmax()
            rows = np.flatnonzero(here & (captured | (stream == main)))
            rows = rows[np.lexsort((events.start[rows], launched[rows]))]
            before, after = captured[rows[:-1]], captured[rows[1:]]
            ahead = np.maximum.accumulate(events.end[rows])[:-1]
            crossed = (events.start[rows[1:]] < ahead - ROUNDING_NS) & (before | after)
            waited = (before != after) & (ahead - launched[rows[1:]] > _USUAL_NS)
            if not crossed.any() and np.count_nonzero(waited & (launched[rows[:-1]] >= 0)) >= _FEW:
                stream = np.where(here & captured, main, stream)
        return stream

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


# Number of launched device events that wait on each stream of a device.
#
#     host     [launch 1] [launch 2]     [launch 3]
#     stream           [kernel 1       ] [kernel 2] [kernel 3]
#     length   1       0  1              0          ...
#
# One more with each launch's start, one less with each device event's start.


class QueueLength(Struct, frozen=True):
    """Length of one stream's queue from each moment to the next.

    Arrays are of shape (2 n,) for n launches.
    """

    time: Nanoseconds
    """Ascending; of a launch and a start at one moment the launch is first."""
    length: Int

    @property
    def longest(self) -> int:
        """Maximum of the length."""
        return int(self.length.max(initial=0))

    @property
    def mean(self) -> float | None:
        """Mean over the time from first to last moment; None where no time passed."""
        passed = np.diff(self.time)
        whole = int(passed.sum())
        return float((self.length[:-1] * passed).sum() / whole) if whole else None


def queue_length(call_tree: CallTree, events: DeviceEvents, chosen: Bool) -> QueueLength:
    """Length of the queue of the events chosen (shape (d,)) whose launches are known.

    Events of several streams count as if they were on one. What seems to start before its launch,
    as the device's clock is behind, is in no queue.
    """
    rows = np.flatnonzero(chosen & (events.launch >= 0))
    launched = lookup(call_tree.start, events.launch[rows])
    time = np.concatenate([launched, np.maximum(events.start[rows], launched)])
    change = np.repeat([1, -1], len(rows))
    order = np.lexsort((-change, time))
    return QueueLength(time[order], np.cumsum(change[order]))


# Device events of CUDA and HIP graphs.


def of_graph(host: HostRows, events: DeviceEvents, chosen: DeviceEventIndex) -> Bool:
    """Whether each of some device events is of a graph, by graph number or launch."""
    numbered = host.trace.events.graph[events.event[chosen]] > 0
    strings, texts = lookup(host.string, events.launch[chosen]), host.trace.strings
    return np.asarray(numbered | texts.map(strings, lambda text: "GraphLaunch" in text, bool))


_CAPTURE = re.compile(r"(cuda|hip|cu)Stream(Begin|End)Capture\w*")


def in_capture(host: HostRows, rows: TreeRow) -> Bool:
    """Which rows lie between the calls that begin and end a graph's capture, on any thread.

    A capture may have begun before the recording, and end after it: rows lie in one where the last
    of a thread's calls before them begins it, or the next one ends it.
    """
    tree = host.call_tree
    calls = host.named(_CAPTURE.fullmatch)
    begins = host.is_named(lambda name: (call := _CAPTURE.fullmatch(name)) and call[2] == "Begin")
    captured = np.zeros(len(rows), bool)
    for thread in unique(tree.thread[calls]):
        mine = calls[tree.thread[calls] == thread]
        mine = mine[np.argsort(tree.start[mine], kind="stable")]
        place = np.searchsorted(tree.start[mine], tree.start[rows])
        captured |= np.append(False, begins[mine])[place] | np.append(~begins[mine], False)[place]
    return captured
