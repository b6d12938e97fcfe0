"""The route of tables: some rows of one, filtered and sorted, as JSON or Arrow."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from threading import Lock
from typing import Any

from cachetools import LRUCache
from flask import Flask, Response, request
from werkzeug.datastructures import MultiDict

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.errors import UsageError
from tb_hookview.report.result import Report
from tb_hookview.schema.describe.fields import description
from tb_hookview.schema.errors import ErrorAnswer, ErrorDetail
from tb_hookview.schema.tables import TableColumn, TablePage
from tb_hookview.server import answers
from tb_hookview.server.bounds import MOST_BYTES, fitting
from tb_hookview.server.requests import FURTHEST, RunList, whole_number
from tb_hookview.server.store import AnalysisStore
from tb_hookview.server.whatif import ReplaysOfTrace
from tb_hookview.tables.catalogue import entry, event_table
from tb_hookview.tables.outlets.files import ArrowWriter, records
from tb_hookview.tables.query import DEFAULT, MOST, Page, Question, ask
from tb_hookview.tables.table import KEY, Table
from tb_hookview.trace import TraceFile

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"
CACHED_TABLES = 8
"""Of each trace: pages and orders of a table that is computed come from the same one."""
ROOM = MOST_BYTES - 100_000
"""Bytes of the rows of a page; the rest is for the columns and their definitions."""


ReportOn = Callable[[TraceFile, list[str] | None], Report]
"""Returns the report of a trace, on all of it or on some steps."""


def install(app: Flask, store: AnalysisStore, report_on: ReportOn, listed: RunList) -> None:
    """Add the route to an application."""

    @app.get("/api/table/<table>")
    def rows_of_table(table: str) -> Response:
        file, steps = listed.choose(request.args).file, request.args.getlist("step") or None
        rows = _table(store, report_on, table, file, steps)
        return answer(rows, request.args)


def answer(rows: Table[Any], query: MultiDict[str, str]) -> Response:
    """The rows of a table that a query asks for."""
    question = _question(query)
    response = _answer(rows, ask(rows, question), question)
    response.vary.add("Accept")
    return response


def _answer(rows: Table[Any], page: Page, question: Question) -> Response:
    """The page in the form that the client prefers; JSON where it does not say."""
    names = [column.name for column in page.columns]
    written = records(rows.take(names, page.rows))
    page = page._replace(rows=page.rows[: max(fitting(written, ROOM), 1)])
    accepted = request.accept_mimetypes
    if accepted.best_match([JSON, ARROW], JSON) == ARROW:
        try:
            return Response(_arrow(rows, page, question), mimetype=ARROW)
        except UsageError as error:
            if accepted[JSON] <= 0:
                return answers.json(ErrorAnswer(ErrorDetail("usage", str(error))), 406)
    return answers.json(_page(rows, page, question, written[: len(page.rows)]))


def _table(
    store: AnalysisStore,
    report_on: ReportOn,
    name: str,
    file: TraceFile,
    steps: list[str] | None,
) -> Table[Any]:
    if entry(name).computed:
        # The selection of what-ifs and the timeline: all share the graph of its replays.
        selection = store.derived(file, ReplaysOfTrace).of(steps or []).selection
        return store.derived(file, _ComputedTables).of(name, selection)
    return report_on(file, steps).table(name)


class _ComputedTables:
    """Tables at event level of one analysis; the last ones are cached. Safe to use from threads."""

    def __init__(self, _analysis: Analysis) -> None:
        self._cached: LRUCache[object, Table[Any]] = LRUCache(CACHED_TABLES)
        self._lock = Lock()

    def of(self, name: str, selection: Selection) -> Table[Any]:
        """The table of a name, on all of the trace or on some steps."""
        with self._lock:
            key = (name, selection.chosen)
            return self._cached.setdefault(key, event_table(name, lambda: selection))


def _question(query: MultiDict[str, str]) -> Question:
    return Question(
        sort=query.getlist("sort"),
        filter=query.getlist("filter"),
        offset=whole_number(query, "offset", 0, FURTHEST),
        limit=whole_number(query, "limit", DEFAULT, MOST),
        columns=[name for names in query.getlist("columns") for name in names.split(",") if name],
    )


def _page(
    table: Table[Any], page: Page, question: Question, written: list[dict[str, Any]]
) -> TablePage:
    return TablePage(
        table=table.name,
        key=KEY,
        total=page.total,
        offset=question.offset,
        left_out=_left_out(page, question),
        columns=[
            TableColumn(column.name, column.type_name, column.unit, column.description)
            for column in page.columns
        ],
        rows=written,
    )


def _left_out(page: Page, question: Question) -> int:
    return max(page.total - question.offset - len(page.rows), 0)


def _arrow(table: Table[Any], page: Page, question: Question) -> bytes:
    """The same as an Arrow stream.

    Raises:
        UsageError: pyarrow is not installed.
    """
    facts = {
        "table": table.name,
        "key": KEY,
        "description": description(table.row_type),
        "total": str(page.total),
        "offset": str(question.offset),
        "left_out": str(_left_out(page, question)),
    }
    written = BytesIO()
    with ArrowWriter(written, page.columns, facts) as writer:
        writer.write(table.take([column.name for column in page.columns], page.rows))
    return written.getvalue()
