"""SQL: a query on the tables of a trace or a run, and what there is to ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from importlib.util import find_spec
from threading import BoundedSemaphore
from typing import Any

import msgspec

from tb_hookview.ranks.query import run_sources
from tb_hookview.ranks.result import TABLES
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.schema.sql import SqlAnswer, SqlColumn, SqlTable, SqlTables
from tb_hookview.schema.tables import TableColumn
from tb_hookview.server.answers import as_text
from tb_hookview.server.served import Served
from tb_hookview.sql import WORKER, Limits, Result, Source, sources_of
from tb_hookview.sql import run as ask
from tb_hookview.tables.catalogue import CATALOGUE, empty_table
from tb_hookview.tables.table import Table

LIMITS = Limits(rows=10_000, seconds=20.0, megabytes=500)
RUN_MEGABYTES = 1000
"""Most that a table of all traces of a run takes."""
BYTES = 900_000
"""Most bytes of the rows of an answer."""
LONGEST = 10_000
"""Characters of a query."""
_turns = BoundedSemaphore(2)
"""Queries that run at a time; further ones wait."""


def sql(trace: OpenTrace, *, query: str, step: list[str]) -> SqlAnswer:
    """Rows that answer a query on the tables of a trace."""
    tables = {name: trace.table(name, step) for name in CATALOGUE}
    return _asked(query, sources_of(tables, lambda table: trace.arrow(table.name, step)))


def sql_of_run(served: Served, *, run: str, query: str) -> SqlAnswer:
    """Rows that answer a query on the tables of a run."""
    traces = served.traces_of(run)

    def each(name: str) -> Iterator[tuple[str, Table[Any]]]:
        for worker, trace in traces.workers:
            found = served.traces.ask(trace.file, lambda opened: opened.table(name))
            yield as_text(worker), found

    sources = run_sources(lambda: served.run(traces), each, RUN_MEGABYTES)
    return _asked(query, sources)


def trace_tables(_served: Served) -> SqlTables:
    """What a query on a trace can read."""
    return _tables(_of_trace(()))


def run_tables(_served: Served) -> SqlTables:
    """What a query on a run can read."""
    return _tables([*_of_run(), *_of_trace((_WORKER,))])


def _asked(query: str, sources: Mapping[str, Source]) -> SqlAnswer:
    with _turns:
        return _answer(ask(query, sources, LIMITS))


def _answer(result: Result) -> SqlAnswer:
    """As many of the rows as fit."""
    columns = [SqlColumn(name, kind) for name, kind in result.columns.items()]
    rows, left = [], BYTES
    for row in result:
        values = [_plain(value) for value in row]
        left -= len(msgspec.json.encode(values))
        if left < 0:
            break
        rows.append(values)
    return SqlAnswer(columns, rows, None if result.more else len(result))


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
