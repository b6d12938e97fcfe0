"""`hookview ranks`: all ranks of a run as one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tb_hookview.cli.options import json_option, top_option
from tb_hookview.cli.terminal import progress, show

if TYPE_CHECKING:
    from tb_hookview.ranks.result import RunReport


@click.command(short_help="Find the stragglers of a run, and why.")
@click.argument("path")
@json_option()
@top_option()
@click.option(
    "--executor",
    metavar="WHICH",
    help="What reads the traces: processes:N, dask, dask:ADDRESS or mpi.",
)
@click.option(
    "--timeline",
    "out",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Write one collective on all ranks as a trace for Perfetto: .json or .json.gz.",
)
@click.option(
    "--collective",
    type=int,
    metavar="ID",
    help="Collective to write; by default the one with the longest wait.",
)
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
def ranks(
    path: str,
    as_json: bool,
    top: int,
    executor: str | None,
    out: Path | None,
    collective: int | None,
    force: bool,
) -> None:
    """Read the traces of all ranks in the folder PATH, and find the stragglers."""
    from tb_hookview.ranks.run import analyze_run

    if out is None and (collective is not None or force):
        raise click.UsageError("--collective and --force are of --timeline")
    with progress() as said:
        run = analyze_run(path, executor, progress=said)
    if out is not None:
        _write_timeline(run, out, collective, force=force)
        return
    if as_json:
        click.echo(run.to_json())
        return
    from tb_hookview.ranks.document import run_document

    show(run_document(run.data, top))


def _write_timeline(run: RunReport, out: Path, collective: int | None, *, force: bool) -> None:
    from tb_hookview.export.merged import write_merged
    from tb_hookview.formats import format_us, printable

    with progress() as said:
        found = write_merged(run, out, collective=collective, force=force, progress=said)
    row = found.collective
    click.echo(
        printable(
            f"{row.name} {row.id} on {len(found.ranks)} of {row.ranks} ranks -> {out}: "
            f"they waited {format_us(row.wait_us)} for rank {row.late_rank}; "
            f"clocks known to {format_us(found.spread_us)}"
        )
    )
