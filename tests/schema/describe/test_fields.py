"""What a type says of its fields: names in JSON, types, units, definitions."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.describe import Field, description, fields
from tb_hookview.schema.terms import Count, Us


class Base(Struct, rename={"kind_": "kind"}):
    """A type
    on two lines.

    More of it.
    """

    kind_: str
    """What it is,
    in two lines."""
    spent: Us | None
    parts: dict[str, list[Us]]


class Derived(Base):
    """It inherits."""

    count: Count = 0
    """How many."""


def test_fields_have_the_keys_types_units_and_docstrings_of_the_class() -> None:
    assert fields(Base) == (
        Field("kind", str, None, "What it is, in two lines."),
        Field("spent", float | None, "us", ""),
        Field("parts", dict[str, list[float]], "us", ""),
    )


def test_fields_of_the_base_come_first() -> None:
    assert fields(Derived) == (*fields(Base), Field("count", int, "count", "How many."))


def test_a_type_is_described_by_its_docstring() -> None:
    assert description(Base) == "A type on two lines. More of it."
