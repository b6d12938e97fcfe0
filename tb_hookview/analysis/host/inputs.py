"""Recorded inputs of operators: shapes and data types."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import msgspec

from tb_hookview.trace import StringTable

_BYTES = {
    "complexdouble": 16,
    **dict.fromkeys(("double", "long", "longint", "complexfloat"), 8),
    **dict.fromkeys(("float", "int"), 4),
    **dict.fromkeys(("half", "bfloat16", "short"), 2),
    **dict.fromkeys(("bool", "byte", "char", "unsignedchar", "signedchar"), 1),
}
"""By the name in lower case without signs. Those of 8 bits begin with float8."""


@cache
def width(dtype: str) -> int:
    """Bytes of an element; 0 for unknown.

    Operators write C++ types (`c10::BFloat16`, `long int`), collectives torch's (`BFloat16`).
    """
    name = re.sub(r"[^a-z0-9]", "", dtype.lower().removeprefix("c10::"))
    return 1 if name.startswith("float8") else _BYTES.get(name, 0)


class Input(NamedTuple):
    """One input of a call."""

    shape: list[Any]
    """`[]` for what is no tensor."""
    type: str
    """As torch writes it: "float", "c10::Half", ...; "Scalar" or "" for what is no tensor."""
    value: str
    """What is no tensor, as torch writes it: "[1, 1]", "False"; "" for unknown."""


def inputs_of_call(texts: StringTable, shapes: int, types: int, values: int = 0) -> list[Input]:
    """Inputs of a call, by the indices of its arguments in the texts; empty where damaged."""
    columns = _list(texts[shapes]), _list(texts[types])
    if any(column is None for column in columns):
        return []
    found = [
        (shape if isinstance(shape, list) else [], kind if isinstance(kind, str) else "")
        for shape, kind in zip(*columns, strict=False)  # type: ignore[arg-type]
    ]
    given = [value if isinstance(value, str) else "" for value in _list(texts[values]) or []]
    given += [""] * (len(found) - len(given))
    return [Input(*each, value) for each, value in zip(found, given, strict=False)]


def _list(text: str) -> list[Any] | None:
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return decoded if isinstance(decoded, list) else None
