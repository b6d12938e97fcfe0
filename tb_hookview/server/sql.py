"""The routes of SQL: a query on the tables of a trace or a run, and what there is to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from importlib.util import find_spec
from threading import BoundedSemaphore, Lock
from typing import Any

import msgspec
from cachetools import LRUCache
from flask import Flask, Response, request

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.errors import UsageError
from tb_hookview.ranks.query import run_sources
from tb_hookview.ranks.result import TABLES
from tb_hookview.report.result import Report
from tb_hookview.schema.sql import SqlAnswer, SqlColumn, SqlTable, SqlTables
from tb_hookview.schema.tables import TableColumn
from tb_hookview.server import answers
from tb_hookview.server.ranks import Runs
from tb_hookview.server.requests import RunList
from tb_hookview.server.store import AnalysisStore
from tb_hookview.sql import WORKER, Limits, Result, run, sources_of
from tb_hookview.tables.catalogue import CATALOGUE, empty_table
from tb_hookview.tables.table import Table
from tb_hookview.trace import TraceFile

LIMITS = Limits(rows=10_000, seconds=20.0, megabytes=500)
RUN_MEGABYTES = 1000
"""Most that a table of all traces of a run takes."""
AT_ONCE = 2
"""Queries that run at a time; further ones wait."""
BYTES = 900_000
"""Most bytes of the rows of an answer."""
LONGEST = 10_000
"""Characters of a query."""
CACHED_BYTES = 300_000_000
"""Of the rows that queries on one trace have read, for further queries on the same tables."""


ReportOn = Callable[[TraceFile, "list[str] | None"], Report]


def install(
    app: Flask, store: AnalysisStore, report_on: ReportOn, listed: RunList, runs: Runs
) -> None:
    """Add the routes to an application."""
    turns = BoundedSemaphore(AT_ONCE)

    @app.get("/api/sql")
    def sql() -> Response:
        query = _query()
        file, steps = listed.choose(request.args).file, request.args.getlist("step") or None
        # First: should the file change in between, the rows are cached with its old state.
        cached = store.derived(file, _Rows)
        tables = report_on(file, steps).tables()
        sources = sources_of(tables, lambda table: cached.of(table, steps or []))
        with turns:
            return answers.json(_answer(run(query, sources, LIMITS)))

    @app.get("/api/sql/tables")
    def sql_tables() -> Response:
        return answers.json(_tables(_of_trace(())))

    @app.get("/api/ranks/sql")
    def sql_of_run() -> Response:
        query, traces = _query(), runs.asked()

        def each(name: str) -> Iterator[tuple[str, Table[Any]]]:
            for worker, trace in traces.workers:
                yield answers.as_text(worker), report_on(trace.file, None).table(name)

        sources = run_sources(lambda: runs.store.get(traces), each, RUN_MEGABYTES)
        with turns:
            return answers.json(_answer(run(query, sources, LIMITS)))

    @app.get("/api/ranks/sql/tables")
    def sql_tables_of_run() -> Response:
        return answers.json(_tables([*_of_run(), *_of_trace((_WORKER,))]))


class _Rows:
    """Rows of the tables of one analysis; the last ones are cached. Safe to use from threads."""

    def __init__(self, _analysis: Analysis) -> None:
        self._cached: LRUCache[object, Any] = LRUCache(CACHED_BYTES, lambda rows: rows.nbytes)
        self._lock = Lock()

    def of(self, table: Table[Any], steps: list[str]) -> Any:
        """The Arrow table of a table, on all of the trace or on some steps."""
        key = (table.name, *steps)
        with self._lock:
            if key in self._cached:
                return self._cached[key]
        rows = table.to_arrow()
        with self._lock:
            if rows.nbytes <= self._cached.maxsize:
                self._cached[key] = rows
        return rows


def _query() -> str:
    """The query that is asked.

    Raises:
        UsageError: it is too long.
    """
    query = request.args.get("query", "")
    if len(query) > LONGEST:
        raise UsageError(f"query= has {len(query):,} characters; at most {LONGEST:,}")
    return query


def _answer(result: Result) -> SqlAnswer:
    """As many of the rows as fit."""
    columns = [SqlColumn(name, kind) for name, kind in result.columns.items()]
    values = [[_plain(value) for value in row] for row in result]
    rows, left = [], BYTES
    for row in values:
        left -= len(msgspec.json.encode(row))
        if left < 0:
            break
        rows.append(row)
    return SqlAnswer(columns, rows, None if result.more else len(values))


def _plain(value: Any) -> Any:
    """A value as JSON has it: of whole numbers beyond 64 bits and decimals, the nearest float."""
    if isinstance(value, Decimal) or (isinstance(value, int) and abs(value) >= 1 << 63):
        return float(value)
    return value


_WORKER = TableColumn(WORKER, "text", None, "The trace that the row is of.")


def _tables(tables: list[SqlTable]) -> SqlTables:
    missing = find_spec("duckdb") is None or find_spec("pyarrow") is None
    return SqlTables("pip install 'tb-hookview[sql]'" if missing else None, tables)


def _of_trace(first: Iterable[TableColumn]) -> list[SqlTable]:
    """Tables of a trace, with some columns before their own."""
    return [
        SqlTable(name, entry.description, [*first, *_columns(empty_table(name))])
        for name, entry in CATALOGUE.items()
    ]


def _of_run() -> list[SqlTable]:
    return [
        SqlTable(name, (row_type.__doc__ or "").partition("\n")[0], _columns(Table(row_type, ())))
        for name, row_type in TABLES.items()
    ]


def _columns(table: Table[Any]) -> list[TableColumn]:
    return [
        TableColumn(column.name, column.type_name, column.unit, column.description)
        for column in table.columns
    ]
