"""`hookview whatif`: how long a step would take with something taken out or scaled."""

from __future__ import annotations

import click

from tb_hookview.cli.analyze import read
from tb_hookview.cli.options import json_option, step_option, worker_option
from tb_hookview.cli.terminal import print_json, show

MODULES = 12
"""Modules that the terminal lists."""


@click.command(short_help="Estimate a step with something taken out or scaled.")
@click.argument("path")
@click.option(
    "--without",
    metavar="FINDING",
    multiple=True,
    help="Take out a finding: a rule's id, or rule:where; may be repeated.",
)
@click.option(
    "--scale",
    metavar="WHAT=FACTOR",
    multiple=True,
    help="Multiply durations: of host, launches, kernels, kind:KIND, kernel:NAME, module:PATH, "
    "communication, data, kernel_loading, recomputation or syncs; may be repeated.",
)
@json_option()
@worker_option
@step_option
def whatif(
    path: str,
    without: tuple[str, ...],
    scale: tuple[str, ...],
    as_json: bool,
    worker: str | None,
    steps: tuple[str, ...],
) -> None:
    """Replay the steps of the trace PATH with something changed: an estimate by trace replay."""
    from tb_hookview.simulation.questions import parse_factors

    factors = parse_factors(scale)
    report = read(path, worker=worker, steps=steps)
    answer = report.whatif(without=without, scale=factors)
    if as_json:
        print_json(answer)
        return
    from tb_hookview.report.whatif_document import what_if_document

    show(what_if_document(report.data, answer, without, factors, MODULES))
