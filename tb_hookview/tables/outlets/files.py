"""Columns as files: CSV, JSON, Parquet, Arrow, some rows at a time.

In CSV every text is quoted and no number is, so an empty text (`""`, the root module's path)
differs from a value that the trace does not hold (nothing at all). Lists are JSON in one cell.
Spreadsheets take a cell that begins with one of `= + - @`, a tab or a line break for a formula. The
names of a trace are somebody else's, so such a text gets an apostrophe in front.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tb_hookview.tables.model.columns import Column, listed
from tb_hookview.tables.outlets import arrow

if TYPE_CHECKING:
    from tb_hookview.tables.model.columns import Values

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
Batch = Mapping[str, "Values"]


class Writer:
    """Writes one table, a batch at a time."""

    _file: Any

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        raise NotImplementedError


class CsvWriter(Writer):
    """CSV: UTF-8, a header, RFC 4180."""

    def __init__(self, path: Path, columns: Sequence[Column], _facts: Mapping[str, str]) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._file.write(csv_line(column.name for column in columns))

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        self._file.writelines(map(csv_line, zip(*map(listed, batch.values()), strict=True)))


class JsonWriter(Writer):
    """JSON: a list of rows, each by column."""

    def __init__(self, path: Path, _columns: Sequence[Column], _facts: Mapping[str, str]) -> None:
        self._file = path.open("wb")
        self._before = b"["

    def __exit__(self, *_: object) -> None:
        if self._before == b"[":
            self._file.write(b"[")
        self._file.write(b"]\n")
        self._file.close()

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        self._file.write(self._before + json_rows(batch)[1:-1])
        self._before = b",\n"


class ParquetWriter(Writer):
    """Parquet, each batch a row group."""

    def __init__(self, path: Path, columns: Sequence[Column], facts: Mapping[str, str]) -> None:
        arrow.require()
        import pyarrow.parquet

        self._columns, self._schema = columns, arrow.schema(columns, facts)
        self._file = pyarrow.parquet.ParquetWriter(path, self._schema, compression="zstd")

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        self._file.write_batch(arrow.batch(self._columns, self._schema, batch))


class ArrowWriter(Writer):
    """Arrow's stream format (IPC), to a file or to anything that is written to."""

    def __init__(self, to: Any, columns: Sequence[Column], facts: Mapping[str, str]) -> None:
        pyarrow = arrow.require()
        self._columns, self._schema = columns, arrow.schema(columns, facts)
        self._file = pyarrow.OSFile(str(to), "wb") if isinstance(to, Path) else to
        self._own = isinstance(to, Path)
        self._writer = pyarrow.ipc.new_stream(self._file, self._schema)

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        if self._own:
            self._file.close()

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        self._writer.write_batch(arrow.batch(self._columns, self._schema, batch))


FORMS: Mapping[str, Callable[[Path, Sequence[Column], Mapping[str, str]], Writer]] = {
    "parquet": ParquetWriter,
    "csv": CsvWriter,
    "json": JsonWriter,
    "arrow": ArrowWriter,
}
"""The writer of each format, by the suffix of its files."""


def json_rows(batch: Batch) -> bytes:
    """Rows as a list of JSON objects."""
    return msgspec.json.encode(records(batch))


def records(batch: Batch) -> list[dict[str, Any]]:
    """Rows by column, as Python's values."""
    names, values = list(batch), [listed(column) for column in batch.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def csv_line(values: Any) -> str:
    """One row as a line of a CSV file."""
    return ",".join(map(cell, values)) + "\r\n"


def cell(value: Any) -> str:
    """One value as it stands in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    guarded = f"'{text}" if text.startswith(_FORMULA) else text
    return '"' + guarded.replace('"', '""') + '"'
