"""`hookview sql`: questions in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.analyze import read
from tb_hookview.cli.options import worker_option
from tb_hookview.cli.terminal import output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tb_hookview.sql import Result

SHOWN = 100
"""Rows that the terminal lists."""


@click.command(short_help="Query a trace in SQL.")
@click.argument("path")
@click.argument("query")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@worker_option
def sql(path: str, query: str, form: str, worker: str | None) -> None:
    """Answer QUERY about the trace PATH, or about all traces of the run in the folder PATH.

    Tables are those of `hookview export --table`; `SHOW TABLES` and `DESCRIBE modules` list them
    and their columns. Of a run each row names its worker. A query that names a table of a watched
    training (watched_steps, watched_blocks, ...) is about the steps in the folder PATH.
    """
    answer = _ask(path, query, worker)
    if form == "table":
        output().print(_render(answer))
        return
    click.echo(answer.to_json() if form == "json" else answer.to_csv(), nl=form == "json")
    if answer.more:
        click.echo(f"only the first {len(answer):,} rows", err=True)


def _ask(path: str, query: str, worker: str | None) -> Result:
    from tb_hookview.history.tables import TABLES, query_watched
    from tb_hookview.ranks.run import run_files

    if worker is None and any(name in query for name in TABLES):
        return query_watched(path, query)
    if path and worker is None and len(run_files(path).traces) > 1:
        from tb_hookview.ranks.run import query_run

        return query_run(path, query)
    return read(path, worker=worker).sql(query)


def _render(answer: Result) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from tb_hookview.formats import format_count, printable

    table = Table(box=None, pad_edge=False)
    for name, kind in answer.columns.items():
        number = kind.startswith(("int", "uint", "double", "float", "decimal"))
        table.add_column(Text(printable(name)), justify="right" if number else "left")
    for row in answer[:SHOWN]:
        table.add_row(*(Text(printable(_written(value))) for value in row))
    said = format_count(len(answer), "row")
    if len(answer) > SHOWN:
        said += f", {SHOWN} shown; --format csv or json for all"
    return Group(table, Text(said + (", more left out" if answer.more else ""), style="dim"))


def _written(value: object) -> str:
    from tb_hookview.tables.outlets.files import cell

    if isinstance(value, str):
        return value
    return cell(round(value, 6) if isinstance(value, float) else value)
