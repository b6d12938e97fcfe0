"""`hookview whatif`: how long a step would take with something taken out or scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.analyze import read, step_option, worker_option
from tb_hookview.cli.terminal import output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tb_hookview.schema import WhatIf


@click.command(short_help="Predict a step with something taken out or scaled.")
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
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON instead.")
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
    """Replay the steps of the trace PATH with something changed: bounds, not promises."""
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
        f"step {format_us(step)}, replayed as {format_us(replayed)} ({error} off), "
        f"mean of {format_count(answer.steps, 'step')}"
    ]
    if changed:
        change = format_share(answer.predicted_us / replayed - 1 if replayed else None, 1)
        lines.append(
            f"with the change {format_us(answer.predicted_us)} ({change}), between "
            f"{format_us(answer.low_us)} and {format_us(answer.high_us)}: bounds, not promises"
        )
    return Group(Text("\n".join(lines) + "\n"), _paths(answer))


def _paths(answer: WhatIf) -> RenderableType:
    import msgspec

    from tb_hookview.cli.summary import table
    from tb_hookview.formats import format_us

    made = table("Critical path of a step", "", "replayed", "changed")
    before, after = answer.replayed_path, answer.critical_path
    if before is not None and after is not None:
        later = msgspec.structs.asdict(after)
        for name, time in msgspec.structs.asdict(before).items():
            made.add_row(name, format_us(time), format_us(later[name]))
    return made
