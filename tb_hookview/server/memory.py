"""The route about memory: peaks, modules, and the curve of a window of time."""

from __future__ import annotations

from flask import Flask, Response, request

from tb_hookview.analysis.selection import select
from tb_hookview.errors import UsageError
from tb_hookview.report.memory import memory_answer
from tb_hookview.server import answers
from tb_hookview.server.requests import RunList
from tb_hookview.server.store import AnalysisStore
from tb_hookview.server.timeline import span

POINTS = 2000
"""Points of a curve, without `points`."""
MOST_POINTS = 5000


def install(app: Flask, store: AnalysisStore, listed: RunList) -> None:
    """Add the route to an application."""

    @app.get("/api/memory")
    def memory() -> Response:
        query = request.args
        bounded = "start" in query or "end" in query
        window = span(query) if bounded else None
        points = _points(query.get("points", str(POINTS)))
        analysis = store.get(listed.choose(query).file)
        selection = select(analysis, query.getlist("step") or None)
        return answers.json(memory_answer(selection, query.get("device"), window, points))


def _points(text: str) -> int:
    if not (
        text.isascii() and text.isdecimal() and len(text) <= 4 and 4 <= int(text) <= MOST_POINTS
    ):
        raise UsageError(f"points= is a whole number from 4 to {MOST_POINTS}")
    return int(text)
