"""Rows of a table, filtered and sorted, as JSON or Arrow; and SQL over tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from threading import BoundedSemaphore
from typing import Any

import msgspec
from flask import Response, request

from tb_hookview import schema
from tb_hookview.errors import UsageError
from tb_hookview.ranks.result import TABLES
from tb_hookview.ranks.run import run_sources
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.schema.describe import description
from tb_hookview.server import answers
from tb_hookview.server.answers import MOST_BYTES, as_text, fitting
from tb_hookview.server.served import Served
from tb_hookview.sql import WORKER, Limits, Result, Source, sources_of
from tb_hookview.sql import run as run_query
from tb_hookview.tables.catalogue import CATALOGUE, empty_table
from tb_hookview.tables.model.columns import Column
from tb_hookview.tables.outlets.files import ArrowWriter, records
from tb_hookview.tables.query import Page, Question, ask
from tb_hookview.tables.table import KEY, Table

ARROW = "application/vnd.apache.arrow.stream"
ROOM = MOST_BYTES - 100_000
"""Bytes of the rows of a page; the rest is for the columns and their definitions."""


def table_rows(trace: OpenTrace, *, table: str, step: list[str], **asked: Any) -> Response:
    """Some rows of a table of a trace.

    Raises:
        NotFoundError: there is none of that name.
    """
    return rows_of(trace.table(table, step), **asked)


def rows_of(
    table: Table[Any],
    *,
    sort: list[str],
    filter: list[str],  # noqa: A002  # the parameter's name
    offset: int,
    limit: int,
    columns: str,
) -> Response:
    """The rows of a table that a query asks for."""
    names = [name for name in columns.split(",") if name]
    question = Question(sort=sort, filter=filter, offset=offset, limit=limit, columns=names)
    response = _answer(table, ask(table, question), question)
    response.vary.add("Accept")
    return response


def _answer(rows: Table[Any], page: Page, question: Question) -> Response:
    """The page in the form that the client prefers; JSON where it does not say."""
    names = [column.name for column in page.columns]
    written = records(rows.take(names, page.rows))
    page = page._replace(rows=page.rows[: max(fitting(written, ROOM), 1)])
    accepted = request.accept_mimetypes
    if accepted.best_match([answers.JSON, ARROW], answers.JSON) == ARROW:
        try:
            return Response(_arrow(rows, page, question), mimetype=ARROW)
        except UsageError as error:
            if accepted[answers.JSON] <= 0:
                return answers.json(
                    schema.ErrorAnswer(schema.ErrorDetail("usage", str(error))), 406
                )
    return answers.json(_page(rows, page, question, written[: len(page.rows)]))


def _page(
    table: Table[Any], page: Page, question: Question, written: list[dict[str, Any]]
) -> schema.TablePage:
    return schema.TablePage(
        table=table.name,
        key=KEY,
        total=page.total,
        offset=question.offset,
        left_out=_left_out(page, question),
        columns=_columns(page.columns),
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


# SQL: a query on the tables of a trace or a run, and what there is to ask.


LIMITS = Limits(rows=10_000, seconds=20.0, megabytes=500)
RUN_MEGABYTES = 1000
"""Most that a table of all traces of a run takes."""
BYTES = 900_000
"""Most bytes of the rows of an answer."""
LONGEST = 10_000
"""Characters of a query."""
_turns = BoundedSemaphore(2)
"""Queries that run at a time; further ones wait."""


def sql(trace: OpenTrace, *, query: str, step: list[str]) -> schema.SqlAnswer:
    """Rows that answer a query on the tables of a trace."""
    tables = {name: trace.table(name, step) for name in CATALOGUE}
    return _asked(query, sources_of(tables, lambda table: trace.arrow(table.name, step)))


def sql_of_run(served: Served, *, run: str, query: str) -> schema.SqlAnswer:
    """Rows that answer a query on the tables of a run."""
    traces = served.traces_of(run)

    def each(name: str) -> Iterator[tuple[str, Table[Any]]]:
        for worker, trace in traces.workers:
            found = served.traces.ask(trace.file, lambda opened: opened.table(name))
            yield as_text(worker), found

    sources = run_sources(lambda: served.run(traces), each, RUN_MEGABYTES)
    return _asked(query, sources)


def trace_tables(_served: Served) -> schema.SqlTables:
    """What a query on a trace can read."""
    return _tables(_of_trace(()))


def run_tables(_served: Served) -> schema.SqlTables:
    """What a query on a run can read."""
    return _tables([*_of_run(), *_of_trace((_WORKER,))])


def _asked(query: str, sources: Mapping[str, Source]) -> schema.SqlAnswer:
    with _turns:
        return _answer_sql(run_query(query, sources, LIMITS))


def _answer_sql(result: Result) -> schema.SqlAnswer:
    """As many of the rows as fit."""
    columns = [schema.SqlColumn(name, kind) for name, kind in result.columns.items()]
    rows, left = [], BYTES
    for row in result:
        values = [_plain(value) for value in row]
        left -= len(msgspec.json.encode(values))
        if left < 0:
            break
        rows.append(values)
    return schema.SqlAnswer(columns, rows, None if result.more else len(result))


def _plain(value: Any) -> Any:
    """A value as JSON has it: of whole numbers beyond 64 bits, the nearest float."""
    if isinstance(value, int) and abs(value) >= 1 << 63:
        return float(value)
    return value


_WORKER = schema.TableColumn(WORKER, "text", None, "The trace that the row is of.")


def _tables(tables: list[schema.SqlTable]) -> schema.SqlTables:
    missing = find_spec("duckdb") is None or find_spec("pyarrow") is None
    return schema.SqlTables("pip install 'tb-hookview[sql]'" if missing else None, tables)


def _of_trace(first: Iterable[schema.TableColumn]) -> list[schema.SqlTable]:
    """Tables of a trace, with some columns before their own."""
    return [
        schema.SqlTable(name, entry.description, [*first, *_columns(empty_table(name).columns)])
        for name, entry in CATALOGUE.items()
    ]


def _of_run() -> list[schema.SqlTable]:
    return [
        schema.SqlTable(name, description(row_type), _columns(Table(row_type, ()).columns))
        for name, row_type in TABLES.items()
    ]


def _columns(columns: Sequence[Column]) -> list[schema.TableColumn]:
    return [schema.TableColumn(c.name, c.type_name, c.unit, c.description) for c in columns]
