"""Blocks of a lane in a window: long items by themselves, the rest merged.

Time is cut into cells of one resolution, a power of two of nanoseconds and no more than a pixel,
counted from the start of the trace, so that blocks stay as they are while the window moves:

    cells     |         |         |         |         |
    items      [a][b]    [c]  [d-----------------]  [e]
    merged     [a+b]     [c]  [d-----------------]  [e]

Items shorter than the resolution that begin in one cell are merged, and so are neighbouring cells
of one colour with less than the resolution between them. A merged block has the colour that takes
the most time in it; one with a sync has the colour of syncs. Only the first and the last item
of each cell are looked for, whatever is between them: the rest follows from sums up to each item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from threading import Lock

import numpy as np

from tb_hookview.arrays.types import Bool, Int, ItemIndex, NameIndex, Nanoseconds
from tb_hookview.timeline.lanes.catalogue import LaneEntry
from tb_hookview.timeline.lanes.lane import Colour, Colours, Lane, LaneNames
from tb_hookview.timeline.lanes.trace_lanes import Curve

_DENSE = 2
"""Items per cell from which on cells are searched among items, not items among cells."""


@dataclass(frozen=True)
class Window:
    """A span of the timeline and how finely to show it."""

    start: int
    end: int
    """Nanoseconds on the trace's clock."""
    origin: int
    """Time from which cells are counted."""
    resolution: int
    """Nanoseconds, a power of two."""


@dataclass(frozen=True)
class DrawnBlocks:
    """Blocks of a lane, by row, then by start; arrays of shape (b,)."""

    start: Nanoseconds
    end: Nanoseconds
    depth: Int
    name: NameIndex
    """-1 where several names are merged."""
    colour: Colours
    count: Int
    """Items in the block."""
    first: ItemIndex
    """The first of them."""

    def of_row(self, row: int) -> DrawnBlocks:
        """The blocks of one row."""
        mine = self.depth == row
        columns = {field.name: getattr(self, field.name)[mine] for field in fields(self)}
        return DrawnBlocks(**columns)


def resolution_of(length: int, width: int) -> int:
    """The largest power of two of nanoseconds within one of `width` pixels."""
    return 1 << max((length // width).bit_length() - 1, 0)


def blocks(lane: Lane, window: Window) -> DrawnBlocks:
    """Merge what touches a window; the counts sum to the items that do."""
    first, stop = _cells(lane, window)
    first, stop, alone = _apart(lane, first, stop, window.resolution)
    colour = _colours(lane, first, stop)
    last = stop - 1
    joins = ~alone[1:] & ~alone[:-1] & (colour[1:] == colour[:-1])
    joins &= lane.depth[first[1:]] == lane.depth[first[:-1]]
    joins &= lane.start[first[1:]] - lane.end[last[:-1]] < window.resolution
    opens = np.concatenate([np.ones(min(len(first), 1), bool), ~joins])
    closes = np.concatenate([~joins, np.ones(min(len(first), 1), bool)])
    first, last, colour = first[opens], last[closes], colour[opens]
    same = lane.changes[first] == lane.changes[last]
    return DrawnBlocks(
        start=lane.start[first],
        end=lane.end[last],
        depth=lane.depth[first],
        name=np.where(same, lane.name[first], -1),
        colour=colour,
        count=last - first + 1,
        first=first,
    )


def touching(lane: Lane, row: int, start: int, end: int) -> tuple[int, int]:
    """First and last (exclusive) position of the items of a row that touch [start, end)."""
    first, last = int(lane.bounds[row]), int(lane.bounds[row + 1])
    low = first + int(np.searchsorted(lane.until[first:last], start, side="right"))
    high = first + int(np.searchsorted(lane.start[first:last], end, side="left"))
    return low, max(high, low)


def _cells(lane: Lane, window: Window) -> tuple[ItemIndex, ItemIndex]:
    """First and last (exclusive) item that begins in each cell, row by row."""
    edges: list[ItemIndex] = []
    ends: list[ItemIndex] = []
    for row in range(lane.rows):
        low, high = touching(lane, row, window.start, window.end)
        if low < high:
            edges.append(_edges(lane, low, high, window))
            ends.append(np.append(edges[-1][1:], high))
    nothing = np.zeros(0, np.int64)
    return np.concatenate([nothing, *edges]), np.concatenate([nothing, *ends])


def _edges(lane: Lane, low: int, high: int, window: Window) -> ItemIndex:
    """First of the items [low, high) of a row in each cell with any."""
    start, step = lane.start[low:high], window.resolution
    inside = int(np.searchsorted(start, window.start))
    if inside == high - low:
        return low + _opening(start, window)
    begin = (int(start[inside]) - window.origin) // step
    cells = (int(start[-1]) - window.origin) // step - begin + 1
    if high - low <= _DENSE * cells:
        return low + _opening(start, window)
    first = window.origin + begin * step
    place = np.searchsorted(start[inside:], np.arange(first, first + cells * step, step))
    place = place[np.concatenate([place[1:] > place[:-1], [True]])]
    before = _opening(start[: inside + 1], window)
    return low + np.concatenate([before, inside + place[1:]])


def _opening(start: Nanoseconds, window: Window) -> ItemIndex:
    """Items that are the first of their cells, looked at one by one."""
    cell = (start - window.origin) // window.resolution
    return np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))


def _apart(
    lane: Lane, first: ItemIndex, stop: ItemIndex, resolution: int
) -> tuple[ItemIndex, ItemIndex, Bool]:
    """Take long items out of their cells."""
    # Only the last of a cell can be one.
    long = lane.room(stop - 1) >= resolution
    both = long & (stop - first > 1)
    place = np.arange(len(first)) + np.cumsum(both) - both
    size = len(first) + int(both.sum())
    starts, stops, alone = np.empty(size, np.int64), np.empty(size, np.int64), np.zeros(size, bool)
    starts[place], stops[place], alone[place] = first, stop - both, long & ~both
    after = place[both] + 1
    starts[after], stops[after], alone[after] = stop[both] - 1, stop[both], True
    return starts, stops, alone


def _colours(lane: Lane, first: ItemIndex, stop: ItemIndex) -> Colours:
    """Colour of each run of items."""
    colour = lane.colour[first]
    if len(lane.palette) < 2:
        return colour
    several = np.flatnonzero(stop - first > 1)
    begin, end = first[several], stop[several]
    colour[several] = lane.palette[np.argmax(lane.time[end] - lane.time[begin], axis=1)]
    if lane.syncs_before is not None:
        colour[several[lane.syncs_before[end] > lane.syncs_before[begin]]] = Colour.WAIT
    return colour


# Lanes on one axis of time, made on first use and cached.


@dataclass(frozen=True)
class DrawnLane:
    """Blocks of one lane in a window, and their ids; -1 for merged ones."""

    number: int
    blocks: DrawnBlocks
    ids: Int


class LaneSet:
    """Lanes, numbered from 0. Safe to use from many threads.

    Args:
        names: texts of the lanes' items.
        entries: the lanes.
        origin: nanoseconds on the trace's clock at which the page's times begin.
    """

    def __init__(self, names: LaneNames, entries: Sequence[LaneEntry], origin: int) -> None:
        self.names, self.entries, self.origin = names, list(entries), origin
        self._locks = [Lock() for _ in entries]
        self._lanes: dict[int, Lane] = {}
        self._curves: dict[int, Curve] = {}

    def lane(self, number: int) -> Lane:
        """One lane with items, made on first use."""
        with self._locks[number]:
            if number not in self._lanes:
                make = self.entries[number].items
                assert make is not None, "a curve has no items"
                self._lanes[number] = Lane(make())
            return self._lanes[number]

    def curve(self, number: int) -> Curve:
        """One curve, made on first use."""
        with self._locks[number]:
            if number not in self._curves:
                make = self.entries[number].curve
                assert make is not None, "a lane of items is no curve"
                self._curves[number] = make()
            return self._curves[number]

    def lanes_of(self, *kinds: str) -> list[int]:
        """Numbers of the lanes of some kinds."""
        return [number for number, entry in enumerate(self.entries) if entry.kind in kinds]

    def window(self, start: int, end: int, width: int) -> Window:
        """A window of the lanes.

        Args:
            start, end: nanoseconds from `origin`, end after start.
            width: pixels.
        """
        resolution = resolution_of(end - start, width)
        return Window(self.origin + start, self.origin + end, self.origin, resolution)

    def blocks(self, number: int, window: Window) -> DrawnLane:
        """Blocks to draw of a lane with items."""
        found = blocks(self.lane(number), window)
        return DrawnLane(
            number, found, np.where(found.count == 1, self.ids(number, found.first), -1)
        )

    def ids(self, number: int, position: ItemIndex) -> Int:
        """Ids of items of a lane: the rows of the trace that they were made from, -1 for none."""
        return self.lane(number).source[position].astype(np.int64)
