"""Collectives of one rank, one row for each call, and the host's waits for them.

On a device a collective is the kernels that one call launched; the call is the innermost of
`record_param_comms`, a process group's annotation (`nccl:all_reduce`) and the launch itself. On the
host (gloo, MPI, UCC) it is the annotation on the thread that does the work: it begins when this
rank takes part (the call, where that is on the same thread) and ends when all have. In shared
memory it is an operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from math import prod

import msgspec
import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents, of_graph
from tb_hookview.analysis.device.kinds import COMMUNICATION, DeviceEventKinds
from tb_hookview.analysis.host.activity import width
from tb_hookview.analysis.host.rows import HostRows, Role
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import index_of, isin, mask_of, unique, unique_inverse
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.sums import greatest_by, least_by
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    Int,
    Nanoseconds,
    ThreadIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.trace import EventCategory

# Kinds of collectives and sizes of their messages, by the names in a trace.


_KINDS = (
    ("all_reduce", r"all_?reduce|AllReduce|cross_device_reduce"),
    ("reduce_scatter", r"reduce_?scatter|ReduceScatter"),
    ("all_gather", r"all_?gather|AllGather"),
    ("all_to_all", r"all_?to_?all|AllToAll|SendRecv"),
    ("broadcast", r"broadcast|Broadcast"),
    ("reduce", r"reduce|Reduce"),
    ("gather", r"gather"),
    ("scatter", r"scatter"),
    ("send", r"\bi?send|Send"),
    ("recv", r"recv|Recv"),
    ("barrier", r"barrier"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)

POINT_TO_POINT = ("send", "recv")
ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter"})

BUS_FACTOR: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "all_to_all": lambda ranks: (ranks - 1) / ranks,
    "gather": lambda ranks: (ranks - 1) / ranks,
    "scatter": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda _ranks: 1.0,
    "reduce": lambda _ranks: 1.0,
    "send": lambda _ranks: 1.0,
    "recv": lambda _ranks: 1.0,
}
"""Bus bandwidth over bytes by time, as nccl-tests define it (doc/PERFORMANCE.md)."""


@lru_cache(4096)
def kind_of_collective(name: str) -> str:
    """Kind by the name of a collective, its annotation or its kernel; "" for unknown."""
    return next((kind for kind, pattern in _COMPILED if pattern.search(name)), "")


@lru_cache(4096)
def message_bytes(shapes: str, types: str, *, of_result: bool = False) -> int:
    """Bytes of the tensors in an operator's `Input Dims` and `Input type`; -1 for unknown.

    Args:
        shapes: the former, as JSON.
        types: the latter.
        of_result: whether one of them is what the operator writes: the largest is all of it.
    """
    try:
        dims, names = msgspec.json.decode(shapes or "[]"), msgspec.json.decode(types or "[]")
    except msgspec.DecodeError:
        return -1
    if not isinstance(dims, list) or not isinstance(names, list):
        return -1
    sizes = [_bytes(dim, name) for dim, name in zip(dims, names, strict=False)]
    known = [size for size in sizes if size > 0] or [-1]
    return max(known) if of_result else sum(known)


def _bytes(dim: object, name: object) -> int:
    if not isinstance(dim, list) or not isinstance(name, str):
        return 0
    sizes = [size for size in dim if isinstance(size, int) and size >= 0]
    return prod(sizes) * width(name) if len(sizes) == len(dim) else 0


ANNOTATED = re.compile(r"(?:nccl|rccl|gloo|mpi|ucc|hccl|xccl):(?P<name>\w+)")
"""Names that a process group puts around a collective."""
SHARED_MEMORY = ("_C::shm_all", "sgl-kernel::shm_all")
"""How names of vLLM's and SGLang's collectives begin, operators that block the calling thread."""
ON_HOST = ("gloo:", "mpi:", "ucc:", *SHARED_MEMORY)
"""How names of collectives begin that host threads run."""
CALLS = ("c10d::", "_c10d_functional::")
"""How names of operators begin that call a collective, and may wait for it."""
PARAMETERS = "record_param_comms"


class CollectiveCalls(Struct, frozen=True):
    """Collectives of one rank in order of their start; columns of shape (c,)."""

    start: Nanoseconds
    end: Nanoseconds
    """Time in which this rank took part, waiting for the others included."""
    row: TreeRow
    """Row of the call tree that names it; that of the launch where none does, -1 without one."""
    first: DeviceEventIndex
    """Its first device event, -1 for one of the host."""
    kind: tuple[str, ...]
    """`all_reduce`, `send`, ...; "" for unknown."""
    bytes: Int
    """Bytes of the whole operation: the larger of the messages in and out; -1 for unknown."""
    ranks: Int
    """Number of ranks that take part, -1 for unknown."""
    group: tuple[str, ...]
    """Process group by name and ranks; "" where the trace does not name it."""
    description: tuple[str, ...]
    """What the program says of the group, such as `mesh_tp`; "" for nothing."""
    number: Int
    """Number in the group, equal on all its ranks; -1 for unknown."""
    source: Int
    target: Int
    """Ranks of a message from point to point, -1 for others."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def on_device(self) -> Bool:
        """Whether each ran on a device."""
        return np.asarray(self.first >= 0)


def may_be_collective(name: str) -> bool:
    """Whether a host row of this name may describe a collective, by its arguments."""
    return name == PARAMETERS or name.startswith(ON_HOST) or ANNOTATED.match(name) is not None


def find_collectives(
    host: HostRows, device_events: DeviceEvents, kinds: DeviceEventKinds
) -> CollectiveCalls:
    """Find the collectives of a trace."""
    called = host.named(lambda name: name == PARAMETERS or ANNOTATED.match(name))
    row, start, end, first = _on_devices(host, device_events, kinds, called)
    on_host = host.named(lambda name: name.startswith(ON_HOST))
    tree = host.call_tree
    start = np.concatenate([start, _called_at(host, on_host)])
    end = np.concatenate([end, tree.end[on_host]])
    order = np.lexsort((end, start))
    row = np.concatenate([row, on_host])[order]
    first = np.concatenate([first, np.full(len(on_host), -1, np.int64)])[order]
    return _described(host, device_events, row, first, start[order], end[order])


def _called_at(host: HostRows, runs: TreeRow) -> Nanoseconds:
    """Start of each collective of the host: that of the call that it begins in, where one does.

    A message from point to point may block in its call, on the thread that then waits for it.
    """
    tree, call = host.call_tree, host.named(lambda name: name.startswith(CALLS))
    if not len(call):
        return tree.start[runs]
    span = int(tree.end.max()) + 1
    key = tree.thread[call].astype(np.int64) * span + tree.start[call]
    order = np.argsort(key, kind="stable")
    call, key = call[order], key[order]
    mine = tree.thread[runs].astype(np.int64) * span + tree.start[runs]
    last = call[np.maximum(np.searchsorted(key, mine, side="right") - 1, 0)]
    inside = (tree.thread[last] == tree.thread[runs]) & (tree.start[last] <= tree.start[runs])
    inside &= tree.end[last] >= tree.start[runs]
    return np.where(inside, tree.start[last], tree.start[runs])


def _on_devices(
    host: HostRows, events: DeviceEvents, kinds: DeviceEventKinds, called: TreeRow
) -> tuple[TreeRow, Nanoseconds, Nanoseconds, DeviceEventIndex]:
    """Row, start, end and first event of each call that launched kernels of communication.

    Of a replayed graph each kernel is a collective, and so is one without a launch.
    """
    mine = np.flatnonzero((kinds.kind == COMMUNICATION) & events.is_kernel)
    launch = events.launch[mine]
    wanted = mask_of(called, len(host))
    named = _with_parameters(host, wanted, lookup(host.call_tree.nearest(wanted), launch))
    owner = np.where(named >= 0, named, launch)
    own = (owner < 0) | ((named < 0) & of_graph(host, events, mine))
    calls, of_event = unique_inverse(np.where(own, -2 - mine, owner))
    start = least_by(of_event, events.start[mine], len(calls))
    end = greatest_by(of_event, events.end[mine], len(calls))
    first = least_by(of_event, mine, len(calls))
    return np.where(calls >= 0, calls, launch[np.searchsorted(mine, first)]), start, end, first


def _with_parameters(host: HostRows, called: Bool, row: TreeRow) -> TreeRow:
    """The row with the call's parameters, where one is directly around its annotation."""
    above = lookup(host.call_tree.nearest_above(called), row)
    entry, dtype = _entry(host, above), host.trace.collectives.dtype
    described = np.array([bool(text) for text in dtype] or [False])
    return np.where((entry >= 0) & described[np.maximum(entry, 0)], above, row)


def _described(
    host: HostRows,
    events: DeviceEvents,
    row: TreeRow,
    first: DeviceEventIndex,
    start: Nanoseconds,
    end: Nanoseconds,
) -> CollectiveCalls:
    table, trace = host.trace.collectives, host.trace
    entry = _entry(host, row)
    names = [
        _name(host, int(r), table.collective[e] if e >= 0 else "", events, int(f))
        for r, e, f in zip(row.tolist(), entry.tolist(), first.tolist(), strict=True)
    ]
    sizes = np.array([_bytes_of(host, int(r), int(e)) for r, e in zip(row, entry, strict=True)])
    group = tuple(_group(host, e) for e in entry.tolist())
    ranks = lookup(table.group_size, entry)
    if trace.world_size and (trace.process_groups or 1) == 1:
        ungrouped = np.array([not name for name in group], bool)
        ranks = np.where((ranks < 0) & ungrouped, trace.world_size, ranks)
    return CollectiveCalls(
        start=start,
        end=end,
        row=row,
        first=first,
        kind=tuple(names),
        bytes=sizes.astype(np.int64),
        ranks=ranks,
        group=group,
        description=tuple(table.group_description[e] if e >= 0 else "" for e in entry.tolist()),
        number=lookup(table.collective_number, entry),
        source=lookup(table.source_rank, entry),
        target=lookup(table.target_rank, entry),
    )


def _entry(host: HostRows, row: TreeRow) -> Int:
    """Index into `Trace.collectives` of each row, -1 for none."""
    table = host.trace.collectives
    of_event = index_of(table.event, len(host.trace.events))
    return lookup(of_event, lookup(host.call_tree.event, row))


def _name(host: HostRows, row: int, called: str, events: DeviceEvents, first: int) -> str:
    """Kind of a call by its parameters, its annotation, or its kernel."""
    kernel = (
        host.trace.strings[int(host.trace.events.name[events.event[first]])] if first >= 0 else ""
    )
    annotation = host.name(row) if row >= 0 else ""
    return next((k for text in (called, annotation, kernel) if (k := kind_of_collective(text))), "")


def _bytes_of(host: HostRows, row: int, entry: int) -> int:
    table, events = host.trace.collectives, host.trace.events
    if entry >= 0 and (size := width(table.dtype[entry])):
        elements = max(int(table.sent[entry]), int(table.received[entry]))
        if elements >= 0:
            return elements * size
    if row < 0:
        return -1
    event, texts = int(host.call_tree.event[row]), host.trace.texts
    shapes, types = texts[int(events.shapes[event])], texts[int(events.types[event])]
    return message_bytes(shapes, types, of_result=host.name(row).startswith(SHARED_MEMORY))


def _group(host: HostRows, entry: int) -> str:
    table = host.trace.collectives
    if entry < 0:
        return ""
    return " ".join(filter(None, (table.group[entry], table.group_ranks[entry])))


# Time in which a training thread waits for a collective that the host runs (gloo, MPI, UCC).
#
#     main    [node][c10d::allreduce_][node].....................[optimizer]
#     gloo           [gloo:all_reduce                          ]
#     waits                                 |------------------|
#
# A thread waits from its last row, or from the start of the collective where that is later, to
# the collective's end if it goes on soon after: later by no more than it waited. It may also go
# on before the collective's row ends, which wakes it and then is put aside: earlier by at most a
# tenth of what it waited. Inside an operator that computes it does not wait. Python that runs
# without a row meanwhile looks like waiting.


_LATE = 10
"""Least ratio of a wait to the time by which the row of its collective outlasts it."""
_LONG_NS = 100_000
"""Shorter holes are no waits of that sort."""
_LOOKED_BACK = 32
"""Longer holes before the end of a collective, all but the first of which may be Python's."""


def find_host_waits(host: HostRows, threads: ThreadIndex) -> TimeSet:
    """Time in which any of some threads waits for a collective.

    Args:
        host: host rows.
        threads: those that train; where there are none, those that call collectives, and where no
            call is recorded (torch 1.11 and before) those that run them and do more.
    """
    tree = host.call_tree
    runs = host.named(lambda name: name.startswith(ON_HOST))
    if not len(runs):
        return intervals.EMPTY
    calls = host.named(lambda name: name.startswith(CALLS))
    waiting = _may_wait(host, np.concatenate([calls, runs]))
    if not len(threads):
        threads = unique(tree.thread[calls if len(calls) else runs])
        if not len(calls):
            threads = threads[isin(threads, tree.thread[~mask_of(runs, len(host))])]
    runs = runs[np.argsort(tree.start[runs], kind="stable")]
    messages = host.named(lambda name: kind_of_collective(name) in POINT_TO_POINT)
    is_message = isin(runs, messages)
    found = [
        _waits(host, thread, among, tree.start[of], tree.end[of])
        for thread in threads.tolist()
        for of, among in (
            (runs[~is_message], waiting),
            (runs[is_message], waiting & _may_wait_for(host, messages)),
        )
        if len(of)
    ]
    return intervals.normal(np.concatenate([intervals.EMPTY, *found]))


def _may_wait_for(host: HostRows, messages: TreeRow) -> Bool:
    """Rows inside which a thread may wait for messages: none of modules and nodes without any."""
    tree = host.call_tree
    works = isin(host.role, [int(Role.FORWARD_MARK), int(Role.NODE)])
    outermost = tree.nearest(works & (tree.nearest_above(works) < 0))[messages]
    sends = mask_of(outermost[outermost >= 0], len(host))
    return ~tree.inside(works) | tree.inside(sends)


def _may_wait(host: HostRows, collectives: TreeRow) -> Bool:
    """Rows directly inside which a thread may wait: all but operators that compute."""
    operator = host.operators | (host.kind == EventCategory.RUNTIME)
    operator |= host.role == Role.GRADIENT_SINK
    operator[collectives] = False
    return np.asarray(~operator)


def _waits(
    host: HostRows, thread: int, waiting: Bool, start: Nanoseconds, end: Nanoseconds
) -> TimeSet:
    """Waits of a thread for some collectives."""
    tree = host.call_tree
    rows = np.flatnonzero(tree.thread == thread)
    moment = unique(np.concatenate([tree.start[rows], tree.end[rows]]))
    if len(moment) < 2:
        return intervals.EMPTY
    row = innermost_at(tree, np.full(len(moment) - 1, thread), (moment[:-1] + moment[1:]) // 2)
    holes = np.flatnonzero((row < 0) | waiting[row])
    stops, goes_on = moment[holes], moment[holes + 1]
    if not len(holes):
        return intervals.EMPTY
    found = [_until_the_end(stops, goes_on, start, end, np.searchsorted(goes_on, end))]
    long = goes_on - stops >= _LONG_NS
    stops, goes_on = stops[long], goes_on[long]
    before = np.searchsorted(goes_on, end) - 1
    found += [
        _woken_before_the_end(stops, goes_on, start, end, before - back)
        for back in range(_LOOKED_BACK if len(stops) else 0)
    ]
    return intervals.normal(np.concatenate(found))


def _until_the_end(
    stops: Nanoseconds, goes_on: Nanoseconds, start: Nanoseconds, end: Nanoseconds, hole: Int
) -> TimeSet:
    """Waits in holes that hold the ends of the collectives."""
    hole, inside = np.minimum(hole, len(stops) - 1), hole < len(stops)
    since = np.maximum(stops[hole], start)
    waits = inside & (since < end) & (goes_on[hole] - end <= end - since)
    return intervals.of(since[waits], end[waits])


def _woken_before_the_end(
    stops: Nanoseconds, goes_on: Nanoseconds, start: Nanoseconds, end: Nanoseconds, hole: Int
) -> TimeSet:
    """Waits in holes that end shortly before the collectives do."""
    hole, inside = np.maximum(hole, 0), hole >= 0
    since = np.maximum(stops[hole], start)
    waits = inside & (_LATE * (end - goes_on[hole]) <= goes_on[hole] - since)
    return intervals.of(since[waits], goes_on[hole[waits]])
