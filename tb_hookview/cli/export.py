"""`hookview export`: a trace and its attribution as files for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from tb_hookview.cli.analyze import step_option, worker_option
from tb_hookview.cli.terminal import progress
from tb_hookview.cli.text import printable


@click.command(short_help="Write a trace for Perfetto, or its tables as Parquet or CSV.")
@click.argument("path")
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="What to make: a file for perfetto, a folder for parquet and csv.",
)
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["perfetto", "parquet", "csv"]),
    help="By default what OUT ends in: .pftrace, .perfetto-trace, .parquet or .csv.",
)
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@worker_option
@step_option
def export(
    path: str,
    out: Path,
    wanted: str | None,
    force: bool,
    worker: str | None,
    steps: tuple[str, ...],
) -> None:
    """Write the trace PATH, or the newest one in the folder PATH, with its attribution.

    A Perfetto trace opens at https://ui.perfetto.dev. Parquet and CSV are folders with one file a
    table, and the whole report as JSON.
    """
    from tb_hookview.export import export as write

    with progress() as show:
        source = write(
            path,
            out,
            form=wanted,
            worker=worker,
            steps=steps or None,
            force=force,
            progress=show,
        )
    click.echo(printable(f"{source} -> {out}"))
