"""The timeline as `docs/http_api.md` sends it: microseconds from the start of the trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tb_hookview.arrays.types import Int
from tb_hookview.arrays.units import microseconds
from tb_hookview.timeline.lanes import colours
from tb_hookview.timeline.timeline import LaneBlocks, Timeline


def overview(timeline: Timeline) -> dict[str, Any]:
    """The bounds, the lanes, the minimap and what colours mean."""
    first, last = timeline.analysis.bounds
    minimap = timeline.minimap()
    return {
        "start_us": first / 1000,
        "duration_us": (last - first) / 1000,
        "events": timeline.analysis.trace.event_count,
        "lanes": [_lane(timeline, number) for number in range(len(timeline.entries))],
        "minimap": {
            "start": microseconds(minimap.start - first),
            "duration": microseconds(minimap.end - minimap.start),
            "colour": minimap.colour.tolist(),
        },
        "colours": colours.NAMES,
    }


def window(
    timeline: Timeline, lanes: Iterable[int], start: int, end: int, width: int
) -> dict[str, Any]:
    """What to draw of some lanes between two times, nanoseconds from the start of the trace."""
    asked = timeline.window(start, end, width)
    numbers = list(lanes)
    drawn = [timeline.blocks(n, asked) for n in numbers if timeline.entries[n].items]
    used = np.zeros(len(timeline.names.texts) + 1, bool)
    for lane in drawn:
        used[lane.blocks.name] = True
    used[-1] = False  # where the name of merged events, -1, was put
    row = np.where(used, np.cumsum(used) - 1, -1)
    return {
        "start": start / 1000,
        "end": end / 1000,
        "names": [timeline.names.labels[name] for name in np.flatnonzero(used).tolist()],
        "lanes": [_blocks(timeline, lane, row) for lane in drawn],
        "curves": [
            _curve(timeline, n, asked.start, asked.end, asked.resolution)
            for n in numbers
            if timeline.entries[n].curve
        ],
    }


def _lane(timeline: Timeline, number: int) -> dict[str, Any]:
    entry = timeline.entries[number]
    lane = timeline.lane(number) if entry.items else None
    return {
        "id": str(number),
        "group": entry.group,
        "title": entry.title,
        "subtitle": entry.subtitle,
        "kind": entry.kind,
        "depth": 1 if lane is None else max(lane.rows, 1),
        "events": timeline.curve(number).points if lane is None else len(lane),
    }


def _blocks(timeline: Timeline, lane: LaneBlocks, row: Int) -> dict[str, Any]:
    """Blocks of a lane; `row` is that of each name in the answer, and last -1."""
    found = lane.blocks
    return {
        "id": str(lane.lane),
        "start": microseconds(found.start - timeline.origin),
        "duration": microseconds(found.end - found.start),
        "depth": found.depth.tolist(),
        "name": row[found.name].tolist(),
        "colour": found.colour.tolist(),
        "count": found.count.tolist(),
        "event": lane.ids.tolist(),
    }


def _curve(
    timeline: Timeline, number: int, start: int, end: int, resolution: int
) -> dict[str, Any]:
    time, value = timeline.curve(number).within(start, end, resolution)
    return {
        "id": str(number),
        "start": microseconds(time - timeline.origin),
        "value": value.tolist(),
    }
