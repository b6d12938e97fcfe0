"""`hookview analyze`: what one trace says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.options import json_option, step_option, worker_option
from tb_hookview.cli.terminal import progress, show

if TYPE_CHECKING:
    from tb_hookview.report.result import Report


@click.command(short_help="Summarize a trace.")
@click.argument("path")
@json_option("the whole report")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Output format; markdown is limited in length, for programs that read text.",
)
@worker_option
@step_option
@click.option(
    *("--top", "--limit", "top"),
    default=12,
    show_default=True,
    type=click.IntRange(min=1),
    help="Rows per table, with --verbose or as markdown.",
)
@click.option("--verbose", is_flag=True, help="Print every table.")
def analyze(
    path: str,
    as_json: bool,
    form: str,
    worker: str | None,
    steps: tuple[str, ...],
    top: int,
    verbose: bool,
) -> None:
    """Summarize the trace PATH, or the newest one in the folder PATH."""
    as_json = as_json or form == "json"
    if form == "text" and not as_json:
        _say_which(path, worker)
    report = read(path, worker=worker, steps=steps)
    if as_json:
        click.echo(report.to_json())
        return
    if form == "markdown":
        from tb_hookview.document.markdown import bounded

        click.echo(bounded(report.summary, top))
        return
    show(report.summary(top) if verbose else report.brief("--verbose shows all"))


def _say_which(path: str, worker: str | None) -> None:
    """Name the trace that is taken of a folder, before it is read."""
    from tb_hookview.addresses.text import shown
    from tb_hookview.loading.choose import choose_trace

    if not path:
        return
    chosen = choose_trace(path, worker)
    if others := sum(warning.count for warning in chosen.warnings):
        newest = f"{chosen.file.address}, the newest of {others + 1} traces in {shown(path)}"
        click.echo(f"Reading {newest}")


def read(path: str, *, worker: str | None = None, steps: tuple[str, ...] = ()) -> Report:
    """Analyze a trace with progress shown on a terminal.

    Raises:
        TraceError: the path cannot be read as a trace.
        NotFoundError: the trace has no such worker or step.
    """
    from tb_hookview.loading import analyze

    with progress() as show:
        return analyze(path, worker=worker, steps=steps or None, progress=show)
