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


def top_option(rows: int = 12) -> Decorator:
    """Return the option `--top`, with a number of rows by default."""
    return click.option(
        "--top", default=rows, show_default=True, type=click.IntRange(min=1), help="Rows per table."
    )
