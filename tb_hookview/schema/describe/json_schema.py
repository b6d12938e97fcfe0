"""Types as JSON Schema, with the units and definitions of their fields."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from tb_hookview.schema.describe.fields import description, fields

Types = Iterable[Any]
Schema = dict[str, Any]


def described(types: Types, ref_template: str) -> tuple[list[Schema], dict[str, Schema]]:
    """The schemas of some types and of all structs in them, by name."""
    types = list(types)
    schemas, components = msgspec.json.schema_components(types, ref_template=ref_template)
    structs = structs_of(types)
    whole = {name: _whole(components[name], structs[name]) for name in sorted(components)}
    return list(schemas), whole


def structs_of(types: Types) -> dict[str, type[msgspec.Struct]]:
    """The structs that some types are made of, by name."""
    found: dict[str, type[msgspec.Struct]] = {}
    pending = [struct for of in types for struct in _structs_in(of)]
    while pending:
        struct = pending.pop()
        if struct.__name__ not in found:
            found[struct.__name__] = struct
            pending += [inner for field in fields(struct) for inner in _structs_in(field.type)]
    return found


def _structs_in(annotation: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _structs_in(part)


def _whole(schema: Schema, of: type[msgspec.Struct]) -> Schema:
    """The schema of an answer, which has all of its fields always, and no others."""
    properties = {
        field.name: _with_text(schema["properties"][field.name], field.description)
        for field in fields(of)
    }
    return schema | {
        "description": description(of),
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _with_text(schema: Schema, text: str) -> Schema:
    schema = {key: value for key, value in schema.items() if key != "default"}
    return schema | {"description": text} if text else schema
