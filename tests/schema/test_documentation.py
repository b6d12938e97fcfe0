"""The documentation of the answers' types: made from them, and complete."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tb_hookview.schema import fields as of

DOCS = Path(__file__).resolve().parents[2] / "docs"
_spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
assert _spec is not None
assert _spec.loader is not None
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)

DEFINITIONS = (DOCS / "definitions.md").read_text(encoding="utf-8")
NAMED = [name for part in generate.MARKED.finditer(DEFINITIONS) for name in part[2].split()]


def test_the_tables_of_fields_are_those_of_the_types() -> None:
    assert generate.definitions(DEFINITIONS) == DEFINITIONS, "run: make schema"


def test_a_changed_definition_changes_the_tables() -> None:
    (text,) = (field.description for field in of.fields(generate.TYPES["Step"])[4:5])
    changed = DEFINITIONS.replace(text, "Something else.")
    assert changed != DEFINITIONS
    assert generate.definitions(changed) == DEFINITIONS


def test_each_type_has_one_table() -> None:
    with_numbers = {
        name for name, row in generate.TYPES.items() if any(f.unit for f in of.fields(row))
    }
    assert with_numbers <= set(NAMED)
    assert len(NAMED) == len(set(NAMED))


@pytest.mark.parametrize("name", sorted(generate.TYPES))
def test_numbers_have_units_and_definitions(name: str) -> None:
    for field in of.fields(generate.TYPES[name]):
        if field.name.endswith(("_us", "_pct", "_us_per_step")):
            assert field.unit is not None, field.name
        if field.unit is not None:
            assert field.description.endswith((".", '".')), field.name
            assert "|" not in field.description, field.name
