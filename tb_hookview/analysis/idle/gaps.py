"""Idle time of the devices, cut at causes, of which lazy kernel loading is one.

    device     |= kernel =|                                   |= kernel =|
    gap                    <--------------------------------->
    sync          [            ]        claims up to its own length
    loader                       [          ]
    launch                                               [  ]
    cause                  sync  data_loading   launch

Each cause *claims* time (`causes.py`). The claims of a gap are ordered, and a moment has the cause
of the first claim that holds it. What no claim holds is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.calls.division import CallTimes
from tb_hookview.analysis.device.events import SLOW, DeviceEvents, LaunchTiming
from tb_hookview.analysis.host.library_starts import starting_calls
from tb_hookview.analysis.host.rows import Call
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import first_of_each, isin, median, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    DeviceNumber,
    EventRow,
    GapIndex,
    Int,
    Intervals,
    Nanoseconds,
    SyncIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.trace import EventCategory


class Cause(IntEnum):
    """Why a device was idle; lower-case names are the fields of `Step.idle` in the report."""

    SYNC = 0
    """The host waited for the device, and so launched nothing after what it waited for."""
    DATA_LOADING = 1
    """The host was inside a `DataLoader`."""
    COPY = 2
    """The host was inside a copy of unpinned memory that was no sync."""
    ALLOCATOR = 3
    """The host was allocating or freeing device or pinned memory."""
    KERNEL_LOADING = 4
    """The host was loading the code of a kernel, mostly in its first launch."""
    LAUNCH = 5
    """The next device event was launched too late, or nothing more: the host had other things to
    do."""
    COMMUNICATION = 6
    """The host was in a collective; or the next device event is one, or was queued behind one."""
    PROFILER = 7
    """The profiler was running."""
    DEVICE = 8
    """The next device event had been launched by then: the device's own delay."""
    UNKNOWN = 9
    """Before the first device event, after the last one, where these are not the host's; before one
    of unknown launch, and after a launch whose device events are not in the trace."""


class Claims(NamedTuple):
    """Time claimed by one cause, shape (c,) each."""

    cause: Cause
    start: Nanoseconds
    end: Nanoseconds
    """An end at or before the start claims nothing."""
    source: Int
    """Claimant: a `SyncIndex` for SYNC, else a `TreeRow`; -1 for none."""


class Gaps(Struct, frozen=True):
    """Idle time of the devices, by device and start; shape (g,).

    Time between two device events may have many rows: one for each cause, cut at the bounds of
    steps.
    """

    start: Nanoseconds
    end: Nanoseconds
    """Rows of one device do not overlap."""
    device: DeviceNumber
    cause: Int
    """`Cause`."""
    device_event: DeviceEventIndex
    """Device event that ended the gap, -1 after the last one."""
    row: TreeRow
    """The call (or loader's annotation) that caused it, -1 for none.

    For LAUNCH, DEVICE and COMMUNICATION it is the launch of the device event that ended the gap,
    -1 before the launch of a device's first event, and the wait that shows a device idle after its
    last one.
    """
    sync: SyncIndex
    """The sync that caused it, -1 for other causes."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def duration(self) -> Nanoseconds:
        """End less start."""
        return self.end - self.start

    @property
    def uncut(self) -> Int:
        """Numbers, ascending, that are alike for rows which only the bounds of steps part."""
        return self._joined(self.cause, self.row, self.sync)

    @property
    def whole(self) -> Int:
        """Numbers, ascending, that are alike for rows between the same two device events."""
        return self._joined(self.device_event)

    def _joined(self, *columns: Int) -> Int:
        opens = np.ones(len(self), bool)
        opens[1:] = self.start[1:] != self.end[:-1]
        for column in (self.device, *columns):
            opens[1:] |= column[1:] != column[:-1]
        return np.cumsum(opens) - 1

    def by_sync(self, count: int) -> Nanoseconds:
        """Idle time caused by each of `count` syncs, shape (count,)."""
        return sum_by(self.sync, self.duration, count)

    def launch_after(self, device_events: DeviceEvents, gaps: GapIndex) -> TreeRow:
        """Launch that ended each of some gaps of the cause LAUNCH, -1 where it is unknown; the wait
        that did after the last device event."""
        event = self.device_event[gaps]
        return np.where(event < 0, self.row[gaps], lookup(device_events.launch, event))

    def within(self, windows: Intervals) -> dict[Cause, Nanoseconds]:
        """Idle time of each cause in each window, summed over the devices.

        Args:
            windows: shape (w, 2); they may overlap.
        """
        total = {cause: np.zeros(len(windows), np.int64) for cause in Cause}
        pieces, kinds = np.stack([self.start, self.end], axis=1), len(Cause)
        group = self.device * kinds + self.cause
        for each in unique(group).tolist():
            sums = intervals.lengths_within(pieces[group == each], windows)
            total[Cause(each % kinds)] += sums
        return total


def launching_in(gaps: Gaps, time: TimeSet) -> Bool:
    """Gaps of the cause LAUNCH of which more than half lies in some time, shape (g,)."""
    spans = np.stack([gaps.start, gaps.end], axis=1)
    inside = intervals.lengths_within(time, spans)
    return np.asarray((gaps.cause == Cause.LAUNCH) & (2 * inside > gaps.duration))


class Pieces(NamedTuple):
    """Idle time cut at the bounds of what claims it; ordered by start."""

    start: Nanoseconds
    end: Nanoseconds
    cause: Int
    source: Int


def cut(idle: TimeSet, claims: Sequence[Claims], bounds: Nanoseconds) -> Pieces:
    """Give every moment of idle time the cause of the first claim that holds it.

    Of claims of one cause that overlap, the source is that of the one that reaches furthest among
    those that have begun.

    Args:
        idle: gaps of one device.
        claims: first claim first.
        bounds: starts and ends of steps; a piece lies before or after each.
    """
    edges = [idle.ravel(), bounds]
    edges += [column for claim in claims for column in (claim.start, claim.end)]
    edge = np.sort(np.concatenate(edges))
    start, end = edge[:-1], edge[1:]
    inside = (start < end) & intervals.contains(idle, start)
    start, end = start[inside], end[inside]
    cause = np.full(len(start), Cause.UNKNOWN, np.int64)
    source = np.full(len(start), -1, np.int64)
    left = np.arange(len(start))
    for claim in claims:
        order = np.argsort(claim.start, kind="stable")
        holder = _holder(claim.start[order], claim.end[order], start[left])
        mine, left = left[holder >= 0], left[holder < 0]
        cause[mine] = claim.cause
        source[mine] = claim.source[order][holder[holder >= 0]]
    return _joined(Pieces(start, end, cause, source), bounds)


def _holder(start: Nanoseconds, end: Nanoseconds, time: Nanoseconds) -> Int:
    """Index of the interval that holds each moment, -1 for none.

    It is the furthest reaching of those begun. Intervals are ordered by start.
    """
    if not len(start):
        return np.full(len(time), -1, np.int64)
    reach = np.maximum.accumulate(end)
    grows = np.concatenate([[True], end[1:] > reach[:-1]])
    furthest = np.maximum.accumulate(np.where(grows, np.arange(len(start)), 0))
    place = np.searchsorted(start, time, side="right") - 1
    holds = (place >= 0) & (reach[place] > time)
    return np.where(holds, furthest[place], -1)


def _joined(pieces: Pieces, bounds: Nanoseconds) -> Pieces:
    """Join pieces that touch and have one cause and source, but not at the bounds of steps."""
    start, end, cause, source = pieces
    if not len(start):
        return pieces
    like = (cause[1:] == cause[:-1]) & (source[1:] == source[:-1]) & (start[1:] == end[:-1])
    like &= ~isin(start[1:], bounds)
    opens = np.concatenate([[True], ~like])
    closes = np.concatenate([~like, [True]])
    return Pieces(start[opens], end[closes], cause[opens], source[opens])


# Calls in which the host loaded the code of kernels.
#
# CUDA and HIP load the code of a kernel, often with the whole library that it is in, when it is
# launched for the first time (lazy loading). The launching call lasts for as long, up to seconds.
#
# A library of kernels, such as cuBLAS, starts in the first operator that needs it (see
# `library_starts.py`), which launches its first kernel that much later.
#
# The fuser of TorchScript compiles a kernel before the operator of its name runs for the first
# time. Until then the scripted function around it calls nothing:
#
#     thread  [scripted function                                         ]
#               [aten::cat]       compiles       [fused_mul_add]
#                                                  [cuLaunchKernel]


_LAUNCH = re.compile(r".*(?:Launch(?:Cooperative)?Kernel|KernelLaunch).*")
"""Calls that launch one kernel; the first launch of a graph takes long for other reasons."""
_LOADING = "Lazy Function Loading|Runtime Triggered Module Loading"
"""`overhead` rows of the driver while it loads code, as Kineto names them since CUPTI 12.3."""
_NAMED = f"{_LOADING}|Command Buffer Full"
"""Rows of the driver by whose names Kineto knows these kinds."""
_NOT_THE_PROFILERS = f"{_NAMED}|Driver Compiler"
"""`overhead` rows of the driver, which come without a profiler too."""
_UNNAMED = "Unrecognized"
"""Name of rows whose kind Kineto does not know."""
_LOOKS_UP = re.compile(
    r"(?:cuda|hip)(?:Func[GS]et|OccupancyMaxActive|GetSymbol)\w*|(?:cu|hip)(?:Module|Library)Get\w*"
)
"""Calls that look up a function or variable of the device's code, and load it before."""
_LOADS_NS = 400_000
"""Length from which on a first launch with such a row in it loads, however long others took."""
_ASKS = re.compile(r"(?:cuda|hip)(?:Func[GS]et|OccupancyMaxActive)\w*")
"""Calls about one kernel, which load its code where it is not yet in place."""
_ASKS_NS = 50_000
"""Length from which on such a call loads: any other returns after a few microseconds."""
_FUSED = "fused_"
"""What names of operators and kernels of TorchScript's fuser begin with."""
_COMPILES_NS = 1_000_000
"""Time of a scripted function in no call from which on it compiles: no other step takes as long."""
_QUICK = 10
"""Kernels whose first launches are quick from which on the first of all is slow for no load."""
_STALLS = (Call.WAIT, Call.COPY, Call.ALLOCATE)


class KernelLoads(NamedTuple):
    """Calls that loaded or compiled code of kernels, and operators in which a library of them
    started, ascending; shape (l,). Times of one thread do not overlap."""

    row: TreeRow
    start: Nanoseconds
    """Start of the call; of one whose kernel TorchScript compiled, when that began before it."""
    end: Nanoseconds
    """End of the loading: of the call, or start of the kernel that it launched if that is earlier,
    as in a call that waits for its kernel; start of the call where TorchScript compiled before; of
    an operator start of the call that launches its first kernel."""
    by_profiler: Bool
    """The trace's first launch, slow because the profiler had just started: nothing was loaded."""

    @property
    def loaded(self) -> Int:
        """Those that the profiler does not explain, ascending."""
        return np.flatnonzero(~self.by_profiler)

    @property
    def duration(self) -> Nanoseconds:
        """End less start."""
        return self.end - self.start


def find_kernel_loads(timing: LaunchTiming, calls: CallTimes) -> KernelLoads:
    """Find calls that load modules by their names, and first launches that took far too long.

    Beside them operators in which libraries and the fuser of TorchScript start.

    Such a launch is the first of its kernel, by name and device, that the trace has; until the
    kernel began, it lasted over `SLOW` times the median of the call's later ones (of all where
    there are none), or long and the driver's own row of loading lies in it; and the host neither
    waited for a device, copied nor allocated in it. So do long calls that ask about a kernel, and
    calls that launch nothing, of which the driver's own rows of loading hold more than half.

    Args:
        timing: the device events and their launches.
        calls: how the time of calls divides: one that waited may be slow for that.
    """
    call_tree = timing.call_tree
    first = _first_launches(timing)
    launch, started = timing.device_events.launch[first], timing.device_events.start[first]
    until = np.minimum(call_tree.end[launch], started)
    lasted = until - call_tree.start[launch]
    slow = timing.slow(launch, lasted, but_these=True)
    loading = np.sort(timing.host.trace.events.start[driver_loads(timing)])
    before = np.searchsorted(loading, [call_tree.start[launch], until])
    slow |= (before[1] > before[0]) & (lasted > _LOADS_NS)
    slow &= ~isin(launch, calls.onto_full_queue)
    if slow.any():
        slow &= ~_stalls(timing, calls)[launch]
    end = call_tree.end.copy()
    end[launch[slow]] = until[slow]
    loads = timing.call == Call.LOAD
    loads[launch[slow]] = True
    loads[_loading_alone(timing, calls)] = True
    loads[_asking(timing)] = True
    starts, launched = _library_starts(timing)
    loads[starts], end[starts] = True, launched
    row = np.flatnonzero(loads)
    if len(row):
        above = call_tree.nearest_above(loads)[row]
        row = row[(above < 0) | (call_tree.start[row] >= lookup(end, above))]
    fused = np.array(list(_fused_by_script(timing)), np.int64).reshape(-1, 2)
    rows = np.concatenate([row, fused[:, 0]])
    order = np.argsort(rows, kind="stable")
    start = np.concatenate([call_tree.start[row], fused[:, 1]])[order]
    end = np.concatenate([end[row], call_tree.start[fused[:, 0]]])[order]
    profilers = not len(loading) and _starts_profiler(timing, rows, launch)
    return KernelLoads(rows[order], start, end, np.full(len(rows), profilers))


def _starts_profiler(timing: LaunchTiming, loads: TreeRow, first: TreeRow) -> bool:
    """Whether the only load is the trace's first launch, and the `first` ones of many other kernels
    are quick: then nothing is left to load, and CUPTI is slow at its first launch."""
    begun = timing.launch_start[timing.launch_start >= 0]
    alone = len(loads) == 1 and len(first) > _QUICK and isin(loads, first).all()
    return bool(alone and timing.call_tree.start[loads[0]] == begun.min())


def driver_loads(timing: LaunchTiming) -> EventRow:
    """Rows of `Events` of overhead in which the driver loads or compiles code, ascending."""
    named = _overhead(timing, f"{_LOADING}|Driver Compiler", inside=True)
    return np.sort(np.concatenate([named, _unnamed_loads(timing)]))


def profilers_overhead(timing: LaunchTiming) -> EventRow:
    """Rows of `Events` of overhead that are the profiler's own."""
    others = _overhead(timing, _NOT_THE_PROFILERS, inside=False)
    return np.asarray(others[~isin(others, _unnamed_loads(timing))])


def _unnamed_loads(timing: LaunchTiming) -> EventRow:
    """Rows without a name, where Kineto has none for the driver's, in calls that need code: first
    launches of a kernel, calls that load modules and those that look up what is in them."""
    row = _overhead(timing, _UNNAMED, inside=True)
    if not len(row) or len(_overhead(timing, _NAMED, inside=True)):
        return row[:0]
    host, tree, events = timing.host, timing.call_tree, timing.host.trace.events
    needs = timing.call == Call.LOAD
    needs[host.named(lambda name: _LOOKS_UP.fullmatch(name) is not None)] = True
    needs &= host.kind == EventCategory.RUNTIME
    needs[timing.device_events.launch[_first_launches(timing)]] = True
    within = tree.time_of(needs)
    begins = intervals.contains(within, events.start[row])
    return np.asarray(row[begins & intervals.contains(within, events.end[row] - 1)])


def _overhead(timing: LaunchTiming, pattern: str, *, inside: bool) -> EventRow:
    """Rows of `Events` of overhead whose whole name matches a pattern, or does not."""
    trace, matches = timing.host.trace, re.compile(pattern).fullmatch
    row = np.flatnonzero(trace.events.kind == EventCategory.OVERHEAD)
    return np.asarray(row[trace.strings.map(trace.events.name[row], matches, bool) == inside])


def _asking(timing: LaunchTiming) -> TreeRow:
    """Calls about one kernel that take too long for a kernel whose code is in place."""
    rows = timing.host.named(lambda name: _ASKS.fullmatch(name) is not None)
    long = timing.call_tree.duration[rows] > _ASKS_NS
    return np.asarray(rows[long & (timing.host.kind[rows] == EventCategory.RUNTIME)])


def _loading_alone(timing: LaunchTiming, calls: CallTimes) -> TreeRow:
    """Calls that launch nothing, where the driver's rows of loading hold more than half of each."""
    tree, events = timing.call_tree, timing.host.trace.events
    driver = driver_loads(timing)
    if not len(driver):
        return driver
    wanted = (timing.host.kind == EventCategory.RUNTIME) & (timing.call == Call.NONE)
    wanted[timing.device_events.launches] = False
    row: TreeRow = np.flatnonzero(wanted)
    # Rows of the driver show no thread: one that begins before the call is of another thread.
    begun = np.searchsorted(np.sort(events.start[driver]), [tree.start[row], tree.end[row]])
    row = row[begun[1] > begun[0]]
    if not len(row):
        return row
    span = np.stack([tree.start[row], tree.end[row]], axis=1)
    held = intervals.lengths_within(intervals.of(events.start[driver], events.end[driver]), span)
    loads = (2 * held > tree.duration[row]) & ~_stalls(timing, calls)[row]
    return np.asarray(row[loads])


def _library_starts(timing: LaunchTiming) -> tuple[TreeRow, Nanoseconds]:
    """Operators in which a library starts, and when each launched its first kernel.

    Each is the first of its name that launches a kernel. It takes over `SLOW` times as long until
    then as the others of its name do (as all others where there are none), by their median.
    """
    host, tree = timing.host, timing.call_tree
    calls = starting_calls(host)
    around = host.operator_around[calls]
    if not (around >= 0).any():
        return calls[:0], calls[:0]
    launch = unique(timing.device_events.launch[_single_kernels(timing)])
    launch = launch[host.operator_around[launch] >= 0]
    launch = launch[first_of_each(host.operator_around[launch])]
    operator = host.operator_around[launch]
    name, until = host.string[operator], tree.start[launch] - tree.start[operator]
    order = np.argsort(tree.start[operator], kind="stable")
    found = []
    for i in order[first_of_each(name[order])].tolist():
        if ((around == operator[i]) & (calls < launch[i])).any():
            others = name == name[i] if (name == name[i]).sum() > 1 else name >= 0
            others[i] = False
            if others.any() and until[i] > SLOW * median(until[others]):
                found.append(i)
    return operator[found], tree.start[launch[found]]


def _fused_by_script(timing: LaunchTiming) -> Iterator[tuple[int, int]]:
    """Yield the first call of each kernel of TorchScript's fuser, and when it began to compile."""
    host, tree, names = timing.host, timing.call_tree, timing.host.trace.events.name
    rows = host.named(lambda name: name.startswith(_FUSED))
    rows = rows[isin(host.string[rows], unique(names[timing.device_events.event]))]
    rows = rows[np.argsort(tree.start[rows], kind="stable")]
    function = host.operators
    for row in rows[first_of_each(host.string[rows])].tolist():
        while function[row] and (above := int(tree.parent[row])) >= 0 and function[above]:
            first = above == row - 1
            begun = int(tree.start[above] if first else tree.end[above + 1 : row].max())
            if tree.start[row] - begun >= _COMPILES_NS:
                yield row, begun
            if tree.start[row] - begun >= _COMPILES_NS or not first:
                break
            row = above


def _first_launches(timing: LaunchTiming) -> DeviceEventIndex:
    """The kernel of the first launch of each kernel on each device."""
    events, names = timing.device_events, timing.host.trace.events.name
    rows = np.flatnonzero(timing.first_of_launch & _single_kernels(timing))
    rows = rows[np.argsort(timing.launch_start[rows], kind="stable")]
    devices, device = unique_inverse(events.device[rows])
    name = names[events.event[rows]].astype(np.int64)
    return rows[first_of_each(name * len(devices) + device)]


def _single_kernels(timing: LaunchTiming) -> Bool:
    """Kernels launched by a call that launches one, shape (d,)."""
    host, events = timing.host, timing.device_events
    name = lookup(host.string, events.launch)
    return np.asarray(events.is_kernel & host.trace.strings.map(name, _LAUNCH.fullmatch, bool))


def _stalls(timing: LaunchTiming, calls: CallTimes) -> Bool:
    """Rows in or below which the host waited, copied or allocated, shape (n,)."""
    stalling = isin(timing.call, _STALLS)
    stalling[calls.row] = True
    return timing.call_tree.holds(stalling)
