"""Comparison of two traces over HTTP."""

from __future__ import annotations

from flask import Flask, Response, request

from tb_hookview.comparison.compare import compare
from tb_hookview.report.build import build_report
from tb_hookview.schema import COUNTED, ReportData
from tb_hookview.schema.comparison import Compared
from tb_hookview.server import answers
from tb_hookview.server.requests import RunList
from tb_hookview.server.store import AnalysisStore

OTHER = "other_"
"""Prefix of the parameters of the second trace."""


def install(app: Flask, store: AnalysisStore, listed: RunList) -> None:
    """Add the route to an application."""

    @app.get("/api/compare")
    def compared() -> Response:
        sides = [_side(store, listed, prefix) for prefix in ("", OTHER)]
        (base, base_steps), (other, other_steps) = sides
        return answers.json(
            Compared(
                comparison=compare(base, other), base_steps=base_steps, other_steps=other_steps
            )
        )


def _side(store: AnalysisStore, listed: RunList, prefix: str) -> tuple[ReportData, list[str]]:
    """Return the report the query asks for, and the names of its trace's steps."""
    analysis = store.get(listed.choose(request.args, prefix).file)
    report = build_report(analysis, request.args.getlist(f"{prefix}step") or [COUNTED])
    return report.data, list(analysis.steps.name)
