"""Answers about the timeline of a trace."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from tb_hookview import schema
from tb_hookview.errors import NotFoundError
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.server.answers import MOST_BYTES
from tb_hookview.server.parameters import span
from tb_hookview.timeline import Timeline
from tb_hookview.timeline import timeline as wire
from tb_hookview.timeline.event.detail import detail
from tb_hookview.timeline.merging import LaneSet
from tb_hookview.timeline.statistics.statistics import Question, search
from tb_hookview.timeline.statistics.statistics import statistics as statistics_of

WIDEST = 16_384
"""Pixels; more than any screen has."""
PARTS = 1000
"""In how many parts hits are counted, without `width`."""
LONGEST_TEXT = 1000


def overview(trace: OpenTrace) -> schema.TimelineOverview:
    """The lanes, the bounds, the minimap."""
    return wire.overview(trace.timeline)


def window(
    trace: OpenTrace, *, start: float, end: float, width: int, lanes: str | None
) -> schema.TimelineWindow:
    """The blocks of a window.

    Raises:
        UsageError: the window is not valid.
        NotFoundError: there is no such lane.
    """
    timeline, bounds = trace.timeline, required_span(start, end)
    return fitting_window(timeline, _lanes(timeline, lanes), *bounds, width)


def fitting_window(
    lanes: LaneSet, numbers: Collection[int], start: int, end: int, pixels: int
) -> schema.TimelineWindow:
    """The blocks of a window, merged further where the answer would be too large."""
    while True:
        found = wire.window(lanes, numbers, start, end, pixels)
        size = len(msgspec.json.encode(found))
        if size <= MOST_BYTES or pixels == 1:
            return found
        pixels = max(1, min(pixels - 1, int(0.9 * pixels * MOST_BYTES / size)))


def required_span(start: float, end: float) -> tuple[int, int]:
    """As `span`, of a window that has both."""
    found = span(start, end)
    assert found
    return found


def event(trace: OpenTrace, *, id: int) -> schema.EventDetail:  # noqa: A002  # the parameter's name
    """One event.

    Raises:
        NotFoundError: there is no such event.
    """
    return detail(trace.timeline, id)


def find(
    trace: OpenTrace,
    *,
    q: str,
    start: float | None,
    end: float | None,
    width: int,
    lanes: str | None,
) -> schema.SearchResult:
    """The events with a text in their names.

    Raises:
        UsageError: the window is not valid.
        NotFoundError: there is no such lane.
    """
    first, last = span(start, end) or (None, None)
    timeline = trace.timeline
    return search(timeline, Question(q, _lanes(timeline, lanes), first, last, width))


def statistics(trace: OpenTrace, *, start: float, end: float) -> schema.WindowStatistics:
    """What host and devices did in a window.

    Raises:
        UsageError: the window is not valid.
    """
    return statistics_of(trace.timeline, *required_span(start, end))


def _lanes(timeline: Timeline, lanes: str | None) -> list[int]:
    """Lanes that `lanes=ID,ID` names; none where it is empty, without it all but the late ones."""
    known = {str(number): number for number in range(len(timeline.entries))}
    if lanes is None:
        return [number for number in known.values() if not timeline.entries[number].late]
    asked = list(dict.fromkeys(filter(None, lanes.split(","))))
    for name in asked:
        if name not in known:
            raise NotFoundError(f"no lane has the id {name[:50]!r}; load api/timeline again")
    return [known[name] for name in asked]
