"""`hookview history`: the steps of a watched training over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.terminal import output

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from tb_hookview.schema.watched.history import Cause, History, SlowRank

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 72


@click.command(short_help="Show the steps of a watched training over time.")
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.option(
    "--top", default=12, show_default=True, type=click.IntRange(min=1), help="Rows per table."
)
def history(path: str, as_json: bool, top: int) -> None:
    """Show when and where the training watched in the folder PATH was slow."""
    import msgspec

    from tb_hookview.history.answer import read_history

    said = read_history(path)
    if as_json:
        click.echo(msgspec.json.encode(said).decode())
        return
    output().print(_render(said, top))


def _render(said: History, top: int) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from tb_hookview.formats import format_count, format_us, printable

    median = "unknown" if said.step_us is None else format_us(said.step_us)
    lines = [
        f"{printable(said.path)}: steps {said.first_step} to {said.last_step} of "
        f"{format_count(len(said.ranks), 'rank')}, {median} per step (median)",
        f"{format_count(said.slow_steps_total, 'slow step')}",
    ]
    if said.missing_ranks:
        lines.append(f"no steps of {format_count(len(said.missing_ranks), 'rank')}")
    lost = sum(rank.lost_lines for rank in said.ranks)
    if lost:
        lines.append(f"{format_count(lost, 'line')} could not be read")
    lines += [
        f"rank {row.rank} needs longer than the others: {_cause(row)}" for row in said.slow_ranks
    ]
    head = Text("\n".join(lines) + "\n")
    head.stylize("bold", 0, len(lines[0]))
    return Group(
        head, Text(_curve(said) + "\n"), _slow(said, top), _ranks(said, top), _recordings(said, top)
    )


def _curve(said: History) -> str:
    """Return the longest step of each part of the training as a row of bars."""
    values = [value or 0.0 for value in said.points.median_us]
    per_bar = -(-len(values) // _WIDTH)
    bars = [max(values[at : at + per_bar]) for at in range(0, len(values), per_bar)]
    top = max(bars) or 1.0
    return "".join(_BARS[min(8, round(8 * value / top))] for value in bars)


def _cause(row: Cause | SlowRank) -> str:
    from tb_hookview.formats import format_us, printable
    from tb_hookview.schema import module_label

    where = "" if row.block is None else f" of {printable(module_label(row.block))}"
    return f"{printable(row.part)}{where} (+{format_us(row.excess_us)} per step)"


def _slow(said: History, top: int) -> Table:
    from tb_hookview.cli.summary import table
    from tb_hookview.formats import format_us

    made = table(
        "Slow steps",
        "steps",
        "what took longer",
        "count",
        "step",
        "median",
        "excess",
        text_columns=2,
        wrapped=1,
    )
    for row in said.slow_steps[:top]:
        several = len(said.ranks) > 1
        causes = [f"{f'rank {c.rank}: ' if several else ''}{_cause(c)}" for c in row.causes[:2]]
        steps = str(row.first) if row.first == row.last else f"{row.first}-{row.last}"
        times = (row.step_us, row.median_us, row.excess_us)
        made.add_row(steps, "; ".join(causes) or "unknown", str(row.steps), *map(format_us, times))
    return made


def _ranks(said: History, top: int) -> Table:
    from tb_hookview.cli.summary import table
    from tb_hookview.formats import MISSING, format_us

    columns = ("rank", "step", "data", "forward", "backward", "after it", "optimizer", "gc")
    made = table("\nRanks, median per step", *columns)
    for row in said.ranks[:top]:
        before = (row.step_us, row.data_us, row.forward_us, row.backward_us)
        times = (*before, row.after_backward_us, row.optimizer_us, row.gc_us)
        cells = [MISSING if value is None else format_us(value) for value in times]
        made.add_row(str(row.rank), *cells)
    return made


def _recordings(said: History, top: int) -> Table:
    from tb_hookview.cli.summary import table
    from tb_hookview.formats import printable

    made = table("\nRecordings", "steps", "asked by", "file", text_columns=3)
    for row in said.recordings[-top:]:
        kept = "" if row.kept else " (removed)"
        steps = f"{row.start}-{row.start + row.steps - 1}"
        made.add_row(steps, printable(row.reason), printable(row.file) + kept)
    return made
