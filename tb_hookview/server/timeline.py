"""The routes under api/timeline: what is asked for, checked, and the timeline's answer as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask, Response, request

from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.server import answers
from tb_hookview.server.selection import RunList, select
from tb_hookview.server.store import AnalysisStore
from tb_hookview.timeline import Timeline, wire

WIDEST = 16_384
"""Pixels; more than any screen has."""
LONGEST_US = 1e13
"""Times beyond this (four months) are in no trace."""


def install(app: Flask, store: AnalysisStore, listed: RunList) -> None:
    """Add the timeline's routes to an application."""

    def asked() -> Timeline:
        return store.derived(select(listed.read(), request.args).path, Timeline)

    def route(path: str, answer: Callable[[Timeline, Mapping[str, str]], Any]) -> None:
        def view() -> Response:
            return answers.json(answer(asked(), request.args))

        app.add_url_rule(path, path, view, methods=["GET"])

    route("/api/timeline", overview)
    route("/api/timeline/window", window)


def overview(timeline: Timeline, _query: Mapping[str, str]) -> dict[str, Any]:
    """The lanes, the bounds, the minimap."""
    return wire.overview(timeline)


def window(timeline: Timeline, query: Mapping[str, str]) -> dict[str, Any]:
    """The blocks of a window.

    Raises:
        UsageError: the window is none.
        NotFoundError: there is no such lane.
    """
    start, end = span(query)
    return wire.window(timeline, _lanes(timeline, query), start, end, _width(query))


def span(query: Mapping[str, str]) -> tuple[int, int]:
    """`start` and `end` of a query, in nanoseconds.

    Raises:
        UsageError: one is missing or no time, or the end is not behind the start.
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


def _width(query: Mapping[str, str]) -> int:
    text = query.get("width", "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 6 and 0 < int(text) <= WIDEST):
        raise UsageError(f"the query needs width=PIXELS, a whole number from 1 to {WIDEST}")
    return int(text)


def _lanes(timeline: Timeline, query: Mapping[str, str]) -> list[int]:
    """Lanes that `lanes=ID,ID` names; all of them without it."""
    known = {str(number): number for number in range(len(timeline.entries))}
    if "lanes" not in query:
        return list(known.values())
    asked = list(dict.fromkeys(query["lanes"].split(",")))
    for name in asked:
        if name not in known:
            raise NotFoundError(f"no lane has the id {name[:50]!r}; load api/timeline again")
    return [known[name] for name in asked]
