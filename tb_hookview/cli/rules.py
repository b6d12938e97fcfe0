"""`hookview rules`: which causes of lost time a trace is checked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.options import json_option
from tb_hookview.cli.terminal import output, print_json
from tb_hookview.errors import NotFoundError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tb_hookview.rules.engine.rule import Rule


@click.command(short_help="List the rules of findings.")
@click.argument("rule_id", metavar="[ID]", required=False)
@json_option("the rules")
def rules(rule_id: str | None, as_json: bool) -> None:
    """List all rules, or print the rule ID."""
    from tb_hookview.rules.catalogue import RULES

    chosen = [rule for rule in RULES if rule_id in (None, rule.id)]
    if not chosen:
        raise NotFoundError(f"no rule {rule_id!r}; `hookview rules` lists them")
    if as_json:
        print_json([rule.described() for rule in chosen])
    elif rule_id is None:
        output().print(_listed(chosen))
    else:
        output().print(_in_full(chosen[0]))


def _listed(rules: list[Rule]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    families = list(dict.fromkeys(rule.family for rule in rules))
    parts: list[RenderableType] = []
    for family in families:
        members = [rule for rule in rules if rule.family == family]
        parts.append(Text(f"{family}\n", style="bold underline"))
        for rule in members:
            parts += [_described(rule), Text()]
    return Group(*parts, Text(f"{len(rules)} rules in {len(families)} families"))


def _described(rule: Rule) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    sentences = Table.grid("", "", padding=(0, 2))
    sentences.add_row("matches", rule.description)
    sentences.add_row("fix", rule.fix)
    sentences.add_row("reference", rule.reference)
    if not rule.visible:
        sentences.add_row("", "No trace shows this: it appears as advice under other findings.")
    if rule.advice:
        sentences.add_row("advice", ", ".join(rule.advice))
    title = Text.assemble((rule.id, "bold"), f"  {rule.title}")
    return Group(title, Padding(sentences, (0, 0, 0, 2)))


def _in_full(rule: Rule) -> RenderableType:
    from rich.console import Group

    sure = f"  family     {rule.family}, confidence {rule.confidence}"
    return Group(_described(rule), sure)
