"""A table: typed rows, and the same as pandas, polars, Arrow, Parquet, CSV and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from tb_hookview.document.html import TABLE_ROWS, columns_html
from tb_hookview.schema.describe import description
from tb_hookview.tables.model.columns import Column, columns_of, listed
from tb_hookview.tables.outlets import arrow, files, frames

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from tb_hookview.arrays.types import Int
    from tb_hookview.tables.model.columns import Arrays, Values


Row = TypeVar("Row", bound=msgspec.Struct)
BATCH = 20_000
"""Rows of a batch: no more of them are Python's values at a time while a file is written."""
KEY = "id"


class Table(Sequence[Row], Generic[Row]):
    """A sequence of typed rows that converts to data frames and files.

    Nested fields become columns named with a dot: `backward.device_us`. So do the keys of mappings
    that hold a fixed set of them: `backward.by_kind.matrix`.
    """

    key = KEY

    def __init__(
        self, row_type: type[Row], rows: Sequence[Row] | Callable[[], Arrays], name: str = ""
    ) -> None:
        """Make a table.

        Args:
            row_type: type of the rows, which gives the columns.
            rows: the rows, or what computes them as arrays when they are first needed.
            name: of the table, as it is written into files.
        """
        self.row_type, self.name = row_type, name or row_type.__name__
        self._given = rows

    @property
    def columns(self) -> tuple[Column, ...]:
        """Name, type, unit and definition of each column."""
        return columns_of(self.row_type)

    @cached_property
    def _source(self) -> Rows[Row] | Arrays:
        return self._given() if callable(self._given) else Rows(self._given, self.columns)

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, index: Any) -> Any:
        places = range(len(self))[index]
        return list(self._made(places)) if isinstance(places, range) else self._row(places)

    def __iter__(self) -> Iterator[Row]:
        return self._made(range(len(self)))

    def _made(self, places: range) -> Iterator[Row]:
        """Rows at some places; computed ones are made here."""
        if isinstance(self._source, Rows):
            yield from (self._source.rows[place] for place in places)
            return
        names = self.row_type.__struct_fields__
        for first in range(0, len(places), BATCH):
            batch = self.take(names, places[first : first + BATCH])
            for values in zip(*map(listed, batch.values()), strict=True):
                yield self.row_type(*values)

    def _row(self, place: int) -> Row:
        return next(self._made(range(place, place + 1)))

    def __repr__(self) -> str:
        return f"<Table {self.name} of {self.row_type.__name__} rows>"

    def _repr_html_(self) -> str:
        """HTML that a notebook shows of the table."""
        names = [column.name for column in self.columns]
        shown = self.take(names, range(min(TABLE_ROWS, len(self))))
        lists = {name: listed(values) for name, values in shown.items()}
        return columns_html(lists, f"{self.row_type.__name__} rows", len(self))

    def take(self, names: Sequence[str], rows: Sequence[int] | Int) -> dict[str, Values]:
        """Some columns of some rows, which a range or an array of their places gives."""
        return self._source.take(names, rows)

    def batches(self, size: int = BATCH) -> Iterator[dict[str, Values]]:
        """All columns, some rows at a time."""
        names = [column.name for column in self.columns]
        for first in range(0, len(self), size):
            yield self.take(names, range(first, min(first + size, len(self))))

    def to_columns(self) -> dict[str, list[Any]]:
        """Columns by name, one value per row; None where the trace lacks it."""
        columns: dict[str, list[Any]] = {column.name: [] for column in self.columns}
        for batch in self.batches():
            for name, values in batch.items():
                columns[name] += listed(values)
        return columns

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas frame.

        Raises:
            UsageError: pandas is not installed.
        """
        return frames.to_pandas(self.columns, self._whole())

    def to_polars(self) -> polars.DataFrame:
        """The table as a polars frame.

        Raises:
            UsageError: polars or pyarrow is not installed.
        """
        return frames.to_polars(self.to_arrow)

    def to_arrow(self) -> pyarrow.Table:
        """The table for Arrow, with unit and definition of each column as its metadata.

        Raises:
            UsageError: pyarrow is not installed.
        """
        schema = arrow.schema(self.columns, self._facts)
        batches = [arrow.batch(self.columns, schema, batch) for batch in self.batches()]
        return arrow.require().Table.from_batches(batches, schema)

    def to_json(self) -> str:
        """The table as JSON: a list of rows, each by column."""
        return files.json_rows(self._whole()).decode()

    def write(
        self, path: Path, form: str, progress: Callable[[int], None] = lambda _: None
    ) -> None:
        """Write the table as a file, some rows at a time.

        Args:
            path: the file.
            form: one of `files.FORMS`.
            progress: called with the number of rows written each time.

        Raises:
            UsageError: pyarrow is needed and not installed.
            OSError: the file cannot be written.
        """
        with files.FORMS[form](path, self.columns, self._facts) as file:
            left = len(self)
            for batch in self.batches():
                file.write(batch)
                progress(min(left, BATCH))
                left -= BATCH

    @property
    def _facts(self) -> dict[str, str]:
        """Metadata of the whole table in a file."""
        return {"table": self.name, "key": KEY, "description": description(self.row_type)}

    def _whole(self) -> dict[str, Values]:
        return self.take([column.name for column in self.columns], range(len(self)))


class Rows(Generic[Row]):
    """Rows whose columns are laid out when they are asked for."""

    def __init__(self, rows: Sequence[Row], columns: Sequence[Column]) -> None:
        self.rows = rows
        self._columns = {column.name: column for column in columns}

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, names: Sequence[str], places: Sequence[int] | Int) -> dict[str, Values]:
        """Some columns of the rows at some places."""
        rows = [self.rows[place] for place in places]
        return {name: list(map(self._columns[name].value, rows)) for name in names}
