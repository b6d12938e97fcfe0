"""`hookview record`: asks a training that is watched to record."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.step_log import REQUEST


@click.command(short_help="Ask a watched training run to record.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--steps", type=click.IntRange(1), help="Steps to record.  [default: those of hookview.watch]"
)
@click.option(
    "--rank",
    "ranks",
    type=click.IntRange(0),
    multiple=True,
    help="Rank that records; may be repeated.  [default: all]",
)
def record(path: Path, steps: int | None, ranks: tuple[int, ...]) -> None:
    """Ask the training watched in the folder PATH (hookview.watch) to record."""
    from tb_hookview.history.files import has_steps

    if not path.is_dir() or not has_steps(str(path)):
        raise NotFoundError(
            f"{path}: no steps of a watched training run in it; name the folder that was given to "
            "hookview.watch"
        )
    request: dict[str, object] = {"steps": steps, "ranks": list(ranks)}
    partial = path / f".{REQUEST}.{os.getpid()}.partial"
    try:
        partial.write_text(json.dumps({key: value for key, value in request.items() if value}))
        partial.replace(path / REQUEST)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written to ({error.strerror})") from None
    click.echo("asked; the recording appears in the folder once its steps have run", err=True)
