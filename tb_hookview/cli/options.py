"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

worker_option = click.option("--worker", metavar="NAME", help="The worker, if PATH has several.")
step_option = click.option(
    "--step",
    "steps",
    metavar="NAME",
    multiple=True,
    help="Only this step (ProfilerStep#5); may be repeated.",
)


def json_option(what: str = "the answer") -> Decorator:
    """Return the option `--json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")


def number_option(name: str, default: int, text: str, *, least: int = 1) -> Decorator:
    """Return an option that takes a whole number."""
    number = click.IntRange(least)
    return click.option(name, default=default, show_default=True, type=number, help=text)


def top_option(rows: int = 12) -> Decorator:
    """Return the option `--top`, with a number of rows by default."""
    return number_option("--top", rows, "Rows per table.")


module_option = click.option(
    "-m", "as_module", is_flag=True, help="SCRIPT is a module, as with python -m."
)


def script_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a script, and all that is passed to it."""
    rest = click.argument("arguments", metavar="[ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
    return click.argument("script")(rest(command))
