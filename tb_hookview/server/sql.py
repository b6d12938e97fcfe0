"""The routes of SQL: a query on the tables of a trace, and what there is to ask."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from importlib.util import find_spec
from threading import BoundedSemaphore
from typing import Any

import msgspec
from flask import Flask, Response, request

from tb_hookview.errors import UsageError
from tb_hookview.report.result import Report
from tb_hookview.schema.sql import SqlAnswer, SqlColumn, SqlTable, SqlTables
from tb_hookview.schema.tables import TableColumn
from tb_hookview.server import answers
from tb_hookview.server.requests import RunList
from tb_hookview.sql import Limits, Result
from tb_hookview.tables.catalogue import CATALOGUE, empty_table
from tb_hookview.trace import TraceFile

LIMITS = Limits(rows=10_000, seconds=20.0, megabytes=500)
AT_ONCE = 2
"""Queries that run at a time; further ones wait."""
BYTES = 900_000
"""Most bytes of the rows of an answer."""
LONGEST = 10_000
"""Characters of a query."""


def install(
    app: Flask, report_on: Callable[[TraceFile, list[str] | None], Report], listed: RunList
) -> None:
    """Add the routes to an application."""
    turns = BoundedSemaphore(AT_ONCE)

    @app.get("/api/sql")
    def sql() -> Response:
        query = request.args.get("query", "")
        if len(query) > LONGEST:
            raise UsageError(f"query= has {len(query):,} characters; at most {LONGEST:,}")
        file, steps = listed.choose(request.args).file, request.args.getlist("step") or None
        report = report_on(file, steps)
        with turns:
            return answers.json(_answer(report.sql(query, LIMITS)))

    @app.get("/api/sql/tables")
    def sql_tables() -> Response:
        return answers.json(_tables())


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


def _tables() -> SqlTables:
    missing = find_spec("duckdb") is None or find_spec("pyarrow") is None
    tables = [
        SqlTable(
            name,
            entry.description,
            [
                TableColumn(column.name, column.type_name, column.unit, column.description)
                for column in empty_table(name).columns
            ],
        )
        for name, entry in CATALOGUE.items()
    ]
    return SqlTables("pip install 'tb-hookview[sql]'" if missing else None, tables)
