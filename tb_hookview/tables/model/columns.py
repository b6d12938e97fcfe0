"""Typed columns of a table, and the values in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import Bool, Int, Nanoseconds
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


class Numbers(NamedTuple):
    """Numbers or truth values, shape (n,)."""

    values: NDArray[Any]
    known: Bool | None = None
    """True where the trace holds one; None: everywhere."""

    def tolist(self) -> list[Any]:
        """As Python's values, None where the trace holds none."""
        values: list[Any] = self.values.tolist()
        if self.known is None:
            return values
        return [v if known else None for v, known in zip(values, self.known.tolist(), strict=True)]


class Texts(NamedTuple):
    """Texts by their index in a list, shape (n,); -1 for none."""

    texts: Sequence[str | None]
    codes: Int

    def tolist(self) -> list[str | None]:
        """As Python's values, None where the trace holds none."""
        texts = self.texts
        return [texts[code] if code >= 0 else None for code in self.codes.tolist()]

    def compact(self) -> tuple[list[str], Int]:
        """The distinct texts used, and each row's index in them, -1 for none."""
        used, inverse = unique_inverse(self.codes)
        texts = [self.texts[code] if code >= 0 else None for code in used.tolist()]
        there = np.array([text is not None for text in texts], bool)
        place = np.where(there, np.cumsum(there) - 1, -1)
        return [text for text in texts if text is not None], place[inverse]


Values = list[Any] | Numbers | Texts


class Arrays(NamedTuple):
    """A table of computed columns."""

    places: Int
    """Entries of the analysis that are its rows, shape (n,)."""
    columns: Mapping[str, Callable[[Int], Values]]
    """Values of some entries."""

    def __len__(self) -> int:
        return len(self.places)

    def take(self, names: Sequence[str], rows: Sequence[int] | Int) -> dict[str, Values]:
        """Some columns of some rows."""
        asked = (
            np.arange(rows.start, rows.stop, rows.step)
            if isinstance(rows, range)
            else np.asarray(rows, np.int64)
        )
        chosen = self.places[asked]
        return {name: self.columns[name](chosen) for name in names}


def listed(values: Values) -> list[Any]:
    """Values of a column as Python's."""
    return values if isinstance(values, list) else values.tolist()


def no_rows(row_type: type[msgspec.Struct]) -> Arrays:
    """An empty table of such rows."""
    names = (column.name for column in columns_of(row_type))
    return Arrays(np.zeros(0, np.int64), dict.fromkeys(names, lambda _: []))


def known(values: NDArray[Any], least: int = 0) -> Numbers:
    """Numbers of which those below `least` stand for none."""
    return Numbers(values, np.asarray(values >= least))


def microseconds(nanoseconds: Nanoseconds) -> Numbers:
    """Times in nanoseconds as microseconds."""
    return Numbers(nanoseconds / 1000)
