"""Statistics of a window, as the report has them for the whole; and search by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.backward_within import backward_within
from tb_hookview.analysis.compiled.attribution import NOTHING_MOVED
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.modules.attribution import Parts
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import index_of, mask_of, unique
from tb_hookview.arrays.nesting import lookup, self_time
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import (
    Bool,
    Int,
    Intervals,
    ItemIndex,
    ModuleIndex,
    Nanoseconds,
    TimeSet,
    to_us,
)
from tb_hookview.schema import Phase
from tb_hookview.schema.timeline import (
    DeviceStatistics,
    EventSummary,
    Measure,
    SearchResult,
    TopEntry,
    TopKind,
    WindowStatistics,
)
from tb_hookview.timeline.event.links import summaries
from tb_hookview.timeline.lanes.lane import label
from tb_hookview.timeline.merging import touching
from tb_hookview.timeline.timeline import LanePosition, Timeline


@dataclass(frozen=True)
class Clipped:
    """The rows that touch a window; arrays of shape (k,), times in nanoseconds."""

    row: Int
    """Rows of the table, ascending."""
    start: Nanoseconds
    end: Nanoseconds

    @property
    def time(self) -> Nanoseconds:
        """Time of each in the window."""
        return self.end - self.start

    def own_time(self, above: Int) -> Nanoseconds:
        """Time of each in the window, less that of the rows inside.

        Args:
            above: for each row of the table the row around it, -1 for none.
        """
        inside = index_of(self.row, len(above))
        return self_time(self.start, self.end, lookup(inside, above[self.row]))


def clip(start: Nanoseconds, end: Nanoseconds, window: tuple[int, int]) -> Clipped:
    """Take the rows that touch a window.

    One without length touches it as one of a nanosecond would.
    """
    first, last = window
    row = np.flatnonzero((start < last) & (np.maximum(end, start + 1) > first))
    return Clipped(row, np.maximum(start[row], first), np.minimum(end[row], last))


MOST = 20
Bounds = tuple[int, int]


@dataclass(frozen=True)
class Ranking:
    """Sums by name; arrays of shape (n,), times in nanoseconds."""

    kind: TopKind
    """Kind of the lanes that show it."""
    measure: Measure
    """Whose time it is."""
    names: Callable[[int], str]
    count: Int
    total: Nanoseconds
    own: Nanoseconds | None

    def top(self) -> list[TopEntry]:
        """The most expensive of them."""
        rank = self.total if self.own is None else self.own
        present = np.flatnonzero(self.count)
        order = present[np.lexsort((-self.total[present], -rank[present]))][:MOST]
        return [
            TopEntry(
                kind=self.kind,
                measure=self.measure,
                name=label(self.names(row)),
                count=int(self.count[row]),
                total_us=to_us(self.total[row]),
                self_us=None if self.own is None else to_us(self.own[row]),
            )
            for row in order.tolist()
        ]

    @property
    def omitted(self) -> int:
        """Number of names that `top` leaves out."""
        return max(int(np.count_nonzero(self.count)) - MOST, 0)


def rankings(timeline: Timeline, window: Bounds) -> Iterator[Ranking]:
    """Device events, operators, modules forward and backward."""
    yield _device_events(timeline, window)
    yield _operators(timeline, window)
    known = timeline.analysis.launches_known
    yield from (_device_modules if known else _host_modules)(timeline, window)


def _device_events(timeline: Timeline, window: Bounds) -> Ranking:
    analysis = timeline.analysis
    inside = clip(analysis.device_events.start, analysis.device_events.end, window)
    name = analysis.trace.events.name[analysis.device_events.event[inside.row]].astype(np.int64)
    size = len(analysis.trace.strings)
    names = analysis.trace.strings.__getitem__
    count = np.bincount(name, minlength=size)
    return Ranking("device", "device", names, count, sum_by(name, inside.time, size), None)


def _operators(timeline: Timeline, window: Bounds) -> Ranking:
    analysis, rows = timeline.analysis, timeline.analysis.operators
    host, size = analysis.host, len(analysis.trace.strings)
    inside = clip(analysis.call_tree.start, analysis.call_tree.end, window)
    own_time = inside.own_time(rows.within)
    named = rows.named[inside.row]
    calls = named & ~rows.repeats[inside.row]
    string = host.string[inside.row]
    outer = np.flatnonzero(calls)
    outer = outer[analysis.call_tree.outermost(inside.row[outer], string[outer])]
    return Ranking(
        kind="host",
        measure="host",
        names=analysis.trace.strings.__getitem__,
        count=np.bincount(string[calls], minlength=size),
        total=sum_by(string[outer], inside.time[outer], size),
        own=sum_by(string[named], own_time[named], size),
    )


def _device_modules(timeline: Timeline, window: Bounds) -> Iterator[Ranking]:
    """A device event that serves several modules is shared among them, as in the report."""
    analysis, events = timeline.analysis, timeline.analysis.device_events
    inside = clip(events.start, events.end, window)
    module, time, index = _parts(analysis.device_parts, inside, inside.time, events.duration)
    backward = analysis.in_backward[index]
    yield _modules(timeline, "forward", "device", module[~backward], time[~backward])
    yield _modules(timeline, "backward", "device", module[backward], time[backward])


def _parts(
    parts: Parts, inside: Clipped, time: Nanoseconds, whole: Nanoseconds
) -> tuple[ModuleIndex, Nanoseconds, Int]:
    """Modules of what a window has of some rows, the time of each there, and its row.

    Args:
        parts: of the rows, by module.
        inside: the rows in the window.
        time: their times there.
        whole: times of all rows.
    """
    held = np.zeros(len(whole), np.int64)
    held[inside.row] = time
    parts = parts.where(mask_of(inside.row, len(whole))[parts.index] & (parts.module >= 0))
    share = held[parts.index] / np.maximum(whole[parts.index], 1)
    return parts.module, np.rint(parts.time * share).astype(np.int64), parts.index


def _host_modules(timeline: Timeline, window: Bounds) -> Iterator[Ranking]:
    module, time = _forward_on_host(timeline.analysis, window)
    yield _modules(timeline, "forward", "host", module, time)
    tree, nodes = timeline.analysis.call_tree, timeline.analysis.nodes
    inside = clip(tree.start[nodes.row], tree.end[nodes.row], window)
    parts, own = timeline.analysis.node_parts, inside.own_time(nodes.around)
    module, time, _ = _parts(parts, inside, own, nodes.self_host)
    yield _modules(timeline, "backward", "host", module, time)


def _forward_on_host(analysis: Analysis, window: Bounds) -> tuple[ModuleIndex, Nanoseconds]:
    """Modules and self times of calls; what compiled graphs ran for other modules is theirs."""
    tree, again = analysis.call_tree, analysis.attribution.row_recompute
    is_call: Bool = analysis.module_calls.module >= 0
    calls = np.flatnonzero(is_call)
    number = index_of(calls, len(tree))
    inside = clip(tree.start[calls], tree.end[calls], window)
    row, own = calls[inside.row], np.zeros(len(tree), np.int64)
    own[row] = inside.own_time(lookup(number, tree.nearest_above(is_call)[calls]))
    within = backward_within(analysis)
    inside = clip(within.start, within.end, window)
    np.subtract.at(own, within.call[inside.row], inside.time)
    moved = NOTHING_MOVED if analysis.compiled is None else analysis.compiled.call_shares
    moved = moved.where(~again[moved.row])
    inside = clip(tree.start[moved.row], tree.end[moved.row], window)
    share = inside.time / np.maximum(tree.duration[moved.row[inside.row]], 1)
    time = np.rint(moved.time[inside.row] * share).astype(np.int64)
    taken, row = moved.call[inside.row], row[~again[row]]
    np.subtract.at(own, taken[taken >= 0], time[taken >= 0])
    module = [analysis.module_calls.module[row], moved.module[inside.row]]
    return np.concatenate(module), np.concatenate([np.maximum(own[row], 0), time])


def _modules(
    timeline: Timeline, kind: TopKind, measure: Measure, module: ModuleIndex, time: Nanoseconds
) -> Ranking:
    modules, first = timeline.analysis.modules, timeline.names.module
    count = np.bincount(module, minlength=len(modules))
    own = sum_by(module, time, len(modules))
    return Ranking(
        kind=kind,
        measure=measure,
        names=lambda row: timeline.names.texts[first + row],
        count=count,
        total=modules.rolled_up(own),
        own=own,
    )


def statistics(timeline: Timeline, start: int, end: int) -> WindowStatistics:
    """Sums over a window, given in nanoseconds from the start of the trace."""
    window = (timeline.origin + start, timeline.origin + end)
    syncs, known = timeline.analysis.syncs, timeline.analysis.syncs_known
    inside = clip(syncs.start, syncs.end, window)
    ranked = list(rankings(timeline, window))
    return WindowStatistics(
        start=to_us(start),
        end=to_us(end),
        events=_events(timeline, window),
        host_blocked_us=to_us(_length_within(syncs.blocked, window)) if known else None,
        waits=len(inside.row) if known else None,
        sync_blocked_us=to_us(inside.time.sum()) if known else None,
        phases=_phases(timeline, window),
        devices=_devices(timeline, window),
        top=[row for ranking in ranked for row in ranking.top()],
        omitted={ranking.kind: ranking.omitted for ranking in ranked},
    )


def _length_within(time: TimeSet, window: Bounds) -> int:
    return int(intervals.lengths_within(time, np.array([window], np.int64))[0])


def _events(timeline: Timeline, window: Bounds) -> int:
    count = 0
    for number in timeline.lanes_of("host", "device", "annotations"):
        lane = timeline.lane(number)
        for row in range(lane.rows):
            low, high = touching(lane, row, *window)
            count += high - low
    return count


def _phases(timeline: Timeline, window: Bounds) -> dict[str, float]:
    """Host time of each phase that is known, within steps; the rest of a step is `other`."""
    analysis = timeline.analysis
    phases, steps = analysis.phases, analysis.steps.window
    inside = clip(steps[:, 0], steps[:, 1], window)
    windows = np.stack([inside.start, inside.end], axis=1)
    in_graph = np.asarray(analysis.replayed_graphs.unknown[inside.row].any(axis=0))
    spent = {
        phase: time
        for phase in (Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER, Phase.DATA)
        if phases.known[phase]
        and ((time := _length(phases.time[phase], windows)) or not in_graph[phase])
    }
    spent[Phase.OTHER] = int(inside.time.sum()) - sum(spent.values())
    return {phase.name.lower(): to_us(time) for phase, time in spent.items()}


def _length(time: TimeSet, windows: Intervals) -> int:
    return int(intervals.lengths_within(time, windows).sum())


def _devices(timeline: Timeline, window: Bounds) -> list[DeviceStatistics]:
    gaps = timeline.analysis.gaps
    names = {device.id: device.name for device in timeline.analysis.trace.devices}
    inside = clip(gaps.start, gaps.end, window)
    found = []
    for device, busy in timeline.analysis.device_events.busy.items():
        mine = gaps.device[inside.row] == device
        idle = sum_by(gaps.cause[inside.row][mine], inside.time[mine], len(Cause))
        found.append(
            DeviceStatistics(
                id=str(device),
                name=names.get(device, ""),
                busy_us=to_us(_length_within(busy, window)),
                idle_us=to_us(idle.sum()),
                idle_by_cause={c.name.lower(): to_us(idle[c]) for c in Cause},
            )
        )
    return found


# Search for events by a text in their names.


MOST_HITS = 500


@dataclass(frozen=True)
class Question:
    """Text to search for, and where; times are nanoseconds from the trace's start."""

    text: str
    lanes: Sequence[int]
    start: int | None
    end: int | None
    """None for the bounds of all that is in the lanes."""
    width: int
    """Number of parts in which hits are counted."""


def search(timeline: Timeline, question: Question) -> SearchResult:
    """Count all events found, and list the first of them by start."""
    named = _named(timeline, question.text)
    found = {
        number: _matches(timeline, number, named, question)
        for number in question.lanes
        if timeline.entries[number].items and not timeline.entries[number].late
    }
    number = np.concatenate([np.full(len(p), n) for n, p in found.items()] or [_NONE])
    position = np.concatenate([*found.values(), _NONE])
    starts = [timeline.lane(n).start[p] for n, p in found.items()]
    start = np.concatenate([*starts, _NONE])
    return SearchResult(
        total=len(start),
        hits=_hits(timeline, number, position, start),
        density=_density(timeline, start, question),
    )


_NONE: Int = np.zeros(0, np.int64)


def _named(timeline: Timeline, text: str) -> Bool:
    """Names that hold the text."""
    # Each is looked at once, however many events have it.
    wanted = text.lower()
    return np.array([wanted in name for name in timeline.names.lower] or [False], bool)


def _matches(timeline: Timeline, number: int, named: Bool, question: Question) -> ItemIndex:
    lane = timeline.lane(number)
    wanted = named[lane.name]
    if question.start is not None and question.end is not None:
        inside = np.zeros(len(lane), bool)
        window = (timeline.origin + question.start, timeline.origin + question.end)
        for row in range(lane.rows):
            low, high = touching(lane, row, *window)
            inside[low:high] = True
        wanted &= inside
    return np.flatnonzero(wanted)


def _hits(
    timeline: Timeline, number: Int, position: ItemIndex, start: Nanoseconds
) -> list[EventSummary]:
    first = _earliest(start)
    hits: dict[LanePosition, EventSummary] = {}
    for lane in unique(number[first]).tolist():
        mine = position[first][number[first] == lane]
        for item, event in zip(mine.tolist(), summaries(timeline, lane, mine), strict=True):
            hits[LanePosition(lane, item)] = event
    order = zip(number[first].tolist(), position[first].tolist(), strict=True)
    return [hits[LanePosition(lane, item)] for lane, item in order]


def _earliest(start: Nanoseconds) -> Int:
    """The first `MOST_HITS` of some events, in order of their starts."""
    if len(start) <= MOST_HITS:
        return np.argsort(start, kind="stable")
    latest = np.partition(start, MOST_HITS - 1)[MOST_HITS - 1]
    early = np.flatnonzero(start <= latest)
    return early[np.argsort(start[early], kind="stable")][:MOST_HITS]


def _density(timeline: Timeline, start: Nanoseconds, question: Question) -> list[int]:
    """Number of hits that begin in each part; those beyond count at its edge."""
    begin = 0 if question.start is None else question.start
    end = timeline.analysis.bounds[1] - timeline.origin if question.end is None else question.end
    part = (start - timeline.origin - begin) / max(end - begin, 1) * question.width
    part = np.clip(part, 0, question.width - 1).astype(np.int64)
    counts: list[int] = np.bincount(part, minlength=question.width).tolist()
    return counts
