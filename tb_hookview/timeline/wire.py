"""The timeline as `http_api.md` describes it: microseconds from the start of the trace."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tb_hookview.arrays.types import Int
from tb_hookview.arrays.units import microseconds, to_us
from tb_hookview.schema.timeline import (
    LaneBlocks,
    LaneCurve,
    Minimap,
    TimelineLane,
    TimelineOverview,
    TimelineWindow,
)
from tb_hookview.timeline.lane_set import DrawnLane, LaneSet
from tb_hookview.timeline.lanes import colours
from tb_hookview.timeline.merging import Window
from tb_hookview.timeline.timeline import Timeline


def overview(timeline: Timeline) -> TimelineOverview:
    """The bounds, the lanes, the minimap and the names of colours."""
    first, last = timeline.analysis.bounds
    return TimelineOverview(
        start_us=to_us(first),
        duration_us=to_us(last - first),
        events=timeline.analysis.trace.event_count,
        lanes=[lane_row(timeline, number) for number in range(len(timeline.entries))],
        minimap=_minimap(timeline),
        colours=list(colours.NAMES),
    )


def _minimap(timeline: Timeline) -> Minimap:
    blocks = timeline.minimap()
    return Minimap(
        start=microseconds(blocks.start - timeline.origin),
        duration=microseconds(blocks.end - blocks.start),
        colour=blocks.colour.tolist(),
    )


def window(
    timeline: LaneSet, lanes: Iterable[int], start: int, end: int, width: int
) -> TimelineWindow:
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
    return TimelineWindow(
        start=to_us(start),
        end=to_us(end),
        width=width,
        names=[timeline.names.labels[name] for name in np.flatnonzero(used).tolist()],
        lanes=[_blocks(timeline, lane, row) for lane in drawn],
        curves=[_curve(timeline, n, asked) for n in numbers if timeline.entries[n].curve],
    )


def lane_row(timeline: LaneSet, number: int) -> TimelineLane:
    """What one lane is."""
    entry = timeline.entries[number]
    shown = entry.items is not None and not entry.late
    lane = timeline.lane(number) if shown else None
    curve = timeline.curve(number) if entry.curve else None
    return TimelineLane(
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


def _blocks(timeline: LaneSet, lane: DrawnLane, row: Int) -> LaneBlocks:
    """Blocks of a lane.

    Args:
        timeline: of the trace.
        lane: the blocks.
        row: row of each name in the answer, and last -1.
    """
    found = lane.blocks
    return LaneBlocks(
        id=str(lane.number),
        start=microseconds(found.start - timeline.origin),
        duration=microseconds(found.end - found.start),
        depth=found.depth.tolist(),
        name=row[found.name].tolist(),
        colour=found.colour.tolist(),
        count=found.count.tolist(),
        event=lane.ids.tolist(),
    )


def _curve(timeline: LaneSet, number: int, asked: Window) -> LaneCurve:
    time, value = timeline.curve(number).within(asked.start, asked.end, asked.resolution)
    return LaneCurve(str(number), microseconds(time - timeline.origin), value.tolist())
