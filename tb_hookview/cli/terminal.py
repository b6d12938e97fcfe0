"""Standard output with colour where it is a terminal, and progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from tb_hookview.document.document import Document
    from tb_hookview.progress import Progress

PIPED_COLUMNS = 140
"""Width of tables that are written to a pipe or file, in columns."""


def output() -> Console:
    """Return the console for standard output: coloured on a terminal, plain when piped."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPED_COLUMNS
    return Console(width=width, markup=False, highlight=False, emoji=False)


def show(document: Document) -> None:
    """Print a document on standard output; lines are left whole where a program reads them."""
    from tb_hookview.document.terminal import rendered

    wraps = sys.stdout.isatty()
    output().print(rendered(document, wraps=wraps), crop=wraps)


def print_json(answer: object) -> None:
    """Print an answer as JSON on standard output."""
    import msgspec

    click.echo(msgspec.json.encode(answer).decode())


@contextmanager
def progress() -> Iterator[Progress | None]:
    """Show the reading's progress while the block runs; None without a terminal.

    The function it yields takes the name of the stage and the fraction done in it, or None.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    columns = (TextColumn("{task.description:12}"), BarColumn(), *times)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("waiting", total=None)

        def show(stage: str, done: float | None) -> None:
            bar.update(task, description=stage, total=None if done is None else 1.0, completed=done)

        yield show
