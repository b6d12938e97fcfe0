"""The routes below api/timeline: their queries checked, the timeline's answers as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

import msgspec
from flask import Flask, Response, request
from msgspec import Struct

from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.schema.timeline import (
    EventDetail,
    SearchResult,
    TimelineOverview,
    TimelineWindow,
    WindowStatistics,
)
from tb_hookview.server import answers
from tb_hookview.server.bounds import MOST_BYTES
from tb_hookview.server.requests import RunList
from tb_hookview.server.store import AnalysisStore
from tb_hookview.server.whatif import ReplaysOfTrace
from tb_hookview.timeline import Timeline, wire
from tb_hookview.timeline.event.detail import detail
from tb_hookview.timeline.lane_set import LaneSet
from tb_hookview.timeline.statistics.search import Question, search
from tb_hookview.timeline.statistics.statistics import statistics

WIDEST = 16_384
"""Pixels; more than any screen has."""
PARTS = 1000
"""In how many parts hits are counted, without `width`."""
LONGEST_TEXT = 1000
LONGEST_ID = 16
"""Digits; what JavaScript's numbers hold exactly."""
LONGEST_US = 5e15
"""The latest time (158 years) that a query may have."""


def install(app: Flask, store: AnalysisStore, listed: RunList) -> None:
    """Add the timeline's routes to an application."""

    def asked() -> Timeline:
        return store.derived(listed.choose(request.args).file, ReplaysOfTrace).timeline

    def route(path: str, answer: Callable[[Timeline, Mapping[str, str]], Struct]) -> None:
        def view() -> Response:
            return answers.json(answer(asked(), request.args))

        app.add_url_rule(path, path, view, methods=["GET"])

    route("/api/timeline", overview)
    route("/api/timeline/window", window)
    route("/api/timeline/event", event)
    route("/api/timeline/search", find)
    route("/api/timeline/statistics", selection)


def overview(timeline: Timeline, _query: Mapping[str, str]) -> TimelineOverview:
    """The lanes, the bounds, the minimap."""
    return wire.overview(timeline)


def window(timeline: Timeline, query: Mapping[str, str]) -> TimelineWindow:
    """The blocks of a window.

    Raises:
        UsageError: the window is not valid.
        NotFoundError: there is no such lane.
    """
    return fitting_window(timeline, _lanes(timeline, query), *span(query), width(query))


def fitting_window(
    lanes: LaneSet, numbers: Collection[int], start: int, end: int, pixels: int
) -> TimelineWindow:
    """The blocks of a window, merged further where the answer would be too large."""
    while True:
        found = wire.window(lanes, numbers, start, end, pixels)
        size = len(msgspec.json.encode(found))
        if size <= MOST_BYTES or pixels == 1:
            return found
        pixels = max(1, min(pixels - 1, int(0.9 * pixels * MOST_BYTES / size)))


def event(timeline: Timeline, query: Mapping[str, str]) -> EventDetail:
    """One event.

    Raises:
        UsageError: `id` is not a number.
        NotFoundError: there is no such event.
    """
    number = query.get("id", "")
    if not (number.isascii() and number.isdecimal() and len(number) <= LONGEST_ID):
        raise UsageError("the query needs id=NUMBER, an event's of api/timeline/window")
    return detail(timeline, int(number))


def find(timeline: Timeline, query: Mapping[str, str]) -> SearchResult:
    """The events with a text in their names.

    Raises:
        UsageError: there is no text, or the window is not valid.
        NotFoundError: there is no such lane.
    """
    text = query.get("q", "")
    if not 0 < len(text) <= LONGEST_TEXT:
        raise UsageError(f"the query needs q=TEXT of 1 to {LONGEST_TEXT} characters")
    bounded = "start" in query or "end" in query
    start, end = span(query) if bounded else (None, None)
    pixels = width(query) if "width" in query else PARTS
    return search(timeline, Question(text, _lanes(timeline, query), start, end, pixels))


def selection(timeline: Timeline, query: Mapping[str, str]) -> WindowStatistics:
    """Statistics of a window.

    Raises:
        UsageError: the window is not valid.
    """
    return statistics(timeline, *span(query))


def span(query: Mapping[str, str]) -> tuple[int, int]:
    """`start` and `end` of a query, in nanoseconds.

    Raises:
        UsageError: one is missing or not a time, or the end is not after the start.
    """
    start, end = (round(_time(query, key) * 1000) for key in ("start", "end"))
    if end <= start:
        raise UsageError("end= must be later than start=, by a nanosecond (0.001) at least")
    return start, end


def _time(query: Mapping[str, str], key: str) -> float:
    try:
        value = float(query.get(key, ""))
    except ValueError:
        value = math.nan
    if not abs(value) <= LONGEST_US:
        raise UsageError(f"the query needs {key}=MICROSECONDS, a number up to {LONGEST_US:.0e}")
    return value


def width(query: Mapping[str, str]) -> int:
    """`width` of a query, in pixels.

    Raises:
        UsageError: it is missing or no whole number.
    """
    text = query.get("width", "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 6 and 0 < int(text) <= WIDEST):
        raise UsageError(f"the query needs width=PIXELS, a whole number from 1 to {WIDEST}")
    return int(text)


def _lanes(timeline: Timeline, query: Mapping[str, str]) -> list[int]:
    """Lanes that `lanes=ID,ID` names; none where it is empty, without it all but the late ones."""
    known = {str(number): number for number in range(len(timeline.entries))}
    if "lanes" not in query:
        return [number for number in known.values() if not timeline.entries[number].late]
    asked = list(dict.fromkeys(filter(None, query["lanes"].split(","))))
    for name in asked:
        if name not in known:
            raise NotFoundError(f"no lane has the id {name[:50]!r}; load api/timeline again")
    return [known[name] for name in asked]
