"""Write what the documentation says of the types of answers: `make schema`."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.rule import Rule
from tb_hookview.schema.describe import Field, description, fields, structs_of
from tb_hookview.server import openapi
from tb_hookview.server.routes import ANSWERS
from tb_hookview.tables.catalogue import CATALOGUE

DOCS = Path(__file__).resolve().parent
REFERENCE = DOCS / "reference"
TYPES = structs_of([*ANSWERS, *(entry.row_type for entry in CATALOGUE.values())])
"""All types that are sent or are rows of a table, by name; definitions.md defines them."""
OTHERS = "others"
"""Stands in definitions.md for the types that no other part there names."""
MARKED = re.compile(r"(<!-- fields: ([\w ]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
"""A part of definitions.md that is written here: the fields of some types."""


def definitions(text: str) -> str:
    """Return definitions.md with the fields of the types that it names, and of all others."""
    parts = named(text)
    return MARKED.sub(lambda found: found[1] + _tables(parts[found[2]]) + found[3], text)


def named(text: str) -> dict[str, list[str]]:
    """The types of each part of definitions.md, by what its mark says."""
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


FINDINGS = """# Every finding

What each rule looks for, its fix and a reference, as `hookview rules` prints them.
[`claims.md`](../explanation/claims.md) says what a finding claims,
[`rules.md`](../../benchmarks/results/rules.md) which rules fire on which real trace, and
[`tuning.md`](../how-to/tuning.md) leads from a slow step to the rules that can explain it.
"""
"""The head of findings.md, which is written here."""


def findings() -> str:
    """Return findings.md: all rules by family, each under a heading of its own."""
    families = dict.fromkeys(rule.family for rule in RULES)
    return "\n".join([FINDINGS, *(_family(family) for family in families)])


def _family(family: str) -> str:
    of_it = [rule for rule in RULES if rule.family == family]
    return f"## {family}\n\n" + "\n".join(map(_rule, of_it))


def _rule(rule: Rule) -> str:
    title, looks, fix, reference = map(
        _escaped, (rule.title, rule.description, rule.fix, rule.reference)
    )
    lines = [f"**{title}.** {looks}", f"Fix: {fix}"]
    lines.append(f"Reference: {reference}. Confidence: {rule.confidence}.")
    if rule.advice:
        lines.append("See also: " + ", ".join(f"[{name}](#{name})" for name in rule.advice) + ".")
    return "\n\n".join([f"### {rule.id}", *lines]) + "\n"


def _escaped(text: str) -> str:
    """Markdown in which nothing of a text is markup, but for what it quotes as code."""
    return re.sub(r"(`[^`]*`)|([_*<>|])", lambda found: found[1] or f"\\{found[2]}", text)


def main() -> None:
    """Write openapi.json, findings.md and the tables of fields in definitions.md."""
    (REFERENCE / "findings.md").write_text(findings(), encoding="utf-8")
    (DOCS / "openapi.json").write_bytes(openapi.write())
    path = REFERENCE / "definitions.md"
    path.write_text(definitions(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
