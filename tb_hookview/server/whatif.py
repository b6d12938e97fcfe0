"""The route that replays a trace with something changed."""

from __future__ import annotations

from threading import Lock

from cachetools import LRUCache
from flask import Flask, Response, request

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.report.whatif import what_if
from tb_hookview.server import answers
from tb_hookview.server.requests import RunList
from tb_hookview.server.store import AnalysisStore
from tb_hookview.simulation.questions import parse_factors
from tb_hookview.simulation.simulator import Simulator

SIMULATORS = 4
"""Choices of steps of one trace whose dependency graphs are cached."""


def install(app: Flask, store: AnalysisStore, listed: RunList) -> None:
    """Add the route to an application."""

    @app.get("/api/whatif")
    def replayed() -> Response:
        query = request.args
        scale = parse_factors(query.getlist("scale"))
        simulators = store.derived(listed.choose(query).file, _Simulators)
        simulator = simulators.of(query.getlist("step"))
        return answers.json(
            what_if(simulator.selection, query.getlist("without"), scale, simulator)
        )


class _Simulators:
    """Simulators of a trace, each of which builds its graph once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._cached: LRUCache[object, Simulator] = LRUCache(SIMULATORS)
        self._lock = Lock()

    def of(self, steps: list[str]) -> Simulator:
        """Return the simulator of the steps of these names, or of those that count."""
        selection = select(self._analysis, steps or None)
        with self._lock:
            return self._cached.setdefault(
                (selection.chosen, selection.by_name), Simulator(selection)
            )
