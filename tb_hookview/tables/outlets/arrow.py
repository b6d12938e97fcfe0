"""Columns as Arrow arrays, with declared types; units and definitions are metadata of the fields.

A list whose items are of no one type (shapes, of which some are lists of shapes) is JSON text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin

import msgspec

from tb_hookview.errors import UsageError
from tb_hookview.schema.describe import fields
from tb_hookview.tables.model.columns import Column, is_struct, without_none

if TYPE_CHECKING:
    import pyarrow

    from tb_hookview.tables.model.columns import Values


def require() -> Any:
    """Return pyarrow.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        hint = "pip install 'tb-hookview[parquet]', or use CSV or JSON"
        raise UsageError(f"this needs pyarrow, which is not installed; {hint}") from None
    return pyarrow


def schema(columns: Sequence[Column], facts: Mapping[str, str]) -> pyarrow.Schema:
    """Names, types and metadata of the columns; `facts` are the metadata of the table."""
    pyarrow = require()
    declared = [
        pyarrow.field(column.name, _type(column.type), column.optional, metadata=_metadata(column))
        for column in columns
    ]
    return pyarrow.schema(declared, metadata=dict(facts))


def batch(
    columns: Sequence[Column], schema: pyarrow.Schema, values: Mapping[str, Values]
) -> pyarrow.RecordBatch:
    """Some rows."""
    arrays = [
        _array(column, values[column.name], of.type)
        for column, of in zip(columns, schema, strict=True)
    ]
    return require().RecordBatch.from_arrays(arrays, schema=schema)


def _metadata(column: Column) -> dict[str, str]:
    known = {"unit": column.unit, "description": column.description}
    return {name: text for name, text in known.items() if text}


def _type(hint: Any) -> Any:
    pyarrow, hint = require(), without_none(hint)[0]
    if hint == list[Any]:
        return pyarrow.string()
    if is_struct(hint):
        return pyarrow.struct([(field.name, _type(field.type)) for field in fields(hint)])
    if get_origin(hint) is list:
        return pyarrow.list_(_type(get_args(hint)[0]))
    types = {str: pyarrow.string, int: pyarrow.int64, float: pyarrow.float64, bool: pyarrow.bool_}
    return types[hint]()


def _array(column: Column, values: Values, of: Any) -> Any:
    pyarrow = require()
    if isinstance(values, list):
        return pyarrow.array([_plain(value, column.type) for value in values], of)
    from tb_hookview.tables.model.columns import Texts

    if isinstance(values, Texts):
        texts, codes = values.compact()
        if not texts:
            return pyarrow.nulls(len(codes), of)
        coded = pyarrow.array(codes, pyarrow.int32(), mask=codes < 0)
        return pyarrow.DictionaryArray.from_arrays(coded, texts).cast(of)
    return pyarrow.array(values.values, of, mask=None if values.known is None else ~values.known)


def _plain(value: Any, hint: Any) -> Any:
    """A value as pyarrow takes it."""
    hint = without_none(hint)[0]
    if value is None:
        return None
    if hint == list[Any]:
        return msgspec.json.encode(value).decode()
    if is_struct(hint):
        return {field.name: _plain(value[field.name], field.type) for field in fields(hint)}
    if get_origin(hint) is list:
        return [_plain(item, get_args(hint)[0]) for item in value]
    return value
