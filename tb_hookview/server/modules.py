"""Routes about single modules."""

from __future__ import annotations

from flask import Flask, Response, request

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.errors import UsageError
from tb_hookview.report.module.detail import module_bars, module_detail
from tb_hookview.report.module.search import search_kernels
from tb_hookview.server import answers
from tb_hookview.server.requests import RunList
from tb_hookview.server.store import AnalysisStore


def install(app: Flask, store: AnalysisStore, listed: RunList) -> None:
    """Give an application the routes below api/module."""

    def analysis() -> Analysis:
        return store.get(listed.choose(request.args).file)

    @app.get("/api/module")
    def module() -> Response:
        path = request.args.get("path")
        if path is None:
            raise UsageError("the query needs path=MODULE, one of the report's modules")
        return answers.json(module_detail(analysis(), path, _steps()))

    @app.get("/api/module/bars")
    def module_over_time() -> Response:
        measure = request.args.get("measure", "")
        bars = module_bars(analysis(), request.args.getlist("path"), measure, _steps())
        return answers.json(bars)

    @app.get("/api/module/search")
    def modules_by_kernel() -> Response:
        text = request.args.get("q", "")
        return answers.json(search_kernels(analysis(), text, _steps()))


def _steps() -> list[str] | None:
    return request.args.getlist("step") or None
