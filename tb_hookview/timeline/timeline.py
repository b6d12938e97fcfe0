"""The timeline of one trace: its lanes, made on first use and cached."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.links import Links, row_links, wait_links
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, ItemIndex, TreeRow
from tb_hookview.errors import NotFoundError
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.timeline.lane_set import LaneSet
from tb_hookview.timeline.lanes.catalogue import lane_of_rows, list_lanes
from tb_hookview.timeline.lanes.colours import Colours
from tb_hookview.timeline.lanes.names import LaneNames
from tb_hookview.timeline.lanes.path_lane import PathLane
from tb_hookview.timeline.lanes.trace_lanes import RowGroup, TraceRows
from tb_hookview.timeline.merging import DrawnBlocks
from tb_hookview.trace.columns.event_args import EventArguments

_SHIFT = 32
"""Bits of a position in an id.

An id below 2**32 is a row of the trace. Above it are items of our own: the number of their lane,
from one, and their position in it."""
MINIMAP_WIDTH = 1500


class LanePosition(NamedTuple):
    """Lane of an event and its position there."""

    lane: int
    position: int


class Timeline(LaneSet):
    """Lanes of one trace.

    Args:
        analysis: the trace.
        simulator: replays its measured steps; one of its own without it.
    """

    def __init__(self, analysis: Analysis, simulator: Simulator | None = None) -> None:
        self.analysis = analysis
        self.arguments = EventArguments(analysis.trace.file)
        self.path = PathLane(analysis, simulator or Simulator(Selection(analysis, None)))
        self._rows = TraceRows(analysis)
        names = LaneNames(analysis)
        super().__init__(
            names, list_lanes(analysis, names, self._rows, self.path), analysis.bounds[0]
        )

    @property
    def colour_of_rows(self) -> Colours:
        """Colour of each row of `Events` but Python frames."""
        return self._rows.colour

    def lane_of_thread(self, thread: int, row_group: RowGroup) -> int:
        """Number of the lane of a thread's rows of one group, -1 for none."""
        for number, entry in enumerate(self.entries):
            if entry.thread == thread and entry.row_group is row_group:
                return number
        return -1

    def minimap(self) -> DrawnBlocks:
        """The phases of all steps, merged to what a minimap can show."""
        length = max(self.analysis.bounds[1] - self.origin, 1)
        return self.blocks(0, self.window(0, length, MINIMAP_WIDTH)).blocks.of_row(1)

    def ids(self, number: int, position: ItemIndex) -> Int:
        """Ids of items of a lane."""
        if self.entries[number].row_group is not None:
            return super().ids(number, position)
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
    def row_links(self) -> list[Links]:
        """Launches, and forward operators of nodes."""
        return list(row_links(self.analysis))

    @cached_property
    def wait_links(self) -> list[Links]:
        """What waited for which device event; the first use builds the graph."""
        graph = None if self.path.refused else self.path.simulator.graph
        return list(wait_links(self.analysis, graph))

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
