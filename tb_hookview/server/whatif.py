"""The route that replays a trace with something changed."""

from __future__ import annotations

from functools import cached_property
from threading import Lock

from cachetools import LRUCache
from flask import Flask, Response, request

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.errors import UsageError
from tb_hookview.report.whatif import WhatIfs
from tb_hookview.server import answers
from tb_hookview.server.requests import RunList
from tb_hookview.server.store import AnalysisStore
from tb_hookview.simulation.questions import parse_factors
from tb_hookview.timeline import Timeline

CHOICES = 4
"""Choices of steps of one trace whose dependency graphs are cached."""


def install(app: Flask, store: AnalysisStore, listed: RunList) -> None:
    """Add the route to an application."""

    @app.get("/api/whatif")
    def replayed() -> Response:
        query = request.args
        scale = parse_factors(query.getlist("scale"))
        replays = store.derived(listed.choose(query).file, ReplaysOfTrace)
        cached = replays.of(query.getlist("step"))
        modules = _yes(query.get("modules", "1"))
        return answers.json(cached.answer(query.getlist("without"), scale, modules=modules))


def _yes(text: str) -> bool:
    """Whether a switch is on.

    Raises:
        UsageError: it is neither on nor off.
    """
    if text not in ("0", "1"):
        raise UsageError("modules is 0 or 1")
    return text == "1"


class ReplaysOfTrace:
    """What is shown of replays of a trace: of each choice of steps the graph is built once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._cached: LRUCache[object, WhatIfs] = LRUCache(CHOICES)
        self._lock = Lock()

    @cached_property
    def timeline(self) -> Timeline:
        """The timeline; its critical path and links are of the replay of the measured steps."""
        return Timeline(self._analysis, self.of([]).simulator)

    def of(self, steps: list[str]) -> WhatIfs:
        """Return what-ifs about the steps of these names, or about those that count."""
        selection = select(self._analysis, steps or None)
        with self._lock:
            return self._cached.setdefault(
                (selection.chosen, selection.by_name), WhatIfs(selection)
            )
