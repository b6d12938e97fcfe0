"""All checks of a trace."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_hookview import markers
from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.collectives.calls import PARAMETERS
from tb_hookview.analysis.device.events import (
    DeviceEvents,
    calls_of,
    in_capture,
    of_graph,
    repeated_launches,
)
from tb_hookview.analysis.host.rows import MARK_ROLES, WHOLE_DEVICE, Call, HostRows, Role
from tb_hookview.analysis.modules.tree import Modules, marked_modules
from tb_hookview.arrays.joins import asof, dense_rank, isin, mask_of, pair_key, running_max, unique
from tb_hookview.arrays.nesting import ROUNDING_NS, CallTree, lookup
from tb_hookview.arrays.types import Bool, EventRow, Int, Nanoseconds, TreeRow
from tb_hookview.trace import EventCategory, Events, Trace

# One fault of a trace.


class Fault(Struct, frozen=True):
    """Something that a trace of a correct recording does not have."""

    code: str
    """Name of the check; `report/tables/warnings.py` has the words for it."""
    count: int
    """Number of times it was seen, above 0."""
    time: int | None = None
    """The largest of them, nanoseconds; None where it is no time."""
    share: float | None = None
    """Share of all that it concerns; None where it does not grow with it."""
    measured_share: float | None = None
    """The same of measured steps, where they are not all; it decides the severity."""
    names: tuple[str, ...] = ()
    """Kernels that it is about most."""


def counted(code: str, count: int) -> tuple[Fault, ...]:
    """The fault where there is any."""
    return (Fault(code, count),) if count else ()


def measured(code: str, excess: list[int]) -> tuple[Fault, ...]:
    """The fault with its largest time, where there is any; times in nanoseconds."""
    return (Fault(code, len(excess), time=max(excess)),) if excess else ()


# Whether the clocks of host and device agree, and go on.
#
#     host     [launch]          [synchronize]
#     device  [event 1]  [event 2                  ]
#              began before its launch, ended after the call that waited for it
#
# Between both bounds a device clock may be wrong without a trace.


LONGEST_BREAK_NS = 3600 * 10**9
"""No step is idle for longer; what a profiler records is over within minutes."""

LARGEST_SKEW_NS = 100_000
"""Difference of clocks that is tolerated, where events begin that soon after their launches; what
contradicts them by more is wrong."""

_TO_HOST = re.compile(r"DtoH|DeviceToHost")
_STREAM_SYNC = "Stream Sync"


class ClockErrors(Struct, frozen=True):
    """Times by which the clocks of host and device contradict one another, above rounding."""

    before_launch: Nanoseconds
    """From the start of device events to the calls that launched them."""
    after_sync: Nanoseconds
    """From the return of syncs to the end of device events that they waited for."""
    possible: int
    """Largest difference of the clocks that the start of all events after their launches allows,
    nanoseconds; at least `LARGEST_SKEW_NS`."""

    @property
    def skew(self) -> int:
        """Largest possible difference of clocks that the trace shows, at least `ROUNDING_NS`."""
        errors = np.concatenate([self.before_launch, self.after_sync])
        return int(errors[errors <= self.possible].max(initial=ROUNDING_NS))

    def faults(self) -> tuple[Fault, ...]:
        """The errors as faults of the trace."""
        return (
            *measured("before-launch", self.before_launch.tolist()),
            *measured("after-sync", self.after_sync.tolist()),
        )


def clock_errors(host: HostRows, device_events: DeviceEvents, calls: Int) -> ClockErrors:
    """Compare device events with the calls that launched them and with syncs.

    Of syncs are checked: those of a whole device, where the trace has one device and they can be
    for it; those of a stream, where `cuda_sync` rows name it; and synchronous copies to the host.
    """
    launched = device_events.launch >= 0
    began = host.call_tree.start[device_events.launch[launched]]
    lead = began - device_events.start[launched]
    of_device = _late_for_device(host, device_events)
    # A clock that is late puts every event that much after its launch; else the device is another.
    possible = LARGEST_SKEW_NS - (int(lead.max()) if len(lead) else 0)
    late = np.concatenate(
        [
            of_device[of_device <= possible],
            _late_for_stream(host, device_events),
            _late_for_copy(host, device_events, calls),
        ]
    )
    early = lead[lead > ROUNDING_NS]
    return ClockErrors(early, late[late > ROUNDING_NS], max(possible, LARGEST_SKEW_NS))


def clock_jumps(trace: Trace, begin: int, end: int) -> tuple[Fault, ...]:
    """Spans of `LONGEST_BREAK_NS` and more without an event, between two bounds."""
    if end - begin < LONGEST_BREAK_NS:
        return ()
    events = trace.events
    inside = (events.start >= begin) & (events.end <= end)
    order = np.argsort(events.start[inside], kind="stable")
    start, stop = events.start[inside][order], events.end[inside][order]
    breaks = start[1:] - np.maximum.accumulate(stop)[:-1]
    return counted("clock-jump", int(np.count_nonzero(breaks >= LONGEST_BREAK_NS)))


def _late_for_device(host: HostRows, device_events: DeviceEvents) -> Nanoseconds:
    if len(unique(device_events.device)) != 1:
        return np.zeros(0, np.int64)
    rows = host.named(WHOLE_DEVICE.fullmatch)
    if len(left := _left_at_end(host, device_events)):
        # One that returned before the device ran these was for another device.
        rows = rows[host.call_tree.start[rows] < host.call_tree.start[left[0]]]
    return _lateness(host, device_events, rows, np.zeros(len(rows), np.int64), None)


def _late_for_stream(host: HostRows, device_events: DeviceEvents) -> Nanoseconds:
    syncs, trace = host.trace.cuda_syncs, host.trace
    if not len(syncs.kind):
        return np.zeros(0, np.int64)
    named = np.array([kind == _STREAM_SYNC for kind in syncs.kind], bool) & (syncs.stream >= 0)
    call = calls_of(trace, host.call_tree, syncs.correlation, trace.events.start[syncs.event])
    wanted = np.flatnonzero(named & (call >= 0))
    # The row lies on the stream that it is about, on a lane of its own since 2026.
    streams = [thread.stream for thread in trace.threads]
    stream = np.array([int(s) if s.isdecimal() and len(s) < 10 else -1 for s in streams], np.int64)
    key = pair_key(device_events.device + 1, lookup(stream, device_events.stream) + 1)
    asked = pair_key(syncs.device[wanted] + 1, syncs.stream[wanted] + 1)
    return _lateness(host, device_events, call[wanted], asked, key)


def _lateness(
    host: HostRows, device_events: DeviceEvents, rows: TreeRow, asked: Int, key: Int | None
) -> Nanoseconds:
    """Time from the return of each sync to the last end of what was launched before it.

    Args:
        rows: the syncs.
        asked: what each waits for, among the keys.
        key: of each device event; None: all are waited for.
    """
    if not len(rows):
        return rows
    launched = np.flatnonzero(device_events.launch >= 0)
    keys = np.zeros(len(device_events), np.int64) if key is None else key
    given = host.call_tree.end[device_events.launch[launched]]
    order = launched[np.lexsort((given, keys[launched]))]
    last = running_max(keys[order], device_events.end[order])
    given = host.call_tree.end[device_events.launch[order]]
    found = asof(keys[order], given, asked, host.call_tree.start[rows])
    return np.where(found >= 0, lookup(last, found) - host.call_tree.end[rows], 0)


def _late_for_copy(host: HostRows, device_events: DeviceEvents, calls: Int) -> Nanoseconds:
    events, texts = host.trace.events, host.trace.strings
    blocking = lookup(calls, device_events.launch) == Call.COPY
    copies = np.flatnonzero(device_events.is_copy & blocking)
    copies = copies[texts.map(events.name[device_events.event[copies]], _TO_HOST.search, bool)]
    ended = host.call_tree.end[device_events.launch[copies]]
    return np.asarray(device_events.end[copies] - ended)


# Device rows that no device can have made, and those that the recording lost.


LONGEST_NS = 60 * 10**9
"""No kernel runs for a minute while nothing else is recorded."""
_FEW_RAN = 1 / 20
"""Part of the launches after that of the last device event that may have one of another stream."""
LOST_AT_LEAST = 0.01
"""Share of launches in the middle or at the end, or of device time in overlaps, from which on it is
a fault."""

_LAUNCH = re.compile(
    r"(cuda|hip|mu|musa)(Ext)?(Module)?Launch(Cooperative)?Kernel\w*"
    r"|(cuda|hip|mu|musa)LaunchCooperativeKernel\w*|cuLaunch(Cooperative)?Kernel\w*"
    r"|(cuda|hip|cu)GraphLaunch\w*"
)
_COPIES = re.compile(r"(cuda|hip)Memcpy(?!.*Symbol)\w*")
_MANY_COPIES = 10
"""Copies from which on it is no chance that all lack device events."""


def impossible_lengths(host: HostRows, device_events: DeviceEvents) -> tuple[Fault, ...]:
    """Device events of `LONGEST_NS` and more that outlast all other rows of the trace together."""
    long = device_events.duration >= LONGEST_NS
    if not long.any():
        return ()
    starts = np.concatenate([host.call_tree.start, device_events.start[~long]])
    ends = np.concatenate([host.call_tree.end, device_events.end[~long]])
    rest = int(ends.max() - starts.min()) if len(starts) else 0
    lengths = device_events.duration[long & (device_events.duration > rest)]
    return measured("impossible-length", lengths.tolist())


def overlaps(host: HostRows, device_events: DeviceEvents) -> tuple[Fault, ...]:
    """Device events of one stream that run at the same time.

    Not those of graphs, which may. Few that overlap by microseconds do so by programmatic launch.
    """
    alone = np.flatnonzero(~of_graph(host, device_events, np.arange(len(device_events))))
    order = alone[np.argsort(device_events.stream[alone], kind="stable")]  # each by start, as all
    stream = device_events.stream[order]
    last = running_max(stream, device_events.end[order])
    ends = np.minimum(last[:-1], device_events.end[order][1:])
    common = np.where(stream[1:] == stream[:-1], ends - device_events.start[order][1:], 0)
    over = common[common > ROUNDING_NS]
    share = int(over.sum()) / max(int(device_events.duration.sum()), 1)
    if share < LOST_AT_LEAST:
        return ()
    return (Fault("overlap", len(over), time=int(over.max()), share=share),)


def without_launch(device_events: DeviceEvents, measured: Bool | None) -> tuple[Fault, ...]:
    """Device events whose launch is not in the trace, by their share of device time.

    Args:
        device_events: all device events.
        measured: which of them belong to measured steps; None for all.
    """
    missing = device_events.launch < 0
    if not missing.any():
        return ()
    share = _share(device_events.duration, missing)
    of_steps = (
        None if measured is None else _share(device_events.duration[measured], missing[measured])
    )
    count = int(np.count_nonzero(missing))
    return (Fault("no-launch", count, share=share, measured_share=of_steps),)


def _share(duration: Nanoseconds, found: Bool) -> float:
    time = int(duration.sum())
    return int(duration[found].sum()) / time if time else 1.0


def lost_device_events(host: HostRows, device_events: DeviceEvents) -> tuple[Fault, ...]:
    """Launches whose device events are not in the trace.

    Those into a graph that is captured never begin. Others at the end had not begun as the
    recording ended; at the start and in the middle, or with none at all, the profiler lost them.
    """
    launches = launches_to_run(host)
    if not len(launches):
        return ()
    if not len(device_events):
        return counted("no-device-events", len(launches))
    known = np.flatnonzero(isin(launches, device_events.launch))
    if not len(known):
        alone = np.count_nonzero(device_events.launch < 0)  # may be theirs
        lost_all = alone < min(len(launches), len(device_events))
        return (Fault("lost-in-between", len(launches), share=1.0),) if lost_all else ()
    left = isin(launches, _left_at_end(host, device_events))
    after, earlier = int(left.sum()), int(np.count_nonzero(left[: known[-1]]))
    between = int(known[-1] - known[0] + 1 - len(known) - earlier)
    share = between / len(launches)
    lost = [Fault("lost-in-between", between, share=share)] if share >= LOST_AT_LEAST else []
    if after:
        lost.append(Fault("lost-at-end", after, share=after / len(launches)))
    return (*counted("lost-at-start", int(known[0])), *lost)


def lost_copies(host: HostRows, device_events: DeviceEvents) -> tuple[Fault, ...]:
    """Calls that copy, where kernels have launches and none of these calls a device event."""
    calls = host.named(_COPIES.fullmatch)
    calls = calls[~in_capture(host, calls)]
    if len(calls) < _MANY_COPIES or not len(device_events.launches):
        return ()
    lost = not _have_events(host, device_events, calls).any()
    return (Fault("lost-copies", len(calls)),) if lost else ()


def _left_at_end(host: HostRows, device_events: DeviceEvents) -> TreeRow:
    """Launches after the last that has a device event; none where they are few, unless they are
    all of what an optimizer's step launches.

    Where the device was behind, a few that had no other work before them have one nonetheless.
    """
    launches = launches_to_run(host)
    has = isin(launches, device_events.launches)
    first = _first_left(launches, has, device_events) if has.any() else len(launches)
    is_left = ~has & (np.arange(len(launches)) >= first)
    left = launches[is_left]
    update = host.call_tree.nearest(host.role == Role.OPTIMIZER)
    begun = update[launches[~is_left]]
    whole = ((update[left] >= 0) & ~isin(update[left], begun)).any()
    return left if whole or len(left) >= LOST_AT_LEAST * len(launches) else left[:0]


def _first_left(launches: TreeRow, has: Bool, device_events: DeviceEvents) -> int:
    """Place of the first launch after the last that has a device event.

    Or after the one whose event ends last, where nearly none after it has one.
    """
    mine = np.flatnonzero(isin(device_events.launch, launches))
    ends_last = device_events.launch[mine[device_events.end[mine].argmax()]]
    after = int(np.flatnonzero(launches == ends_last)[0]) + 1
    few = has[after:].sum() <= _FEW_RAN * len(has[after:])
    return after if few else int(np.flatnonzero(has)[-1]) + 1


def launches_to_run(host: HostRows) -> TreeRow:
    """Launches by start, but those into a graph that is captured."""
    launches = host.named(_LAUNCH.fullmatch)
    launches = launches[np.argsort(host.call_tree.start[launches], kind="stable")]
    return launches[~in_capture(host, launches)]


def partial_rows(host: HostRows, device_events: DeviceEvents) -> Bool:
    """Rows inside of which the trace lacks the launch of a device event, or a launch's event.

    A device event without a launch is that of the row with its `External id`, where this numbers
    operators, unless it starts before the row.
    """
    tree = host.call_tree
    if not len(device_events):
        return np.zeros(len(tree), bool)
    launches = launches_to_run(host)
    lacks = mask_of(launches[~_have_events(host, device_events, launches)], len(tree))
    lacks[_with_lone_events(host, device_events)] = True
    return tree.holds(lacks)


def _have_events(host: HostRows, device_events: DeviceEvents, calls: TreeRow) -> Bool:
    """Whether each of some calls has a device event.

    A call of the driver inside one of the runtime is one launch with it.
    """
    tree = host.call_tree
    has = mask_of(device_events.launches, len(tree))
    return np.asarray(tree.inside(has)[calls] | tree.holds(has)[calls])


def _with_lone_events(host: HostRows, device_events: DeviceEvents) -> TreeRow:
    """Operators whose `External id` a device event without a launch has that starts later."""
    events, tree = host.trace.events, host.call_tree
    named = np.flatnonzero(host.kind == EventCategory.OPERATOR)
    if _repeats_correlation(events, device_events.event):
        return named[:0]
    alone = device_events.event[device_events.launch < 0]
    alone = alone[np.lexsort((events.start[alone], events.external[alone]))]
    number = events.external[tree.event[named]]
    last = np.searchsorted(events.external[alone], number, side="right") - 1
    event = lookup(alone, last)
    same = (number > 0) & (lookup(events.external, event) == number)
    return np.asarray(named[same & (lookup(events.start, event) >= tree.start[named])])


def _repeats_correlation(events: Events, rows: EventRow) -> bool:
    """Whether the `External id` of most of some rows is their own correlation id.

    Between late 2021 and early 2024 the field held that, and collides with operators' ids by
    chance.
    """
    rows = rows[events.external[rows] > 0]
    own = events.external[rows] == events.correlation[rows]
    return bool(2 * np.count_nonzero(own) > len(rows))


def captured_launches(host: HostRows) -> TreeRow:
    """Launches into a graph that is captured, which run where it is replayed."""
    launches = host.named(_LAUNCH.fullmatch)
    return launches[in_capture(host, launches)]


def lost_launches(host: HostRows, device_events: DeviceEvents) -> TreeRow:
    """Launches by start that have no device event."""
    launches = launches_to_run(host)
    return launches[~isin(launches, device_events.launch)]


# Marks of the recorder that cannot be used.


_BACKWARD_MARKS = (Role.GRADIENT_MARK, Role.BEFORE_MARK, Role.AFTER_MARK)


def unusable_marks(host: HostRows, modules: Modules) -> tuple[Fault, ...]:
    """Marks that cannot be used fully, by reason."""
    marks = np.flatnonzero(isin(host.role, _BACKWARD_MARKS))
    unknown = int(np.count_nonzero(marked_modules(host, modules, marks) < 0))
    before = np.count_nonzero(host.role == Role.BEFORE_MARK)
    after = np.count_nonzero(host.role == Role.AFTER_MARK)
    other = int(np.count_nonzero(host.role == Role.UNKNOWN_MARK))
    manifest = host.trace.manifest
    version = manifest.version or markers.VERSION if manifest else markers.VERSION
    return (
        *counted("mark-without-module", unknown),
        *counted("mark-without-pair", int(abs(before - after))),
        *counted("later-mark", _later_marks(host)),
        *counted("unknown-mark", other),
        *counted("later-manifest", int(version > markers.VERSION)),
    )


def _later_marks(host: HostRows) -> int:
    """Count marks of a known kind and a later version.

    These are read as of our version.
    """
    strings = host.string[isin(host.role, MARK_ROLES)]

    def is_later(text: str) -> bool:
        mark = markers.decode(text)
        return mark is not None and mark.version > markers.VERSION

    return int(host.trace.strings.map(strings, is_later, bool).sum())


# Numbers that link rows to one another, and do not.


_WAITS_FOR_EVENT = ("Event Sync", "Stream Wait Event")


def external_id_conflicts(host: HostRows) -> tuple[Fault, ...]:
    """Calls whose `External id` is not that of an operator around them.

    A file in which most calls repeat their own correlation id is not checked, nor any single call
    that does.
    """
    events, is_call = host.trace.events, host.kind == EventCategory.RUNTIME
    external = events.external[host.call_tree.event]
    calls = np.flatnonzero(is_call & (external > 0))
    if _repeats_correlation(events, host.call_tree.event[calls]):
        return ()
    own = external[calls] == events.correlation[host.call_tree.event[calls]]
    identified, asked = np.where(is_call, -1, external), calls[~own]
    asked = asked[isin(external[asked], identified[identified > 0])]
    around = _named_around(host.call_tree, identified, asked, external[asked])
    return counted("external-id", int(np.count_nonzero(~around)))


def shared_numbers(host: HostRows, nodes: Nodes) -> tuple[Fault, ...]:
    """Autograd nodes of different names with the same number of the same forward thread.

    The number names the forward operator of a node, so of these all but one have a wrong one.
    """
    sequence, thread = host.sequence[nodes.row], host.forward_thread[nodes.row]
    numbered = np.flatnonzero((sequence >= 0) & (thread > 0))
    number = dense_rank(thread[numbered], sequence[numbered])
    named = dense_rank(number, host.string[nodes.row[numbered]])
    shared = int(named.max(initial=-1) - number.max(initial=-1))
    if not shared:
        return ()
    return (Fault("shared-number", shared, share=shared / len(numbered)),)


def outlasting_calls(host: HostRows, device_events: DeviceEvents) -> tuple[Fault, ...]:
    """Calls that end after the operator they begin in, by more than rounding to microseconds does.

    An operator waits for its calls, so that they belong to another one, or their clock is late.
    """
    tree = host.call_tree
    around = lookup(host.kind, tree.parent) == EventCategory.OPERATOR
    rows = np.flatnonzero((host.kind == EventCategory.RUNTIME) & around)
    excess = tree.end[rows] - tree.end[tree.parent[rows]]
    rows, excess = rows[excess > 2 * ROUNDING_NS], excess[excess > 2 * ROUNDING_NS]
    if not len(rows):
        return ()
    share = _share(device_events.duration, isin(device_events.launch, rows))
    return (Fault("outlasting-call", len(rows), time=int(excess.max()), share=share),)


def silent_collectives(host: HostRows) -> tuple[Fault, ...]:
    """Collective calls without sizes, types or ranks."""
    table, events = host.trace.collectives, host.trace.events
    whole = (table.sent >= 0) & (table.received >= 0) & (table.group_size >= 0)
    whole &= np.array([bool(text) for text in table.collective], bool)
    whole &= np.array([bool(text) for text in table.dtype], bool)
    texts = host.trace.strings.texts
    if PARAMETERS not in texts:
        return ()
    calls = int(np.count_nonzero(events.name == texts.index(PARAMETERS)))
    return counted("silent-collective", calls - int(np.count_nonzero(whole)))


def waits_before_record(host: HostRows) -> tuple[Fault, ...]:
    """Waits for an event that was recorded only later.

    That the recording is not in the file says nothing: CUPTI of CUDA 13 names none.
    """
    syncs, trace, tree = host.trace.cuda_syncs, host.trace, host.call_tree
    waits = np.array([kind in _WAITS_FOR_EVENT for kind in syncs.kind], bool)
    start = trace.events.start[syncs.event]
    record = calls_of(trace, tree, syncs.record_correlation, start)
    later = waits & (record >= 0) & (lookup(tree.start, record) > start)
    return counted("later-record", int(np.count_nonzero(later)))


def _named_around(call_tree: CallTree, identified: Int, rows: TreeRow, wanted: Int) -> Bool:
    """Whether any row around each of the given rows has the wanted id."""
    found, left, around = np.zeros(len(rows), bool), np.arange(len(rows)), call_tree.parent[rows]
    while len(left):
        going = around >= 0
        left, around = left[going], around[going]
        hit = identified[around] == wanted[left]
        found[left[hit]] = True
        left, around = left[~hit], call_tree.parent[around[~hit]]
    return found


def find_faults(
    host: HostRows,
    nodes: Nodes,
    modules: Modules,
    device_events: DeviceEvents,
    clocks: ClockErrors,
    bounds: tuple[int, int],
    measured: Bool | None,
) -> tuple[Fault, ...]:
    """Find what puts in doubt a trace; nothing for a correct one.

    Args:
        clocks: contradictions of the clocks.
        bounds: first start and last end of the trace, nanoseconds.
        measured: device events of measured steps, shape (d,); None for all.
    """
    repeated = repeated_launches(host.trace, host.call_tree, device_events)
    return (
        *clock_jumps(host.trace, *bounds),
        *clocks.faults(),
        *impossible_lengths(host, device_events),
        *overlaps(host, device_events),
        *lost_device_events(host, device_events),
        *lost_copies(host, device_events),
        *without_launch(device_events, measured),
        *counted("repeated-correlation", repeated),
        *external_id_conflicts(host),
        *shared_numbers(host, nodes),
        *outlasting_calls(host, device_events),
        *silent_collectives(host),
        *waits_before_record(host),
        *unusable_marks(host, modules),
    )
