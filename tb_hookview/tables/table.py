"""Tables a user can take away: rows of a report as pandas or polars frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from tb_hookview.errors import UsageError
from tb_hookview.tables.notebook import columns_html

if TYPE_CHECKING:
    import pandas
    import polars

Row = TypeVar("Row", bound=msgspec.Struct)


class Table(Sequence[Row], Generic[Row]):
    """A sequence of typed rows that converts to data frames.

    Nested fields become columns named with a dot: `backward.device_us`.
    """

    def __init__(self, row_type: type[Row], rows: Sequence[Row]) -> None:
        self._row_type = row_type
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} {self._row_type.__name__} rows>"

    def _repr_html_(self) -> str:
        """What a notebook shows of the table."""
        return columns_html(self.to_columns(), f"{self._row_type.__name__} rows")

    def to_columns(self) -> dict[str, list[Any]]:
        """Columns by name, one value per row; None where the trace does not hold the number."""
        names = list(_column_names(self._row_type))
        flat = [_flatten(msgspec.to_builtins(row)) for row in self._rows]
        return {name: [_value(row, name) for row in flat] for name in names}

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas frame.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise UsageError("pandas is not installed; pip install pandas") from None

        return pandas.DataFrame(self.to_columns())

    def to_polars(self) -> polars.DataFrame:
        """The table as a polars frame.

        Raises:
            UsageError: polars is not installed.
        """
        try:
            import polars
        except ImportError:
            raise UsageError("polars is not installed; pip install 'tb-hookview[polars]'") from None
        return polars.DataFrame(self.to_columns(), infer_schema_length=None, strict=False)


def _column_names(row_type: Any, prefix: str = "") -> Iterator[str]:
    """Names of the flattened columns, from the types alone, so that every trace gives the same."""
    hints = get_type_hints(row_type, include_extras=True)
    for field in msgspec.structs.fields(row_type):
        parts, name = _parts(hints[field.name]), prefix + field.encode_name
        inner = [part for part in parts if _is_struct(part)]
        keys = [key for part in parts for key in _keys(part)]
        if inner:
            yield from _column_names(inner[0], f"{name}.")
        elif keys:
            yield from (f"{name}.{key}" for key in keys)
        else:
            yield name


def _parts(hint: Any) -> tuple[Any, ...]:
    """What a field may be; a list of structs stays one column."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _keys(hint: Any) -> list[str]:
    """Keys of a mapping that holds no others, and leaves out those whose value is 0."""
    extras = [meta.extra for meta in getattr(hint, "__metadata__", ()) if meta.extra]
    return [key for extra in extras for key in extra["keys"]]


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _flatten(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in row.items():
        result[prefix + name] = value
        if isinstance(value, dict):
            result |= _flatten(value, f"{prefix}{name}.")
    return result


def _value(row: dict[str, Any], name: str) -> Any:
    left_out = 0.0 if isinstance(row.get(name.rpartition(".")[0]), dict) else None
    return row.get(name, left_out)
