"""Write what the documentation says of the types of answers: `make schema`."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from tb_hookview.schema.describe.fields import Field, description, fields
from tb_hookview.schema.describe.json_schema import structs_of
from tb_hookview.server import openapi
from tb_hookview.tables.catalogue import CATALOGUE

DOCS = Path(__file__).resolve().parent
TYPES = structs_of([*openapi.ANSWERS, *(entry.row_type for entry in CATALOGUE.values())])
"""All types that are sent or are rows of a table, by name; docs/definitions.md defines them."""
OTHERS = "others"
"""Stands in docs/definitions.md for the types that no other part there names."""
MARKED = re.compile(r"(<!-- fields: ([\w ]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
"""A part of docs/definitions.md that is written here: the fields of some types."""


def definitions(text: str) -> str:
    """Return docs/definitions.md with the fields of the types that it names, and of all others."""
    parts = named(text)
    return MARKED.sub(lambda found: found[1] + _tables(parts[found[2]]) + found[3], text)


def named(text: str) -> dict[str, list[str]]:
    """The types of each part of docs/definitions.md, by what its mark says."""
    parts = {found[2]: found[2].split() for found in MARKED.finditer(text)}
    if OTHERS in parts:
        elsewhere = {name for names in parts.values() for name in names}
        parts[OTHERS] = sorted(
            name for name in TYPES if name not in elsewhere and _documented(TYPES[name])
        )
    return parts


def _documented(of: type[Struct]) -> list[Field]:
    """The fields that have more to say than their names."""
    return [field for field in fields(of) if field.unit or field.description]


def _tables(names: list[str]) -> str:
    return "\n" + "\n\n".join(map(_table, names)) + "\n\n"


def _table(name: str) -> str:
    rows = [_row(field) for field in _documented(TYPES[name])]
    head = [f"`{name}`: {description(TYPES[name])}", "", "| field | unit | definition |"]
    return "\n".join([*head, "| --- | --- | --- |", *rows])


def _row(field: Field) -> str:
    return f"| `{field.name}` | {field.unit or ''} | {field.description} |"


def main() -> None:
    """Write docs/openapi.json and the tables of fields in docs/definitions.md."""
    (DOCS / "openapi.json").write_bytes(openapi.write())
    path = DOCS / "definitions.md"
    path.write_text(definitions(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
