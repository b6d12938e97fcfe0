"""Single events as the page is told them: which, where, when."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_hookview.arrays.types import Int
from tb_hookview.arrays.units import microseconds
from tb_hookview.timeline.timeline import Timeline


def spots(timeline: Timeline, lane: int, position: Int) -> list[dict[str, Any]]:
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
        {
            "id": event,
            "lane": str(lane),
            "depth": depth,
            "name": name,
            "colour": colour,
            "start": start,
            "duration": duration,
        }
        for event, depth, name, colour, start, duration in zip(*columns, strict=True)
    ]


def spot(timeline: Timeline, event: int) -> dict[str, Any]:
    """The event of an id."""
    place = timeline.place(event)
    return spots(timeline, place.lane, np.array([place.position]))[0]
