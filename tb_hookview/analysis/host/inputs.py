"""Shapes, types and values of operators' inputs, where the trace was recorded with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from tb_hookview.trace import StringTable


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
