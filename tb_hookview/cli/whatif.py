"""`hookview whatif`: how long a step would take with something taken out or scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.analyze import read, step_option, worker_option
from tb_hookview.cli.terminal import output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tb_hookview.schema import WhatIf

MODULES = 12
"""Modules that the terminal lists."""
_COLUMNS = ("on the path", "slack")


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
    "communication, data, recomputation or syncs; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
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
    answer = read(path, worker=worker, steps=steps).whatif(without=without, scale=factors)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(answer).decode())
        return
    output().print(_render(answer, changed=bool(without or scale)))


def _render(answer: WhatIf, *, changed: bool) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from tb_hookview.formats import format_count, format_share, format_us

    if answer.refused is not None or answer.predicted_us is None:
        return Text(f"not replayed: {answer.refused}")
    step, replayed = answer.step_us or 0.0, answer.replayed_us or 0.0
    error = format_share(replayed / step - 1 if step else None, 1)
    lines = [
        f"step {format_us(step)} until its device events end, "
        f"replayed as {format_us(replayed)} ({error} off), "
        f"mean of {format_count(answer.steps, 'step')}"
    ]
    if changed:
        change = format_share(answer.predicted_us / replayed - 1 if replayed else None, 1)
        lines.append(
            f"with the change {format_us(answer.predicted_us)} ({change}), between "
            f"{format_us(answer.low_us)} and {format_us(answer.high_us)}: estimates by trace replay"
        )
    if answer.unrecorded_us is not None:
        then = f", {format_us(answer.unrecorded_predicted_us)} with the change" if changed else ""
        lines.append(
            f"without the cost of recording, by estimate: {format_us(answer.unrecorded_us)}{then}"
        )
    tables = [_paths(answer), Text(), _modules(answer), Text(), _kinds(answer)]
    return Group(Text("\n".join(lines) + "\n"), *tables)


def _paths(answer: WhatIf) -> RenderableType:
    import msgspec

    from tb_hookview.cli.summary import table
    from tb_hookview.formats import format_us

    made = table("Critical path per step", "", "replayed", "changed")
    before, after = answer.replayed_path, answer.critical_path
    if before is not None and after is not None:
        later = msgspec.structs.asdict(after)
        for name, time in msgspec.structs.asdict(before).items():
            made.add_row(name, format_us(time), format_us(later[name]))
    return made


def _modules(answer: WhatIf) -> RenderableType:
    """Modules on the path, then those off it with the least slack."""
    import msgspec
    from rich.console import Group
    from rich.text import Text

    from tb_hookview.cli.summary import table
    from tb_hookview.formats import format_number, format_us, printable
    from tb_hookview.schema import module_label

    made = table("Modules on the critical path, and the slack of the others", "", *_COLUMNS)
    modules = answer.path_modules or []
    for row in modules[:MODULES]:
        name = "not in a module" if row.module is None else module_label(row.module)
        time = sum(msgspec.structs.asdict(row.path).values())
        made.add_row(Text(printable(name)), format_us(time), format_us(row.slack_us))
    more = max(len(modules) - MODULES, 0) + (answer.path_modules_left_out or 0)
    hidden = f"{format_number(more)} more; all are in the table critical_path_modules"
    return Group(made, Text(hidden, style="dim")) if more else made


def _kinds(answer: WhatIf) -> RenderableType:
    from tb_hookview.cli.summary import table
    from tb_hookview.formats import format_us

    made = table("Kinds of device events", "", "per step", *_COLUMNS)
    for row in answer.path_kinds or []:
        times = row.device_us, row.path_us, row.slack_us
        made.add_row(row.kind, *map(format_us, times))
    return made
