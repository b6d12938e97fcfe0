"""The documentation of the answers' types: made from them, and complete."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import msgspec
import pytest

from tb_hookview.schema.describe import fields
from tb_hookview.server import routes as api
from tb_hookview.tables.catalogue import CATALOGUE

DOCS = Path(__file__).resolve().parents[2] / "docs"
_spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
assert _spec is not None
assert _spec.loader is not None
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)

DEFINITIONS = (DOCS / "reference" / "definitions.md").read_text(encoding="utf-8")
NAMED = [name for part in generate.named(DEFINITIONS).values() for name in part]


def test_the_tables_of_fields_are_those_of_the_types() -> None:
    assert generate.definitions(DEFINITIONS) == DEFINITIONS, "run: make schema"


def test_the_rules_are_those_of_the_catalogue() -> None:
    assert generate.findings() == (DOCS / "reference" / "findings.md").read_text(), (
        "run: make schema"
    )


def test_a_changed_definition_changes_the_tables() -> None:
    (text,) = (field.description for field in fields(generate.TYPES["Step"])[4:5])
    changed = DEFINITIONS.replace(text, "Something else.")
    assert changed != DEFINITIONS
    assert generate.definitions(changed) == DEFINITIONS


def test_each_type_has_one_table() -> None:
    defined = {
        name
        for name, row in generate.TYPES.items()
        if any(field.unit or field.description for field in fields(row))
    }
    assert defined <= set(NAMED)
    assert len(NAMED) == len(set(NAMED))


def test_a_type_that_no_part_names_is_among_the_others() -> None:
    without = DEFINITIONS.replace("fields: Finding -->", "fields: Advice -->")
    assert "Finding" not in generate.named(DEFINITIONS)[generate.OTHERS]
    assert "Finding" in generate.named(without)[generate.OTHERS]


def test_every_answer_and_every_row_of_a_table_is_among_the_types() -> None:
    routes = [route.answer for route in api.ROUTES if isinstance(route.answer, type)]
    rows = [entry.row_type for entry in CATALOGUE.values()]
    sent = {of.__name__ for of in (*routes, *rows) if issubclass(of, msgspec.Struct)}
    assert {"TimelineOverview", "Runs", "Gap"} <= sent <= set(generate.TYPES)


@pytest.mark.parametrize("name", sorted(generate.TYPES))
def test_numbers_have_units_and_definitions(name: str) -> None:
    for field in fields(generate.TYPES[name]):
        if field.name.endswith(("_us", "_pct", "_us_per_step")):
            assert field.unit is not None, field.name
        if field.unit is not None:
            assert field.description.endswith((".", '".')), field.name
            assert "|" not in field.description, field.name
