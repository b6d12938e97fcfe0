"""Columns as data frames of pandas and polars, with declared types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_hookview.errors import UsageError
from tb_hookview.tables.model.columns import Column

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from tb_hookview.tables.model.columns import Values


def to_pandas(columns: Sequence[Column], values: Mapping[str, Values]) -> pandas.DataFrame:
    """A pandas frame; whole numbers and truth values that may be missing are nullable.

    Raises:
        UsageError: pandas is not installed.
    """
    pandas = require_pandas()
    series = {column.name: _series(pandas, column, values[column.name]) for column in columns}
    return pandas.DataFrame(series)


def require_pandas() -> Any:
    """Return pandas.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise UsageError("pandas is not installed; pip install 'tb-hookview[pandas]'") from None
    return pandas


def to_polars(table: Callable[[], pyarrow.Table]) -> polars.DataFrame:
    """A polars frame.

    Raises:
        UsageError: polars or pyarrow is not installed.
    """
    try:
        import polars
    except ImportError:
        raise UsageError("polars is not installed; pip install 'tb-hookview[polars]'") from None
    frame = polars.from_arrow(table())
    assert isinstance(frame, polars.DataFrame)  # a table gives no series
    return frame


_WITH_TEXTS = 3
"""The version of pandas from which texts have a type."""
_PLAIN = {int: "int64", float: "float64", bool: "bool"}
_NULLABLE = {int: "Int64", float: "float64", bool: "boolean"}


def _series(pandas: Any, column: Column, values: Values) -> Any:
    of = (_NULLABLE if column.optional else _PLAIN).get(column.type, object)
    if column.type is str and int(pandas.__version__.partition(".")[0]) >= _WITH_TEXTS:
        of = "str"
    import numpy

    from tb_hookview.tables.model.columns import Texts

    if isinstance(values, list):
        return pandas.Series(values, dtype=of)
    if isinstance(values, Texts):
        texts, codes = values.compact()
        # One object for all rows that have the same text; the last is for -1.
        return pandas.Series(numpy.array([*texts, None], object)[codes], dtype=of)
    series = pandas.Series(values.values)
    if values.known is None:
        return series.astype(of)
    return series.astype(of).mask(~values.known)
