"""The routes below api/whatif: the steps as recorded and as predicted, as lanes over time."""

from __future__ import annotations

from threading import Lock

from cachetools import LRUCache
from flask import Flask, Response, request
from werkzeug.datastructures import MultiDict

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.errors import UsageError
from tb_hookview.report.whatif import WhatIfs
from tb_hookview.server import answers
from tb_hookview.server.requests import RunList
from tb_hookview.server.store import AnalysisStore
from tb_hookview.server.timeline import fitting_window, span, width
from tb_hookview.server.whatif import ReplaysOfTrace
from tb_hookview.simulation.questions import parse_factors
from tb_hookview.timeline import Timeline
from tb_hookview.timeline.lanes.path_lane import PathLane
from tb_hookview.timeline.replayed import ReplayedLanes, overview

QUESTIONS = 4
"""Questions about one trace whose lanes are cached."""


def install(app: Flask, store: AnalysisStore, listed: RunList) -> None:
    """Add the routes to an application."""

    def asked() -> ReplayedLanes:
        file = listed.choose(request.args).file
        replays = store.derived(file, ReplaysOfTrace)
        whatifs = replays.of(request.args.getlist("step"))
        return store.derived(file, _Replays).of(replays.timeline, whatifs, request.args)

    @app.get("/api/whatif/lanes")
    def lanes() -> Response:
        return answers.json(overview(asked()))

    @app.get("/api/whatif/window")
    def window() -> Response:
        start, end = span(request.args)
        shown = asked()
        numbers = range(len(shown.entries))
        return answers.json(fitting_window(shown, numbers, start, end, width(request.args)))


class _Replays:
    """Lanes of the last questions about a trace."""

    def __init__(self, _analysis: Analysis) -> None:
        self._cached: LRUCache[object, ReplayedLanes] = LRUCache(QUESTIONS)
        self._lock = Lock()

    def of(self, timeline: Timeline, whatifs: WhatIfs, query: MultiDict[str, str]) -> ReplayedLanes:
        """Lanes of a question.

        Raises:
            UsageError: the steps are not replayed, or the question is none.
        """
        simulator = whatifs.simulator
        if simulator.refused is not None:
            raise UsageError(f"these steps are not replayed: {simulator.refused}")
        without, scale = query.getlist("without"), query.getlist("scale")
        key = (simulator.selection.chosen, tuple(without), tuple(scale))
        with self._lock:
            if key not in self._cached:
                change = whatifs.change(without, parse_factors(scale))
                path = timeline.path
                if path.simulator is not simulator:
                    path = PathLane(timeline.analysis, simulator)
                self._cached[key] = ReplayedLanes(timeline, path, simulator.predict(change))
            return self._cached[key]
