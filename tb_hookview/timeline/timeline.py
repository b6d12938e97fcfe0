"""The timeline of one trace: its lanes, made on first use and cached, and windows of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.graph import Links, row_links, wait_links
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import index_of
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, ItemIndex, TreeRow, microseconds, to_us
from tb_hookview.errors import NotFoundError
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.timeline.lanes.catalogue import PathLane, lane_of_rows, list_lanes
from tb_hookview.timeline.lanes.lane import NAMES, LaneNames
from tb_hookview.timeline.lanes.trace_lanes import RowGroup, TraceRows
from tb_hookview.timeline.merging import DrawnBlocks, DrawnLane, LaneSet, Window
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
        self.rows = TraceRows(analysis)
        names = LaneNames(analysis)
        super().__init__(
            names, list_lanes(analysis, names, self.rows, self.path), analysis.bounds[0]
        )

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
        return lane_of_rows(self.entries, self.rows, count).astype(np.int16)

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
        event = self.analysis.call_tree.event
        return index_of(event, len(self.analysis.trace.events)).astype(np.int32)

    @cached_property
    def device_event(self) -> NDArray[np.int32]:
        """Index into `DeviceEvents` of each row of `Events`, -1 for none."""
        event = self.analysis.device_events.event
        return index_of(event, len(self.analysis.trace.events)).astype(np.int32)

    @cached_property
    def culprit_of_gap(self) -> TreeRow:
        """Host row of the call that caused each gap, -1 for none.

        Where the next device event was launched in time, its launch is not one, nor is what waits
        after the last event.
        """
        gaps = self.analysis.gaps
        in_time = gaps.row == lookup(self.analysis.device_events.launch, gaps.device_event)
        in_time &= gaps.cause == Cause.COMMUNICATION
        in_time |= (gaps.cause == Cause.LAUNCH) & (gaps.device_event < 0)
        return np.where(in_time | (gaps.cause == Cause.DEVICE), -1, gaps.row)


# The timeline as `http_api.md` describes it: microseconds from the start of the trace.


def overview(timeline: Timeline) -> schema.TimelineOverview:
    """The bounds, the lanes, the minimap and the names of colours."""
    first, last = timeline.analysis.bounds
    return schema.TimelineOverview(
        start_us=to_us(first),
        duration_us=to_us(last - first),
        events=timeline.analysis.trace.event_count,
        lanes=[lane_row(timeline, number) for number in range(len(timeline.entries))],
        minimap=_minimap(timeline),
        colours=list(NAMES),
    )


def _minimap(timeline: Timeline) -> schema.Minimap:
    blocks = timeline.minimap()
    return schema.Minimap(
        start=microseconds(blocks.start - timeline.origin),
        duration=microseconds(blocks.end - blocks.start),
        colour=blocks.colour.tolist(),
    )


def window(
    timeline: LaneSet, lanes: Iterable[int], start: int, end: int, width: int
) -> schema.TimelineWindow:
    """Blocks and curves of some lanes between two times.

    The times are nanoseconds from the start of the trace.
    """
    asked = timeline.window(start, end, width)
    numbers = list(lanes)
    drawn = [timeline.blocks(n, asked) for n in numbers if timeline.entries[n].items]
    used = np.zeros(len(timeline.names.texts) + 1, bool)
    for lane in drawn:
        used[lane.blocks.name] = True
    used[-1] = False  # where the name of merged events, -1, was put
    row = np.where(used, np.cumsum(used) - 1, -1)
    return schema.TimelineWindow(
        start=to_us(start),
        end=to_us(end),
        width=width,
        names=[timeline.names.labels[name] for name in np.flatnonzero(used).tolist()],
        lanes=[_blocks(timeline, lane, row) for lane in drawn],
        curves=[_curve(timeline, n, asked) for n in numbers if timeline.entries[n].curve],
    )


def lane_row(timeline: LaneSet, number: int) -> schema.TimelineLane:
    """What one lane is."""
    entry = timeline.entries[number]
    shown = entry.items is not None and not entry.late
    lane = timeline.lane(number) if shown else None
    curve = timeline.curve(number) if entry.curve else None
    return schema.TimelineLane(
        id=str(number),
        group=entry.group,
        title=entry.title,
        subtitle=entry.subtitle,
        kind=entry.kind,
        depth=1 if lane is None else max(lane.rows, 1),
        events=len(lane) if lane is not None else curve.points if curve is not None else None,
        thread=entry.thread_name,
        thread_id=None if entry.thread_name is None else entry.thread,
        device=entry.device,
        stream=entry.stream,
        stream_id=None if entry.stream is None else entry.thread,
        note=entry.note,
    )


def _blocks(timeline: LaneSet, lane: DrawnLane, row: Int) -> schema.LaneBlocks:
    """Blocks of a lane.

    Args:
        timeline: of the trace.
        lane: the blocks.
        row: row of each name in the answer, and last -1.
    """
    found = lane.blocks
    return schema.LaneBlocks(
        id=str(lane.number),
        start=microseconds(found.start - timeline.origin),
        duration=microseconds(found.end - found.start),
        depth=found.depth.tolist(),
        name=row[found.name].tolist(),
        colour=found.colour.tolist(),
        count=found.count.tolist(),
        event=lane.ids.tolist(),
    )


def _curve(timeline: LaneSet, number: int, asked: Window) -> schema.LaneCurve:
    time, value = timeline.curve(number).within(asked.start, asked.end, asked.resolution)
    return schema.LaneCurve(str(number), microseconds(time - timeline.origin), value.tolist())
