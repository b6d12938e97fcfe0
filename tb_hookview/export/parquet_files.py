"""Tables as Parquet, through pyarrow: lists, mappings and rows within rows keep their types."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from tb_hookview.errors import UsageError
from tb_hookview.export.tables import Batch, Table, fields_of, is_struct, without_none

SUFFIX = ".parquet"


def require_pyarrow() -> None:
    """Say so at once where pyarrow is absent.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        hint = "pip install 'tb-hookview[parquet]', or use --format csv"
        raise UsageError(f"Parquet needs pyarrow, which is not installed; {hint}") from None


class ParquetWriter:
    """Writes one table, each batch as a row group."""

    def __init__(self, path: Path, table: Table) -> None:
        import pyarrow
        import pyarrow.parquet

        self._types = table.types
        self._schema = pyarrow.schema([(n, _type(hint)) for n, hint in table.types.items()])
        self._file = pyarrow.parquet.ParquetWriter(path, self._schema, compression="zstd")

    def __enter__(self) -> ParquetWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        import pyarrow

        columns = {
            name: [_plain(value, self._types[name]) for value in values]
            for name, values in batch.items()
        }
        self._file.write_table(pyarrow.Table.from_pydict(columns, self._schema))


def _type(hint: Any) -> Any:
    """Parquet's type for one of Python's; rows within rows are structs, mappings are maps.

    A list whose items are of no one type (shapes, of which some are lists of shapes) is JSON text.
    """
    import pyarrow

    hint, inner = without_none(hint), get_args(without_none(hint))
    if hint == list[Any]:
        return pyarrow.string()
    if is_struct(hint):
        return pyarrow.struct([(name, _type(hint)) for name, _, hint in fields_of(hint)])
    if get_origin(hint) is list:
        return pyarrow.list_(_type(inner[0]))
    if get_origin(hint) is dict:
        return pyarrow.map_(_type(inner[0]), _type(inner[1]))
    types = {str: pyarrow.string, int: pyarrow.int64, float: pyarrow.float64, bool: pyarrow.bool_}
    return types[hint]()


def _plain(value: Any, hint: Any) -> Any:
    """The value as pyarrow takes it: a mapping as pairs, a row as a dict."""
    hint = without_none(hint)
    if value is None:
        return None
    if hint == list[Any]:
        return msgspec.json.encode(value).decode()
    if is_struct(hint):
        return {name: _plain(getattr(value, field), inner) for name, field, inner in _fields(hint)}
    if get_origin(hint) is list:
        return [_plain(item, get_args(hint)[0]) for item in value]
    return list(value.items()) if get_origin(hint) is dict else value


@cache
def _fields(row_type: Any) -> tuple[tuple[str, str, Any], ...]:
    return tuple(fields_of(row_type))
