"""Types as names, units and definitions, and as JSON Schema."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
import typing
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from tb_hookview.schema.terms import UNIT


@cache
def docstrings(module: str) -> dict[str, dict[str, str]]:
    """By class and field; none where Python runs without the sources."""
    try:
        source = inspect.getsource(sys.modules[module])
    except OSError:
        return {}
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    return {node.name: dict(_documented(node.body)) for node in classes}


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, text in itertools.pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            yield field.target.id, " ".join(text.value.value.split())


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
