"""`hookview diff`: what changed between two traces, or two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.analyze import read
from tb_hookview.cli.options import json_option, step_option, top_option, worker_option
from tb_hookview.cli.terminal import print_json, progress, show
from tb_hookview.errors import UsageError

if TYPE_CHECKING:
    from tb_hookview.schema import Comparison, RunComparison


@click.command(short_help="Compare two traces, module by module.")
@click.argument("base")
@click.argument("other")
@json_option("the whole comparison")
@click.option("--ranks", "as_runs", is_flag=True, help="Compare all ranks of two runs.")
@worker_option
@step_option
@top_option(20)
def diff(
    base: str,
    other: str,
    as_json: bool,
    as_runs: bool,
    worker: str | None,
    steps: tuple[str, ...],
    top: int,
) -> None:
    """Compare the trace OTHER with the trace BASE, module by module, per step.

    With --ranks both are folders of runs, compared rank by rank and collective by collective.
    """
    if as_runs and (worker or steps):
        raise UsageError("--ranks compares whole runs; leave out --worker and --step")
    comparison = _runs(base, other) if as_runs else _traces(base, other, worker, steps)
    if as_json:
        print_json(comparison)
        return
    from tb_hookview.comparison.document import comparison_document, runs_document
    from tb_hookview.schema import RunComparison

    if isinstance(comparison, RunComparison):
        show(runs_document(comparison, top))
    else:
        show(comparison_document(comparison, top))


def _traces(base: str, other: str, worker: str | None, steps: tuple[str, ...]) -> Comparison:
    reports = [read(path, worker=worker, steps=steps).counted.data for path in (base, other)]
    from tb_hookview.comparison.compare import compare

    return compare(*reports)


def _runs(base: str, other: str) -> RunComparison:
    from tb_hookview.comparison.runs import compare_runs
    from tb_hookview.ranks.run import analyze_run

    with progress() as said:
        return compare_runs(*(analyze_run(path, progress=said).data for path in (base, other)))
