"""A lane in memory: names, colours and rows of its items, and the sums that merging needs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import ROUNDING_NS, enclosing, lookup, subtree_ends
from tb_hookview.arrays.types import Bool, Index, Int, ItemIndex, NameIndex, Nanoseconds
from tb_hookview.schema import Phase, module_label

# Colours of the timeline, by phase and by cause of idle time.


Colours = NDArray[np.uint8]


class Colour(IntEnum):
    """Colours, in the order in which the overview lists them."""

    FORWARD = 0
    BACKWARD = 1
    OPTIMIZER = 2
    DATA = 3
    OTHER = 4
    WAIT = 5
    """The device was idle because the host waited for it, or the wait that made it so."""
    IDLE = 6
    """Idle with work queued, or a wait of the host that cost nothing."""
    COMMUNICATION = 7
    HOST = 8
    """The host was at work, whatever its phase; so all that follows, on the critical path."""
    DEVICE = 9
    LATENCY = 10
    UNEXPLAINED = 11
    IDLE_COPY = 12
    """Idle by that cause, as each of the following."""
    IDLE_ALLOCATOR = 13
    IDLE_KERNEL_LOADING = 14
    IDLE_LAUNCH = 15
    IDLE_PROFILER = 16
    IDLE_UNKNOWN = 17


NAMES = tuple(colour.name.lower() for colour in Colour)

_OF_PHASE = {
    Phase.BACKWARD: Colour.BACKWARD,
    Phase.OPTIMIZER: Colour.OPTIMIZER,
    Phase.DATA: Colour.DATA,
    Phase.FORWARD: Colour.FORWARD,
    Phase.OTHER: Colour.OTHER,
}
OF_PHASE: Colours = np.array([_OF_PHASE[phase] for phase in Phase], np.uint8)
"""Colour of each phase, by its number."""

_OF_CAUSE = {
    Cause.SYNC: Colour.WAIT,
    Cause.DATA_LOADING: Colour.DATA,
    Cause.COMMUNICATION: Colour.COMMUNICATION,
    Cause.COPY: Colour.IDLE_COPY,
    Cause.ALLOCATOR: Colour.IDLE_ALLOCATOR,
    Cause.KERNEL_LOADING: Colour.IDLE_KERNEL_LOADING,
    Cause.LAUNCH: Colour.IDLE_LAUNCH,
    Cause.PROFILER: Colour.IDLE_PROFILER,
    Cause.DEVICE: Colour.IDLE,
    Cause.UNKNOWN: Colour.IDLE_UNKNOWN,
}
OF_CAUSE: Colours = np.array([_OF_CAUSE[cause] for cause in Cause], np.uint8)
"""Colour of idle time, by the number of its cause."""


# The texts that lanes show: those of the trace, then some of our own.


LONGEST_LABEL = 256
"""Most characters of a name in a list; the event's detail has all of them."""

PATH_NAMES = (
    "host",
    "launch latency",
    "next on the stream",
    "return of the sync",
    "hand-over between threads",
    "full launch queue",
    "from stream to stream",
    "launched before the steps",
    "waiting for other ranks",
    "data loading",
    "unexplained pause",
)
"""Names of pieces of the critical path: by `EdgeKind`, then two more."""


_CAUSES = {
    Cause.SYNC: "syncs",
    Cause.COPY: "copies",
    Cause.KERNEL_LOADING: "lazy kernel loading",
    Cause.LAUNCH: "launch-bound",
    Cause.DEVICE: "idle with work queued",
}
"""Causes of idle time that the page calls other than the report's fields."""


def label(name: str, longest: int = LONGEST_LABEL) -> str:
    """A name, cut to a number of characters."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


class LaneNames:
    """All names, and where each group of our own begins.

    Attributes:
        texts: names of the trace, steps, phases, causes of idle time, modules, modules again, what
            pieces of the critical path are where no event has a name for them.
    """

    def __init__(self, analysis: Analysis) -> None:
        paths = [module_label(path) for path in analysis.modules.path]
        groups = (
            analysis.trace.strings.texts,
            analysis.steps.name,
            [phase.name.lower() for phase in Phase],
            [_CAUSES.get(cause, cause.name.lower().replace("_", " ")) for cause in Cause],
            paths,
            [f"{path}, recomputed" for path in paths],
            PATH_NAMES,
        )
        self.texts = tuple(text for group in groups for text in group)
        begins = np.cumsum([0, *map(len, groups)]).tolist()
        _, self.step, self.phase, self.cause, self.module, self.recomputed, self.path, _ = begins

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All names, no longer than a list or a block can show."""
        return tuple(map(label, self.texts))

    @cached_property
    def lower(self) -> tuple[str, ...]:
        """All names in lower case, to search in."""
        return tuple(text.lower() for text in self.texts)


# Rows of a lane: each item is below what holds it, never upon another.
#
#     |------------ a ------------|        depth 0
#       |--- b ---|  |--- c ---|           depth 1
#         |- d -|          |---- e ----|   depth 2; crosses c and a
#
# An item lies in the innermost one that holds it. Items of one row do not overlap, but for what
# rounding makes of neighbours (`nesting.ROUNDING_NS`), and their ends are in the order of their
# starts, so that what touches a window is one range of each row.
#
# A trace may be made to need any number of rows. What would stand below the last of `MOST_ROWS` is
# put on that one, over each other.


MOST_ROWS = 256
"""More than the frames of any program that does not recurse."""


def by_start(start: Nanoseconds, end: Nanoseconds) -> ItemIndex:
    """Order of items by start, then longest first."""
    # Few of a trace begin at one moment.
    order = np.argsort(start, kind="stable")
    same = start[order[1:]] == start[order[:-1]]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    few = order[tied]
    order[tied] = few[np.lexsort((start[few] - end[few], start[few]))]
    return order


def by_row(depth: Int) -> ItemIndex:
    """Order of items by their rows; within a row they stay as they are."""
    return np.argsort(depth.astype(np.int16), kind="stable")  # 16 bits are the quickest to sort


def depths(start: Nanoseconds, end: Nanoseconds) -> Int:
    """Row of each item, from 0; items (nanoseconds) in the order of `by_start`."""
    parent = enclosing(np.zeros(len(start), np.int64), start, end)
    depth = np.minimum(_levels(parent), MOST_ROWS - 1)
    crossing = np.flatnonzero((parent >= 0) & (end > lookup(end, parent)))
    for first, last in _outermost(unique(parent[crossing]), parent):
        depth[first:last] = depth[first] + _first_fit(start[first:last], end[first:last])
    for first, last in _groups_with(_out_of_order(depth, end), start, end):
        depth[first:last] = _first_fit(start[first:last], end[first:last])
    return np.minimum(depth, MOST_ROWS - 1)


def _outermost(items: ItemIndex, parent: ItemIndex) -> list[tuple[int, int]]:
    """First and last (exclusive) item of each subtree of some items, outermost ones only."""
    found: list[tuple[int, int]] = []
    ends = subtree_ends(parent)[items] if len(items) else items
    for first, last in zip(items.tolist(), ends.tolist(), strict=True):
        if not found or first >= found[-1][1]:
            found.append((first, last))
    return found


def _levels(parent: ItemIndex) -> Int:
    """Number of items around each, by doubling jumps."""
    level = (parent >= 0).astype(np.int64)
    hop = parent.copy()
    active = np.flatnonzero(hop >= 0)
    while len(active):
        above = hop[active]
        level[active] += level[above]
        hop[active] = hop[above]
        active = active[hop[active] >= 0]
    return level


def _out_of_order(depth: Int, end: Nanoseconds) -> Bool:
    """Items that end before one of their row that began before them."""
    order = by_row(depth)
    row, ends = depth[order], end[order]
    wrong = np.zeros(len(depth), bool)
    wrong[order[1:]] = (row[1:] == row[:-1]) & (ends[1:] < ends[:-1])
    return wrong & (depth < MOST_ROWS - 1)


def _groups_with(wanted: Bool, start: Nanoseconds, end: Nanoseconds) -> list[tuple[int, int]]:
    """First and last (exclusive) item of each run of overlapping items with a wanted one."""
    if not wanted.any():
        return []
    reach = np.maximum.accumulate(end)
    first = np.flatnonzero(np.concatenate([[True], start[1:] >= reach[:-1]]))
    last = np.append(first[1:], len(start))
    holding = unique(np.searchsorted(first, np.flatnonzero(wanted), side="right") - 1)
    return list(zip(first[holding].tolist(), last[holding].tolist(), strict=True))


def _first_fit(start: Nanoseconds, end: Nanoseconds) -> Int:
    """Row of each item: the first free one below the innermost that holds it."""
    over: list[int] = []  # end of the last item of each row
    depth: list[int] = []
    for begin, stop in zip(start.tolist(), end.tolist(), strict=True):
        row = len(over)
        while row > 0 and (over[row - 1] < stop or over[row - 1] <= begin):
            row -= 1
        while row < len(over) and not _free(over[row], begin, stop):
            row += 1
        depth.append(row)
        if row < MOST_ROWS:
            over[row : row + 1] = [stop]
    return np.array(depth, np.int64)


def _free(over: int, begin: int, stop: int) -> bool:
    return over <= begin or (over - begin <= ROUNDING_NS and stop >= over)


@dataclass(frozen=True)
class LaneItems:
    """Items of a lane, in any order; arrays of shape (n,)."""

    start: Nanoseconds
    end: Nanoseconds
    name: NameIndex
    colour: Colours
    source: Int
    """Row of the item in the table that the lane was made from."""


class Lane:
    """Items by row, then by start; arrays of shape (n,).

    Within a row starts and ends both ascend, so that what touches a window is one range of it.
    """

    def __init__(self, items: LaneItems) -> None:
        order = by_start(items.start, items.end)
        depth = depths(items.start[order], items.end[order])
        rowed = by_row(depth)
        order, self.depth = order[rowed], depth[rowed].astype(np.int16)
        self.start = items.start[order]
        self.end = items.end[order]
        self.name = items.name[order].astype(np.int32)
        self.colour = items.colour[order]
        self.source = items.source[order].astype(np.int32)
        rows = int(self.depth[-1]) + 1 if len(order) else 0
        self.bounds = np.searchsorted(self.depth, np.arange(rows + 1))
        """Where each row begins, and after the last one the end; shape (rows + 1,)."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def rows(self) -> int:
        """Rows that nest."""
        return len(self.bounds) - 1

    @cached_property
    def _by_source(self) -> tuple[ItemIndex, Index]:
        order = np.argsort(self.source, kind="stable")
        return order, self.source[order]

    def position_of(self, source: Int) -> ItemIndex:
        """Position of the first item of each source, -1 where there is none."""
        order, sources = self._by_source
        if not len(order):
            return np.full(len(source), -1, np.int64)
        place = np.minimum(np.searchsorted(sources, source), len(sources) - 1)
        return np.where(sources[place] == source, order[place], -1)

    @cached_property
    def until(self) -> Nanoseconds:
        """End of each item as a window sees it: one without length takes a nanosecond.

        On the last of as many rows as there may be, items lie over each other: there it is the
        latest end so far.
        """
        if self.rows < MOST_ROWS and (self.end > self.start).all():
            return self.end  # the same array, not a copy
        until = np.maximum(self.end, self.start + 1)
        if self.rows == MOST_ROWS:
            until[self.bounds[-2] :] = np.maximum.accumulate(until[self.bounds[-2] :])
        return until

    def room(self, position: ItemIndex) -> Nanoseconds:
        """Time that some items have their row for themselves.

        It ends with the item, or where rounding lets the next of its row begin.
        """
        following = np.minimum(position + 1, len(self) - 1)
        until = np.minimum(self.end[position], self.start[following])
        alone = (following == position) | (self.depth[following] != self.depth[position])
        return np.where(alone, self.end[position], until) - self.start[position]

    @cached_property
    def changes(self) -> NDArray[np.int32]:
        """Changes of the name up to each item.

        They are equal for two items where all between have one name.
        """
        changed = np.zeros(len(self), np.int32)
        changed[1:] = self.name[1:] != self.name[:-1]
        return np.cumsum(changed, dtype=np.int32)

    @cached_property
    def syncs_before(self) -> NDArray[np.int32] | None:
        """Syncs before each item, shape (n + 1,); None where the lane has none."""
        if Colour.WAIT not in self.palette:
            return None
        return np.append(np.int32(0), np.cumsum(self.colour == Colour.WAIT, dtype=np.int32))

    @cached_property
    def palette(self) -> Colours:
        """The colours that items have, ascending."""
        return unique(self.colour)

    @cached_property
    def time(self) -> Nanoseconds:
        """Time of the items before each, by colour of `palette`; shape (n + 1, colours).

        An item without length counts as a nanosecond, so that it has a colour too.
        """
        total = np.zeros((len(self) + 1, len(self.palette)), np.int64)
        for column, colour in enumerate(self.palette):
            spent = np.maximum(self.end - self.start, 1) * (self.colour == colour)
            np.cumsum(spent, out=total[1:, column])
        return total
