"""The routes about reports: the whole, and the rows of a table that the whole leaves out."""

from __future__ import annotations

from threading import Lock
from typing import Any

import msgspec
from cachetools import LRUCache
from flask import Flask, Response, request

from tb_hookview.errors import UsageError
from tb_hookview.loading import Loader
from tb_hookview.report.result import Report
from tb_hookview.schema import ReportData
from tb_hookview.schema.tables import ReportRows
from tb_hookview.server import answers
from tb_hookview.server.bounds import MOST_BYTES, ROOM_FOR_CUT, fitting
from tb_hookview.server.requests import FURTHEST, RunList, whole_number
from tb_hookview.server.store import AnalysisStore
from tb_hookview.trace import TraceFile

CACHED_REPORTS = 6
"""Of all traces: a page asks for the whole, that of a step, and their tables."""


class Reports:
    """Reports on trace files; the last ones are in memory. Safe to use from many threads."""

    def __init__(self, loader: Any, store: AnalysisStore) -> None:
        self._loader, self._store = loader, store
        self._cached: LRUCache[object, Report] = LRUCache(CACHED_REPORTS)
        self._lock = Lock()

    def on(self, file: TraceFile, steps: list[str] | None) -> Report:
        """Report on all of a trace, or on the steps of some names.

        Raises:
            NotFoundError, TraceError: as `Loader.report`.
        """
        loader: Loader = self._loader()
        key = (file, _state(file), tuple(steps or ()))
        with self._lock:
            found = self._cached.get(key)
        if found is None:
            found = loader.report(file, steps, analysis=lambda: self._store.get(file))
            with self._lock:
                self._cached[key] = found
        return found


def install(app: Flask, reports: Reports, listed: RunList) -> None:
    """Add the routes to an application."""

    def asked() -> Report:
        return reports.on(listed.choose(request.args).file, request.args.getlist("step") or None)

    @app.get("/api/report")
    def report() -> Response:
        return answers.json(asked().data)

    @app.get("/api/report/rows")
    def rows_of_report() -> Response:
        table = request.args.get("table", "")
        offset = whole_number(request.args, "offset", 0, FURTHEST)
        return answers.json(_rows(asked().data, table, offset))


def _rows(data: ReportData, table: str, offset: int) -> ReportRows:
    rows = getattr(data, table) if table in msgspec.structs.asdict(data) else None
    if not isinstance(rows, list):
        raise UsageError(f"table={table[:50]}: not a list of rows of the report")
    some = rows[offset:]
    return ReportRows(table, offset, len(rows), some[: fitting(some, MOST_BYTES - ROOM_FOR_CUT)])


def _state(file: TraceFile) -> object:
    try:
        return file.state()
    except OSError:
        return None  # whoever reads it says that it is gone
