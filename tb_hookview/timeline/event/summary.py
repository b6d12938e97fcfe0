"""Summaries of single events: name, lane, row, colour, times."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.types import ItemIndex
from tb_hookview.arrays.units import microseconds
from tb_hookview.schema.timeline import EventSummary
from tb_hookview.timeline.timeline import LanePosition, Timeline


def summaries(timeline: Timeline, lane: int, position: ItemIndex) -> list[EventSummary]:
    """Some events of a lane."""
    items = timeline.lane(lane)
    columns = (
        timeline.ids(lane, position).tolist(),
        items.depth[position].tolist(),
        [timeline.names.labels[name] for name in items.name[position].tolist()],
        items.colour[position].tolist(),
        microseconds(items.start[position] - timeline.origin),
        microseconds(items.end[position] - items.start[position]),
    )
    return [
        EventSummary(event, str(lane), depth, name, colour, start, duration)
        for event, depth, name, colour, start, duration in zip(*columns, strict=True)
    ]


def summary(timeline: Timeline, at: LanePosition) -> EventSummary:
    """The event at one position of a lane."""
    return summaries(timeline, at.lane, np.array([at.position]))[0]
