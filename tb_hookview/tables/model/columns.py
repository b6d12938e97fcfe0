"""Columns of a table, from the type of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from tb_hookview.schema.describe import fields

_NAMES = {str: "text", int: "integer", float: "number", bool: "boolean"}


class Column(NamedTuple):
    """A column; any value of an optional one may be None."""

    name: str
    """Nested fields and keys of mappings are joined with a dot: `backward.by_kind.matrix`."""
    type: Any
    """`str`, `int`, `float` or `bool`; else the type of lists or rows within one value."""
    optional: bool
    unit: str | None
    description: str
    path: tuple[str, ...] = ()
    """Attributes that lead from a row to the value."""
    key: str | None = None
    """Its key, where these lead to a mapping."""

    @property
    def type_name(self) -> str:
        """Its type in a word: "text", "integer", "number", "boolean" or "json"."""
        return _NAMES.get(self.type, "json")

    def value(self, row: Any) -> Any:
        """The value of one row."""
        for attribute in self.path:
            if row is None:
                return None
            row = getattr(row, attribute)
        if self.key is not None:
            return None if row is None else row.get(self.key, 0.0)
        return row if self.type in _NAMES else msgspec.to_builtins(row)


@cache
def columns_of(row_type: type[msgspec.Struct]) -> tuple[Column, ...]:
    """The columns of a table, from the row type alone: the same for every trace."""
    return tuple(_flattened(row_type))


def _flattened(
    row_type: Any, prefix: str = "", path: tuple[str, ...] = (), optional: bool = False
) -> Iterator[Column]:
    annotated = get_type_hints(row_type, include_extras=True)
    for attribute, field in zip(row_type.__struct_fields__, fields(row_type), strict=True):
        inner, nullable = without_none(field.type)
        name, follow = prefix + field.name, (*path, attribute)
        nullable |= optional
        if is_struct(inner):
            yield from _flattened(inner, f"{name}.", follow, nullable)
        elif keys := _keys(annotated[attribute]):
            for key in keys:
                text = f"{field.description} Here: {key}.".strip()
                yield Column(f"{name}.{key}", float, nullable, field.unit, text, follow, key)
        else:
            yield Column(name, inner, nullable, field.unit, field.description, follow)


def without_none(hint: Any) -> tuple[Any, bool]:
    """The type itself, of one that may be None, and whether it may."""
    if get_origin(hint) not in (Union, UnionType) or NoneType not in get_args(hint):
        return hint, False
    possible = [inner for inner in get_args(hint) if inner is not NoneType]
    return possible[0], True


def is_struct(hint: Any) -> bool:
    """Whether a type is that of rows."""
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _keys(hint: Any) -> list[str]:
    """Keys of a mapping with a fixed set of keys; absent ones are 0."""
    for meta in getattr(hint, "__metadata__", ()):
        extra = getattr(meta, "extra", None)
        if extra and "keys" in extra:
            return list(extra["keys"])
    return [key for part in get_args(hint) for key in _keys(part)]
