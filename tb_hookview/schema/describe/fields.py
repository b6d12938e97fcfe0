"""Names, types, units and definitions of a type's fields.

A field's unit is in its type (`units.py`); its definition is the docstring below it, read from the
source, so that the body of a class stays readable and importing it costs nothing.
"""

from __future__ import annotations

import typing
from functools import cache
from typing import Any, NamedTuple

import msgspec

from tb_hookview.schema.describe.docstrings import docstrings
from tb_hookview.schema.units import UNIT


class Field(NamedTuple):
    """One field of a type."""

    name: str
    """Its key in JSON."""
    type: Any
    """Its type, the annotation without units: `float | None`, `list[str]`, ..."""
    unit: str | None
    """Of the number, or of those in a list or mapping."""
    description: str
    """Its definition, one paragraph; empty where it has none."""


@cache
def fields(of: type[msgspec.Struct]) -> tuple[Field, ...]:
    """The fields of a type, in the order in which they are sent."""
    plain = typing.get_type_hints(of)
    whole = typing.get_type_hints(of, include_extras=True)
    texts = _descriptions(of)
    return tuple(
        Field(key, plain[name], _unit(whole[name]), texts.get(name, ""))
        for name, key in zip(of.__struct_fields__, of.__struct_encode_fields__, strict=True)
    )


def description(of: type[msgspec.Struct]) -> str:
    """A type's docstring, on one line."""
    return " ".join((of.__doc__ or "").split())


def _unit(annotation: Any) -> str | None:
    for meta in getattr(annotation, "__metadata__", ()):
        extra = meta.extra_json_schema if isinstance(meta, msgspec.Meta) else None
        if extra and UNIT in extra:
            return str(extra[UNIT])
    parts = (_unit(part) for part in typing.get_args(annotation))
    return next((unit for unit in parts if unit is not None), None)


def _descriptions(of: type) -> dict[str, str]:
    """Docstrings of the fields of a type and of those that it inherits from."""
    found: dict[str, str] = {}
    for base in reversed(of.__mro__):
        if issubclass(base, msgspec.Struct) and base is not msgspec.Struct:
            found |= docstrings(base.__module__).get(base.__qualname__, {})
    return found
