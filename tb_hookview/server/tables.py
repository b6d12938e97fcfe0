"""Rows of a table, filtered and sorted, as JSON or Arrow."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from flask import Response, request

from tb_hookview.errors import UsageError
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.schema.describe import description
from tb_hookview.schema.errors import ErrorAnswer, ErrorDetail
from tb_hookview.schema.tables import TableColumn, TablePage
from tb_hookview.server import answers
from tb_hookview.server.bounds import MOST_BYTES, fitting
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
                return answers.json(ErrorAnswer(ErrorDetail("usage", str(error))), 406)
    return answers.json(_page(rows, page, question, written[: len(page.rows)]))


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
