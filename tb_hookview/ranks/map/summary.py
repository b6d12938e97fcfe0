"""One rank's trace as what a run needs of it: a summary, and times that few ranks are asked for.

Its result crosses processes and machines: numpy columns and texts, nothing of the trace itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from isal import isal_zlib
from msgspec import Struct
from msgspec.structs import replace

from tb_hookview.analysis.activity import (
    OTHER,
    Activity,
    device_activity,
    host_activity,
    in_windows,
)
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.collectives.calls import (
    POINT_TO_POINT,
    CollectiveCalls,
    find_collectives,
    may_be_collective,
)
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.activity import microbatch_ranges
from tb_hookview.analysis.host.rows import AT_WORK, MODULE_PREFIX
from tb_hookview.analysis.syncs.detection import shows_who_synchronizes
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import dense_rank, first_of_each, isin, ordinal, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Index, Int, Nanoseconds, StepIndex, TimeSet, TreeRow
from tb_hookview.cache import Source
from tb_hookview.errors import UsageError
from tb_hookview.loading.columns import pack, unpack, unpacked
from tb_hookview.ranks.map.ahead import Ahead, find_ahead
from tb_hookview.ranks.map.steps import StepTimes, step_times, timed_steps
from tb_hookview.trace import Wanted

# Time that a rank works on each microbatch of a step, forward and backward.
#
# Where ranges of a schedule name microbatches, it is theirs. Else calls of the outermost modules
# are counted in each step: the third is microbatch 2, and so are the nodes that were made in it.
# Time held in messages is left out: it is that of other stages. All of it is the host's.


class MicrobatchTimes(Struct, frozen=True):
    """Work of a rank, one row per step, stage, microbatch and direction; shape (k,)."""

    step: StepIndex
    stage: Int
    """As the schedule numbers it, -1 where it does not."""
    number: Int
    """Microbatch within the step, from 0."""
    backward: Bool
    time: Nanoseconds


def find_microbatches(analysis: Analysis, calls: CollectiveCalls, held: TimeSet) -> MicrobatchTimes:
    """Find what a rank works on microbatches.

    Args:
        analysis: of its trace.
        calls: its collectives.
        held: time in which it does nothing but wait for other ranks.
    """
    if len(analysis.device_events) or set(POINT_TO_POINT).isdisjoint(calls.kind):
        none = np.zeros(0, np.int64)
        return MicrobatchTimes(none, none, none, none > 0, none)
    ranges = microbatch_ranges(analysis.host)
    if not len(ranges.row):
        return _by_calls(analysis, held)
    return _summed(analysis, held, ranges.row, ranges.stage, ranges.number, ranges.backward)


def _by_calls(analysis: Analysis, held: TimeSet) -> MicrobatchTimes:
    """Of calls of the outermost modules, and of the nodes that were made in them."""
    is_call = analysis.module_calls.module >= 0
    outer = is_call & (analysis.call_tree.nearest_above(is_call) < 0) & (analysis.row_node < 0)
    calls, nodes = np.flatnonzero(outer), analysis.nodes
    number = _in_order(analysis, calls, analysis.module_calls.module[calls])
    of_row = np.full(len(outer), -1)
    of_row[calls] = number
    made_in = lookup(of_row, lookup(analysis.call_tree.nearest(outer), nodes.forward_op))
    mine = (made_in >= 0) & (nodes.around < 0)
    rows = np.concatenate([calls, nodes.row[mine]])
    numbers = np.concatenate([number, made_in[mine]])
    return _summed(
        analysis, held, rows, np.full(len(rows), -1), numbers, np.arange(len(rows)) >= len(calls)
    )


def _in_order(analysis: Analysis, rows: TreeRow, group: Int) -> Int:
    """Place of each row among those of its group in its step, by time."""
    start = analysis.call_tree.start[rows]
    order = np.argsort(start, kind="stable")
    place = np.empty(len(rows), np.int64)
    place[order] = ordinal(dense_rank(group, analysis.steps.at(start))[order])
    return place


def _summed(
    analysis: Analysis, held: TimeSet, rows: TreeRow, stage: Int, number: Int, backward: Bool
) -> MicrobatchTimes:
    unnumbered = np.flatnonzero(number < 0)
    number = number.copy()
    group = 2 * stage[unnumbered] + backward[unnumbered]
    number[unnumbered] = _in_order(analysis, rows[unnumbered], group)
    tree = analysis.call_tree
    span = np.stack([tree.start[rows], tree.end[rows]], axis=1)
    time = tree.duration[rows] - intervals.lengths_within(held, span)
    step = analysis.steps.at(span[:, 0])
    place = dense_rank(step, stage, number, backward.astype(np.int64))
    first = first_of_each(place)
    total = np.zeros(len(first), np.int64)
    np.add.at(total, place, time)
    known = step[first] >= 0
    chosen = first[known]
    return MicrobatchTimes(
        step[chosen], stage[chosen], number[chosen], backward[chosen], total[known]
    )


def _is_needed(function: str) -> bool:
    """Whether a Python function of this name is a module, or decides whose a synchronize is."""
    return function.startswith(MODULE_PREFIX) or shows_who_synchronizes(function)


NEEDED = Wanted(
    columns=frozenset(
        (
            *("external", "sequence", "forward_thread", "device", "correlation"),
            *("graph", "graph_node", "shapes", "types"),
        )
    ),
    texts_of=may_be_collective,
    functions=_is_needed,
    details=False,
)
"""What a summary needs of a trace's events: it is the same with more.

What needs more of them, as the checks of numbers, is not asked of such an analysis."""


class Spent(Struct, frozen=True):
    """Time by what ran between consecutive edges, shape (k,)."""

    window: Index
    """Index into the windows between consecutive `RankSummary.edges`, ascending."""
    code: Index
    """Index into `RankSummary.modules`, or below 0 as in `analysis/activity.py`."""
    time: Nanoseconds

    def rows(self, first: int, last: int) -> slice:
        """Rows of the windows from one edge to another."""
        bounds = np.array([first, last], self.window.dtype)
        return slice(*np.searchsorted(self.window, bounds).tolist())

    def between(self, first: int, last: int) -> dict[int, int]:
        """Time by code in the windows from one edge to another."""
        rows = self.rows(first, last)
        total: dict[int, int] = {}
        for code, time in zip(self.code[rows].tolist(), self.time[rows].tolist(), strict=True):
            total[code] = total.get(code, 0) + time
        return total


class RankSummary(Struct, frozen=True):
    """What a run needs to know of one rank."""

    path: str
    rank: int | None
    world_size: int | None
    process_groups: int | None
    """Different sets of ranks that are a process group of this one; None for unknown."""
    start: int
    """First moment of the trace, from which its timeline counts; nanoseconds."""
    steps: StepTimes
    collectives: CollectiveCalls
    step: StepIndex
    """Step that launched each collective, in which it began where that is unknown; -1 for none."""
    launched_step: StepIndex
    """Step that launched each, -1 for none; the same on all ranks, however late it began."""
    launch: Nanoseconds
    """When the host launched each; its start where that is unknown, or it is of the host."""
    launched: Bool
    """Of which of them the launch is known."""
    edges: Nanoseconds
    """Starts, ends and launches of collectives, and bounds of steps; each once, ascending."""
    held: Nanoseconds
    """Time between consecutive edges in which it did nothing but wait in a collective."""
    ahead: Ahead
    """Time between consecutive edges in which its host and device wait for each other."""
    microbatches: MicrobatchTimes
    """Empty where the rank has no messages from point to point, or a device computes."""
    modules: tuple[str, ...]
    """Paths of the modules that ran, one for its forward and one for its backward."""
    backward: tuple[bool, ...]
    """Which of both, for each of `modules`."""
    lost: str | None
    """What of its file could not be read, and where; None where all was."""


class RankTimes(Struct, frozen=True):
    """What a rank spent its time on: most of what the map gives, read where it was late."""

    host: Spent
    device: Spent


class Mapped(Struct, frozen=True):
    """What the map gives of one trace."""

    summary: RankSummary
    times: RankTimes


TimesOf = Callable[[int], RankTimes]
"""Times of a rank by its place among the summaries."""


def summarize(analysis: Analysis) -> Mapped:
    """Summarize the trace of one rank."""
    calls = find_collectives(analysis.host, analysis.device_events, analysis.kinds)
    steps, launched = timed_steps(analysis), lookup(analysis.timing.launch_start, calls.first)
    launch = np.where(launched >= 0, np.minimum(launched, calls.start), calls.start)
    begun = steps.at(calls.start)
    launched_step = lookup(analysis.device_event_step, calls.first)
    launched_step = np.where(calls.on_device, launched_step, begun)
    bounds = np.concatenate([steps.window.ravel(), analysis.steps.window[:, 0]])
    edges = unique(np.concatenate([calls.start, calls.end, launch, bounds]))
    spent = [_spent(each(analysis), edges) for each in (host_activity, device_activity)]
    used = unique(np.concatenate([each.code for each in spent]))
    used = used[used >= 0]
    trace, held = analysis.trace, _held(analysis, calls)
    summary = RankSummary(
        path=trace.path,
        rank=trace.rank,
        world_size=trace.world_size,
        process_groups=trace.process_groups,
        start=int(analysis.bounds[0]),
        steps=step_times(analysis, steps, calls),
        collectives=calls,
        step=np.where(launched_step >= 0, launched_step, begun),
        launched_step=launched_step,
        launch=launch,
        launched=launched >= 0,
        edges=edges,
        held=intervals.lengths_within(held, intervals.between(edges)),
        ahead=find_ahead(analysis, calls, edges, _without_rows(analysis, edges)),
        microbatches=find_microbatches(analysis, calls, held),
        modules=tuple(analysis.modules.path[each // 2] for each in used.tolist()),
        backward=tuple(each % 2 == 1 for each in used.tolist()),
        lost=trace.lost,
    )
    return Mapped(summary, RankTimes(*(_renumbered(each, used) for each in spent)))


def _held(analysis: Analysis, calls: CollectiveCalls) -> TimeSet:
    """Time in which devices did nothing but run collectives, or the host waited for its own."""
    waits, mine = analysis.communication_waits, calls.on_device
    collectives = intervals.of(calls.start[mine], calls.end[mine])
    waiting = intervals.normal(np.concatenate([waits, collectives]))
    computes = analysis.device_events.time_of(analysis.kinds.kind != COMMUNICATION)
    return intervals.subtract(waiting, computes)


def _spent(activity: Activity, edges: Nanoseconds) -> Spent:
    directed = np.where(activity.code >= 0, 2 * activity.code + activity.backward, activity.code)
    window, code, time = in_windows(replace(activity, code=directed), edges)
    return Spent(window.astype(np.int32), code.astype(np.int32), time)


def _without_rows(analysis: Analysis, edges: Nanoseconds) -> Nanoseconds:
    """Time of the host in no module, loader, optimizer or wait, and in no row of an operator or a
    runtime call of a thread that launches device events; between consecutive edges."""
    activity, tree = host_activity(analysis), analysis.call_tree
    other = activity.code == OTHER
    launches = isin(tree.thread, unique(tree.thread[analysis.device_events.launches]))
    calls = launches & isin(analysis.host.kind, AT_WORK)
    in_calls = intervals.of(tree.start[calls], tree.end[calls])
    none = intervals.subtract(intervals.of(activity.start[other], activity.end[other]), in_calls)
    return intervals.lengths_within(none, intervals.between(edges))


def _renumbered(spent: Spent, used: Int) -> Spent:
    code = np.where(spent.code >= 0, np.searchsorted(used, spent.code), spent.code)
    return Spent(spent.window, code.astype(np.int32), spent.time)


# Times of the ranks in a temporary file: in memory are those that were asked for last.
#
# They are nine tenths of what is known of a rank, and a straggler is compared with few others. They
# are compressed where a trace is read, and written here as they come.


IN_MEMORY = 64
"""Ranks whose times are in memory at most: a late one and those it is compared with are 17."""


def packed(times: RankTimes) -> bytes:
    """Pack the times of a rank into what a spool takes."""
    return isal_zlib.compress(b"".join(pack(times)), 1)


class Spool:
    """A temporary file with the packed times of some ranks, by number; deleted at the end."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="hookview-ranks-")  # noqa: SIM115
        self._spans: list[tuple[int, int]] = []
        self._end = 0
        self.times = lru_cache(IN_MEMORY)(self._read)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, content: bytes) -> int:
        """Write packed times; return their number.

        Raises:
            UsageError: there is no room for them.
        """
        try:
            self._file.seek(self._end)
            self._file.write(content)
            self._file.flush()
        except OSError as error:
            raise UsageError(
                f"the times of {len(self._spans) + 1} ranks do not fit into "
                f"{tempfile.gettempdir()} ({error.strerror}); name a larger folder by TMPDIR"
            ) from error
        self._spans.append((self._end, len(content)))
        self._end += len(content)
        return len(self._spans) - 1

    def _read(self, number: int) -> RankTimes:
        start, length = self._spans[number]
        self._file.seek(start)
        content = isal_zlib.decompress(self._file.read(length))
        return unpack(memoryview(content), RankTimes)


KIND = "rank"


def store(source: Source, mapped: Mapped) -> bool:
    """Store the summary of a source.

    Returns:
        Whether it is stored.

    Raises:
        OSError: it cannot be written.
    """
    return source.put(KIND, pack(_at(mapped, "")))


def load(source: Source, path: str) -> Mapped | None:
    """Return a source's cached summary as that of a trace at a path; None without."""
    mapped = unpacked(source, KIND, Mapped)
    return None if mapped is None else _at(mapped, path)


def _at(mapped: Mapped, path: str) -> Mapped:
    return replace(mapped, summary=replace(mapped.summary, path=path))
