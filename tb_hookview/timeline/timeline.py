"""The timeline of one trace: its lanes, made on first use and cached."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, ItemIndex, TreeRow
from tb_hookview.errors import NotFoundError
from tb_hookview.timeline.lanes.catalogue import Entry, lane_of_rows, list_lanes
from tb_hookview.timeline.lanes.curves import Curve
from tb_hookview.timeline.lanes.lane import Lane
from tb_hookview.timeline.lanes.names import LaneNames
from tb_hookview.timeline.lanes.trace_lanes import RowGroup, TraceRows
from tb_hookview.timeline.window.merging import Blocks, Window, blocks, resolution_of
from tb_hookview.trace.columns.event_args import EventArguments

_SHIFT = 32
"""Bits of a position in an id.

An id below 2**32 is a row of the trace. Above it are items of our own: the number of their lane,
from one, and their position in it."""
MINIMAP_WIDTH = 1500


@dataclass(frozen=True)
class DrawnLane:
    """Blocks of one lane in a window, and their ids; -1 for merged ones."""

    number: int
    blocks: Blocks
    ids: Int


class LanePosition(NamedTuple):
    """Lane of an event and its position there."""

    lane: int
    position: int


class Timeline:
    """Lanes of one trace. Safe to use from many threads; lanes are numbered from 0."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.names = LaneNames(analysis)
        self.arguments = EventArguments(analysis.trace.path)
        self._rows = TraceRows(analysis)
        self.entries: list[Entry] = list_lanes(analysis, self.names, self._rows)
        self._locks = [Lock() for _ in self.entries]
        self._lanes: dict[int, Lane] = {}
        self._curves: dict[int, Curve] = {}

    @property
    def origin(self) -> int:
        """Start of the trace, nanoseconds: where the page's times begin."""
        return self.analysis.bounds[0]

    def lane(self, number: int) -> Lane:
        """One lane with items, made on first use."""
        with self._locks[number]:
            if number not in self._lanes:
                make = self.entries[number].items
                assert make is not None, "a queue is a curve"
                self._lanes[number] = Lane(make())
            return self._lanes[number]

    def curve(self, number: int) -> Curve:
        """One queue, made on first use."""
        with self._locks[number]:
            if number not in self._curves:
                make = self.entries[number].curve
                assert make is not None, "only a queue is a curve"
                self._curves[number] = make()
            return self._curves[number]

    def lanes_of(self, *kinds: str) -> list[int]:
        """Numbers of the lanes of some kinds."""
        return [number for number, entry in enumerate(self.entries) if entry.kind in kinds]

    def lane_of_thread(self, thread: int, row_group: RowGroup) -> int:
        """Number of the lane of a thread's rows of one group, -1 for none."""
        for number, entry in enumerate(self.entries):
            if entry.thread == thread and entry.row_group is row_group:
                return number
        return -1

    def window(self, start: int, end: int, width: int) -> Window:
        """A window of the timeline.

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

    def minimap(self) -> Blocks:
        """The phases of all steps, merged to what a minimap can show."""
        length = max(self.analysis.bounds[1] - self.origin, 1)
        found = blocks(self.lane(0), self.window(0, length, MINIMAP_WIDTH))
        return found.of_row(1)

    def ids(self, number: int, position: ItemIndex) -> Int:
        """Ids of items of a lane."""
        if self.entries[number].row_group is not None:
            return self.lane(number).source[position].astype(np.int64)
        return ((number + 1) << _SHIFT) + position

    def position_of(self, event: int) -> LanePosition:
        """Lane and position of the event of an id.

        Raises:
            NotFoundError: there is no such event.
        """
        number, position = self._split(event)
        known = 0 <= number < len(self.entries) and self.entries[number].items is not None
        if known and self.entries[number].row_group is not None:
            position = int(self.lane(number).position_of(np.array([event]))[0])
        if not known or not 0 <= position < len(self.lane(number)):
            raise NotFoundError(f"no event of the timeline has the id {event}; load it again")
        return LanePosition(number, position)

    def _split(self, event: int) -> tuple[int, int]:
        if event >= 1 << _SHIFT:
            return (event >> _SHIFT) - 1, event & ((1 << _SHIFT) - 1)
        if 0 <= event < len(self.lane_of_event):
            return int(self.lane_of_event[event]), -1
        return -1, -1

    @cached_property
    def lane_of_event(self) -> NDArray[np.int16]:
        """Number of the lane that shows each row of `Events`."""
        count = len(self.analysis.trace.events)
        return lane_of_rows(self.entries, self._rows, count).astype(np.int16)

    @cached_property
    def call_tree_row(self) -> NDArray[np.int32]:
        """Row of the call tree of each row of `Events`, -1 for none."""
        found = np.full(len(self.analysis.trace.events), -1, np.int32)
        found[self.analysis.call_tree.event] = np.arange(len(self.analysis.call_tree))
        return found

    @cached_property
    def device_event(self) -> NDArray[np.int32]:
        """Index into `DeviceEvents` of each row of `Events`, -1 for none."""
        found = np.full(len(self.analysis.trace.events), -1, np.int32)
        found[self.analysis.device_events.event] = np.arange(len(self.analysis.device_events))
        return found

    @cached_property
    def culprit_of_gap(self) -> TreeRow:
        """Host row of the call that caused each gap, -1 for none.

        Where the next device event was launched in time, its launch is not one.
        """
        gaps = self.analysis.gaps
        in_time = gaps.row == lookup(self.analysis.device_events.launch, gaps.device_event)
        in_time &= gaps.cause == Cause.COMMUNICATION
        return np.where(in_time | (gaps.cause == Cause.DEVICE), -1, gaps.row)
