"""`hookview history`: the steps of a watched training run over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.options import json_option, top_option
from tb_hookview.cli.terminal import print_json, show

if TYPE_CHECKING:
    from tb_hookview.document.document import Document, Table
    from tb_hookview.schema.history import Cause, History, SlowRank, SlowSteps

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 72
_AT_THE_END = 10
"""The last steps, which may be recorded and so not measured."""


@click.command(short_help="Show the steps of a watched training run over time.")
@click.argument("path")
@json_option()
@top_option()
def history(path: str, as_json: bool, top: int) -> None:
    """Show when and where the training watched in the folder PATH was slow."""
    from tb_hookview.history.answer import read_history

    said = read_history(path)
    if as_json:
        print_json(said)
        return
    show(_document(said, top))


def _document(said: History, top: int) -> Document:
    from tb_hookview.document.document import Document, Lines

    parts = (
        Lines(_lines(said), bold=0),
        Lines([_curve(said)]),
        _slow(said).cut(top),
        Lines(_nearest(said, top)),
        _ranks(said).cut(top),
        _recordings(said, top),
    )
    return Document("Steps of a watched training run", parts)


def _lines(said: History) -> list[str]:
    from tb_hookview.formats import format_count, format_us

    median = "unknown" if said.step_us is None else format_us(said.step_us)
    lines = [
        f"{said.path}: steps {said.first_step} to {said.last_step} of "
        f"{format_count(len(said.ranks), 'rank')}, {median} per step (median)",
        f"{format_count(said.slow_steps_total, 'slow step')}",
    ]
    if said.missing_ranks:
        lines.append(f"no steps of {format_count(len(said.missing_ranks), 'rank')}")
    lost = sum(rank.lost_lines for rank in said.ranks)
    if lost:
        lines.append(f"{format_count(lost, 'line')} could not be read")
    steps = sum(rank.steps for rank in said.ranks)
    phases = sum(rank.phase_steps for rank in said.ranks)
    blocks = sum(rank.block_steps for rank in said.ranks)
    if phases < steps:
        lines.append(
            f"forward, backward and optimizer were timed in {phases / steps:.0%} of the steps"
        )
    if 0 < blocks < steps:
        lines.append(f"blocks were timed in {blocks / steps:.0%} of the steps")
    slow = said.slow_ranks
    return [
        *lines,
        *(f"rank {row.rank} needs longer than the others: {_cause(row)}" for row in slow),
    ]


def _curve(said: History) -> str:
    """Return the longest of the median steps of each part of the training as a row of bars."""
    values = [value or 0.0 for value in said.points.median_us]
    per_bar = -(-len(values) // _WIDTH)
    bars = [max(values[at : at + per_bar]) for at in range(0, len(values), per_bar)]
    top = max(bars) or 1.0
    return "".join(_BARS[min(8, round(8 * value / top))] for value in bars)


def _cause(row: Cause | SlowRank) -> str:
    from tb_hookview.formats import format_us
    from tb_hookview.schema import module_label

    where = "" if row.block is None else f" of {module_label(row.block)}"
    return f"{row.part}{where} (+{format_us(row.excess_us)} per step)"


def _slow(said: History) -> Table:
    from tb_hookview.document.document import Row, Table
    from tb_hookview.formats import format_us

    rows: list[Row] = []
    for row in said.slow_steps:
        several = len(said.ranks) > 1
        causes = [f"{f'rank {c.rank}: ' if several else ''}{_cause(c)}" for c in row.causes[:2]]
        longer = f"{format_us(row.step_us)} (+{row.step_us / max(row.median_us, 1e-9) - 1:.0%})"
        times = (longer, format_us(row.median_us), format_us(row.excess_us))
        rows.append((_when(row, said), "; ".join(causes) or "unknown", str(row.steps), *times))
    columns = ("steps", "what took longer", "count", "step", "median", "excess")
    return Table("Slow steps", columns, rows, names=2, wrapped=1)


def _nearest(said: History, top: int) -> list[str]:
    """Return the paths of the recordings that are nearest to the slow steps."""
    nearest: dict[int | None, list[str]] = {}
    for row in said.slow_steps[:top]:
        nearest.setdefault(row.recording_id, []).append(_steps(row.first, row.last))
    return [
        f"recording nearest to {', '.join(nearest[each.id])}: {said.path.rstrip('/')}/{each.file}"
        for each in said.recordings
        if each.id in nearest
    ]


def _when(row: SlowSteps, said: History) -> str:
    """Return the slow steps; since when, where they lasted to the end."""
    if row.lasting and row.last > said.last_step - _AT_THE_END:
        return f"since {row.first}"
    return _steps(row.first, row.last)


def _steps(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _ranks(said: History) -> Table:
    from tb_hookview.document.document import Row, Table
    from tb_hookview.formats import format_us

    rows: list[Row] = []
    for row in said.ranks:
        before = (row.step_us, row.data_us, row.forward_us, row.backward_us)
        after = (row.after_backward_us, row.optimizer_us, row.gc_us)
        rows.append((str(row.rank), *map(format_us, (*before, *after))))
    columns = ("rank", "step", "data", "forward", "backward", "after backward", "optimizer", "gc")
    return Table("Ranks, median per step", columns, rows)


def _recordings(said: History, top: int) -> Table:
    from tb_hookview.document.document import Row, Table

    rows: list[Row] = []
    for row in said.recordings[-top:]:
        kept = "" if row.kept else " (removed)"
        steps = _steps(row.start, row.start + row.steps - 1)
        rows.append((steps, row.reason, f"{row.file}{kept}"))
    return Table("Recordings", ("steps", "asked by", "file"), rows, names=3)
