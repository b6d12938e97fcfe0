"""Replays of a trace with something changed: how long a step takes, and when all happens."""

from __future__ import annotations

from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.schema.findings import WhatIf
from tb_hookview.schema.timeline import TimelineOverview, TimelineWindow
from tb_hookview.server.timeline import fitting_window, required_span
from tb_hookview.simulation.questions import parse_factors
from tb_hookview.timeline.replayed import overview


def what_if(
    trace: OpenTrace, *, step: list[str], without: list[str], scale: list[str], modules: str
) -> WhatIf:
    """How long a step would take with something taken out or scaled."""
    return trace.what_ifs(step).answer(without, parse_factors(scale), modules=modules == "1")


def lanes(
    trace: OpenTrace, *, step: list[str], without: list[str], scale: list[str]
) -> TimelineOverview:
    """The lanes of the replayed steps, as recorded and as predicted."""
    return overview(trace.replayed(step, without, parse_factors(scale)))


def window(
    trace: OpenTrace,
    *,
    step: list[str],
    without: list[str],
    scale: list[str],
    start: float,
    end: float,
    width: int,
) -> TimelineWindow:
    """The blocks of a window of these lanes."""
    shown = trace.replayed(step, without, parse_factors(scale))
    return fitting_window(shown, range(len(shown.entries)), *required_span(start, end), width)
