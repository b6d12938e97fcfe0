"""`hookview export`: a trace and its attribution as files for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from tb_hookview.cli.options import step_option, worker_option
from tb_hookview.cli.terminal import progress
from tb_hookview.formats import printable


@click.command(
    short_help="Write a trace for Perfetto, or its tables as Parquet, CSV, JSON or Arrow."
)
@click.argument("path")
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Output: a Perfetto trace, the file of one table, or a folder of tables.",
)
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["perfetto", "parquet", "csv", "json", "arrow"]),
    help="By default from the end of OUT: .pftrace, .parquet, .csv, .json or .arrow.",
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME",
    help="A table, such as syncs or device_events; may be repeated. All by default.",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@worker_option
@step_option
def export(
    path: str,
    out: Path,
    wanted: str | None,
    tables: tuple[str, ...],
    force: bool,
    worker: str | None,
    steps: tuple[str, ...],
) -> None:
    """Write the trace PATH, or the newest one in the folder PATH, with its attribution.

    A Perfetto trace opens at https://ui.perfetto.dev. With one --table, OUT is a file that
    pandas and other tools read; else, with --format, a folder with one file per table, and the
    report as JSON.
    """
    from tb_hookview.export import export as write

    with progress() as show:
        source = write(
            path,
            out,
            form=wanted,
            tables=tables or None,
            worker=worker,
            steps=steps or None,
            force=force,
            progress=show,
        )
    click.echo(printable(f"{source} -> {out}"))
