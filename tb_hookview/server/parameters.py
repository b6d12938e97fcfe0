"""Parameters of queries: each with its type and bounds, by which it is checked and described."""

from __future__ import annotations

from typing import Any, NamedTuple

from werkzeug.datastructures import MultiDict

from tb_hookview.errors import UsageError

LONGEST_US = 5e15
"""The latest time (158 years) that a query may have."""
_DIGITS = 16
"""Of a whole number: what JavaScript's numbers hold exactly."""


_HINTS = {"integer": "NUMBER", "number": "MICROSECONDS", "string": "NAME"}


class Parameter(NamedTuple):
    """One parameter of a query."""

    name: str
    means: str
    schema: dict[str, Any]
    """As JSON Schema."""
    required: bool = False
    default: Any = None
    """Without the parameter."""

    def of(self, query: MultiDict[str, str]) -> Any:
        """Its value in a query: of an array a list, else the first one.

        Raises:
            UsageError: it is required and missing, of another type, or out of its bounds.
        """
        texts = query.getlist(self.name)
        if self.schema.get("type") == "array":
            return self._listed(texts)
        if texts:
            return self._value(texts[0], self.schema)
        if self.required:
            raise self._missing()
        return self.default

    def _listed(self, texts: list[str]) -> list[Any]:
        if len(texts) < self.schema.get("minItems", 0):
            raise self._missing()
        if len(texts) > (most := self.schema.get("maxItems", len(texts))):
            raise UsageError(f"{self.name}=: no more than {most:,} at a time")
        return [self._value(text, self.schema["items"]) for text in texts]

    def _value(self, text: str, schema: dict[str, Any]) -> Any:
        if "enum" in schema:
            if text not in schema["enum"]:
                raise self._wrong(text, f"one of {', '.join(schema['enum'])}")
            return text
        if schema["type"] == "integer":
            whole = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
            if not (whole and schema["minimum"] <= int(text) <= schema["maximum"]):
                least, most = schema["minimum"], schema["maximum"]
                raise self._wrong(text, f"a whole number from {least:,} to {most:,}")
            return int(text)
        if schema["type"] == "number":
            return self._number(text, schema)
        return self._text(text, schema)

    def _number(self, text: str, schema: dict[str, Any]) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not schema["minimum"] <= value <= schema["maximum"]:
            raise self._wrong(text, f"a number from {schema['minimum']:g} to {schema['maximum']:g}")
        return value

    def _text(self, text: str, schema: dict[str, Any]) -> str:
        if len(text) < schema.get("minLength", 0):
            raise self._missing()
        if len(text) > (most := schema.get("maxLength", len(text))):
            raise UsageError(f"{self.name}= has {len(text):,} characters; at most {most:,}")
        return text

    def _missing(self) -> UsageError:
        hint = _HINTS.get(self.schema.get("type", ""), "NAME")
        if "maxLength" in self.schema:
            hint = f"TEXT of at most {self.schema['maxLength']:,} characters"
        return UsageError(f"the query needs {self.name}={hint}, {self.means}")

    def _wrong(self, text: str, what: str) -> UsageError:
        return UsageError(f"{self.name}={text[:50]}: not {what}")


TEXT = {"type": "string"}
NAME = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT}
TIME = {"type": "number", "minimum": -LONGEST_US, "maximum": LONGEST_US}


def whole(least: int, most: int) -> dict[str, Any]:
    """A whole number between bounds."""
    return {"type": "integer", "minimum": least, "maximum": most}


def text_up_to(most: int) -> dict[str, Any]:
    """A text that is not empty."""
    return {**NAME, "maxLength": most}


def span(start: float | None, end: float | None) -> tuple[int, int] | None:
    """`start` and `end` of a query in nanoseconds; None without either.

    Raises:
        UsageError: one is missing, or the end is not after the start.
    """
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise UsageError("the query needs start=MICROSECONDS and end=MICROSECONDS together")
    first, last = round(start * 1000), round(end * 1000)
    if last <= first:
        raise UsageError("end= must be later than start=, by a nanosecond (0.001) at least")
    return first, last
