"""`hookview ranks`: all ranks of a run as one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tb_hookview.cli.terminal import output, progress

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tb_hookview.ranks.result import RunReport
    from tb_hookview.schema import Run


@click.command(short_help="Find the stragglers of a run, and why.")
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.option(
    "--top", default=12, show_default=True, type=click.IntRange(min=1), help="Rows per table."
)
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
    with progress() as show:
        run = analyze_run(path, executor, progress=show)
    if out is not None:
        _write_timeline(run, out, collective, force=force)
        return
    if as_json:
        click.echo(run.to_json())
        return
    output().print(_render(run.data, top))


def _write_timeline(run: RunReport, out: Path, collective: int | None, *, force: bool) -> None:
    from tb_hookview.export.merged import write_merged
    from tb_hookview.formats import format_us, printable

    with progress() as show:
        found = write_merged(run, out, collective=collective, force=force, progress=show)
    row = found.collective
    click.echo(
        printable(
            f"{row.name} {row.id} on {len(found.ranks)} of {row.ranks} ranks -> {out}: "
            f"they waited {format_us(row.wait_us)} for rank {row.late_rank}; "
            f"clocks known to {format_us(found.spread_us)}"
        )
    )


def _render(run: Run, top: int) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from tb_hookview.formats import printable
    from tb_hookview.ranks.lines import notes, summary_lines

    return Group(
        Text("\n".join(map(printable, [*summary_lines(run), ""]))),
        _ranks_table(run, top),
        _collectives_table(run, top),
        *(Text(printable(note), style="yellow") for note in notes(run)),
    )


def _ranks_table(run: Run, top: int) -> RenderableType:
    from tb_hookview.cli.summary import table
    from tb_hookview.formats import format_us

    shown = sorted(run.ranks, key=lambda row: row.wait_us or 0.0)[:top]
    made = table(
        f"Ranks, mean per step ({len(shown)} that wait least)",
        *("rank", "step", "compute", "communication", "exposed", "idle", "straggler wait"),
    )
    for row in sorted(shown, key=lambda row: row.rank):
        times = (
            row.step_us,
            row.compute_us,
            row.communication_us,
            row.exposed_communication_us,
            row.idle_us,
            row.wait_us,
        )
        made.add_row(str(row.rank), *map(format_us, times))
    return made


def _collectives_table(run: Run, top: int) -> RenderableType:
    from tb_hookview.cli.summary import table
    from tb_hookview.formats import format_number, format_us, printable

    shown = sorted(run.collectives, key=lambda row: -row.wait_us)[:top]
    made = table(
        "Collectives for which the ranks waited longest",
        *("collective", "step", "module", "bytes", "straggler", "transfer", "wait", "GB/s"),
        text_columns=3,
    )
    for row in shown:
        made.add_row(
            printable(row.name or "unknown"),
            printable(row.step or ""),
            printable(row.late_module if row.late_module is not None else row.late_reason or ""),
            format_number(row.bytes),
            "" if row.late_rank is None else str(row.late_rank),
            format_us(row.transfer_us),
            format_us(row.wait_us),
            "" if row.bus_gb_per_s is None else f"{row.bus_gb_per_s:.2f}",
        )
    return made
