"""Tables for SQL: what they are like, and their rows once a query reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import copy_context
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from tb_hookview.document.html import TABLE_ROWS, columns_html
from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.tables.outlets import arrow, frames
from tb_hookview.tables.outlets.files import csv_line

if TYPE_CHECKING:
    import pandas
    import polars
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


# The rows that answer a query.


_BATCH = 1000
"""Rows that are converted at a time."""


class Result(Sequence[tuple[Any, ...]]):
    """Rows as tuples, with their columns; converts to data frames."""

    def __init__(self, table: pyarrow.Table, more: bool) -> None:
        """Make a result.

        Args:
            table: the rows.
            more: whether the query has rows beyond these.
        """
        self._table, self.more = table, more

    @classmethod
    def of(cls, answer: Any, most: int) -> Result:
        """Take the first rows of a relation, at most `most`."""
        table = _without_decimals(answer.limit(most + 1).to_arrow_table())
        return cls(table.slice(0, most), len(table) > most)

    @property
    def columns(self) -> dict[str, str]:
        """Type of each column by name, as Arrow writes it."""
        return {field.name: str(field.type) for field in self._table.schema}

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        place = range(len(self))[index]
        return tuple(column[place].as_py() for column in self._table.columns)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Rows in their order, many converted at a time."""
        for batch in self._table.to_batches(max_chunksize=_BATCH):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def __repr__(self) -> str:
        """Summarize in one line."""
        more = ", more left out" if self.more else ""
        return f"<Result of {len(self):,} rows{more}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """HTML that a notebook shows."""
        shown = self._table.slice(0, TABLE_ROWS)
        lists = dict(
            zip(self.columns, (column.to_pylist() for column in shown.columns), strict=True)
        )
        return columns_html(lists, "rows", len(self))

    def to_arrow(self) -> pyarrow.Table:
        """The rows for Arrow."""
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame.

        Raises:
            UsageError: pandas is not installed.
        """
        frames.require_pandas()
        return self._table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame.

        Raises:
            UsageError: polars is not installed.
        """
        return frames.to_polars(self.to_arrow)

    def to_json(self) -> str:
        """A list of rows, each by column."""
        return msgspec.json.encode(self._table.to_pylist()).decode()

    def to_csv(self) -> str:
        """Lines of values, names of the columns first."""
        rows = zip(*(column.to_pylist() for column in self._table.columns), strict=True)
        return "".join(map(csv_line, [tuple(self.columns), *rows]))


def _without_decimals(table: pyarrow.Table) -> pyarrow.Table:
    """A table with numbers of 64 bits for decimals, which DuckDB's sums of integers are."""
    pyarrow = arrow.require()
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_decimal(field.type):
            table = table.set_column(place, field.name, _number(table.column(place), pyarrow))
    return table


def _number(column: pyarrow.ChunkedArray, pyarrow: Any) -> pyarrow.ChunkedArray:
    if not column.type.scale:
        with suppress(pyarrow.ArrowInvalid):  # more than 64 bits
            return column.cast(pyarrow.int64())
    return column.cast(pyarrow.float64())
