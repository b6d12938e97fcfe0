"""Write what the documentation says of the types of answers: `make schema`."""

from __future__ import annotations

import re
from pathlib import Path

from tb_hookview.schema import ReportData
from tb_hookview.schema.comparison import Compared
from tb_hookview.schema.fields import Field, description, fields
from tb_hookview.schema.json_schema import structs_of
from tb_hookview.schema.module import ModuleDetail
from tb_hookview.schema.timeline import WindowStatistics
from tb_hookview.server import openapi

DOCS = Path(__file__).resolve().parent
TYPES = structs_of([ReportData, ModuleDetail, WindowStatistics, Compared])
"""The types whose fields docs/definitions.md defines, by name."""
MARKED = re.compile(r"(<!-- fields: ([\w ]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
"""A part of docs/definitions.md that is written here: the fields of some types."""


def definitions(text: str) -> str:
    """Return docs/definitions.md with the fields of the types that it names."""
    return MARKED.sub(lambda found: found[1] + _tables(found[2].split()) + found[3], text)


def _tables(names: list[str]) -> str:
    return "\n" + "\n\n".join(map(_table, names)) + "\n\n"


def _table(name: str) -> str:
    rows = [_row(field) for field in fields(TYPES[name]) if field.unit or field.description]
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
