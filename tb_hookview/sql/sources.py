"""Tables for SQL: what they are like, and their rows once a query reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.tables.outlets import arrow

if TYPE_CHECKING:
    import pyarrow

    from tb_hookview.tables.table import Table

WORKER = "worker"
"""Column of the tables of several traces."""


class Source:
    """A table as Arrow's C interface hands it over: its rows are made when they are first read.

    https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
    """

    error: HookviewError | None = None
    """Why the rows could not be made."""
    pause: Callable[[], AbstractContextManager[None]] = staticmethod(nullcontext)
    """Entered while the rows are made."""

    def __init__(
        self, schema: Callable[[], pyarrow.Schema], rows: Callable[[], pyarrow.Table]
    ) -> None:
        """Take what makes the columns, and what makes the rows."""
        self._make_schema, self._make_rows = schema, rows
        self._context, self._lock = copy_context(), Lock()

    @cached_property
    def _schema(self) -> pyarrow.Schema:
        return self._make_schema()

    @cached_property
    def _rows(self) -> pyarrow.Table:
        return self._make_rows()

    def schema(self) -> pyarrow.Schema:
        """The columns."""
        return self._schema

    def rows(self) -> pyarrow.Table:
        """The rows; made at the first call, in the context of the question.

        Raises:
            HookviewError: they cannot be made.
        """
        # A thread of the database asks, which knows nothing of the request that is answered.
        with self._lock, self.pause():
            return self._context.run(lambda: self._rows)

    def __arrow_c_schema__(self) -> object:
        """The columns."""
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows."""
        try:
            return self.rows().__arrow_c_stream__(requested_schema)
        except HookviewError as error:
            self.error = error
            raise


def sources_of(
    tables: Mapping[str, Table[Any]],
    rows: Callable[[Table[Any]], pyarrow.Table] = lambda table: table.to_arrow(),
) -> dict[str, Source]:
    """Tables of one trace, or of a run; `rows` makes those of a table."""

    def source(table: Table[Any]) -> Source:
        return Source(lambda: arrow.schema(table.columns, {}), lambda: rows(table))

    return {name: source(table) for name, table in tables.items()}


Each = Callable[[str], Iterable[tuple[str, "Table[Any]"]]]
"""Worker and table of every trace, given the table's name."""


def sources_of_several(
    tables: Mapping[str, Table[Any]], each: Each, megabytes: int | None = None
) -> dict[str, Source]:
    """Tables of several traces, one below the other, each row with its worker.

    Args:
        tables: those of one of the traces, by name: all have the same.
        each: the traces' tables; they are taken one after the other.
        megabytes: the most that the rows of one table of all traces may take; None for any.
    """

    def source(name: str, table: Table[Any]) -> Source:
        return Source(
            lambda: _with_worker(table),
            lambda: _joined(name, _rows_with_worker(each(name)), megabytes),
        )

    return {name: source(name, table) for name, table in tables.items()}


def _with_worker(table: Table[Any]) -> pyarrow.Schema:
    pyarrow = arrow.require()
    return pyarrow.schema(
        [pyarrow.field(WORKER, pyarrow.string()), *arrow.schema(table.columns, {})]
    )


def _rows_with_worker(tables: Iterable[tuple[str, Table[Any]]]) -> Iterator[pyarrow.Table]:
    pyarrow = arrow.require()
    for worker, table in tables:
        rows = table.to_arrow().replace_schema_metadata(None)
        workers = pyarrow.repeat(pyarrow.scalar(worker, pyarrow.string()), len(rows))
        yield rows.add_column(0, WORKER, workers)


def _joined(name: str, parts: Iterable[pyarrow.Table], megabytes: int | None) -> pyarrow.Table:
    """The parts one below the other.

    Raises:
        UsageError: they take more than may be.
    """
    taken, size = [], 0
    for part in parts:
        size += part.nbytes
        if megabytes is not None and size > megabytes * 1_000_000:
            raise UsageError(
                f"sql: {name} of all traces takes more than {megabytes:,} MB; query one trace"
            )
        taken.append(part)
    return arrow.require().concat_tables(taken)
