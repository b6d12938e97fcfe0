"""The rows that answer a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tb_hookview.document.html import TABLE_ROWS, columns_html
from tb_hookview.tables.outlets import frames
from tb_hookview.tables.outlets.files import csv_line

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


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
        table = answer.limit(most + 1).to_arrow_table()
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
