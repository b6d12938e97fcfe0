"""What changed between two runs of many ranks, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_hookview.cli.summary import table
from tb_hookview.formats import format_change, format_number, format_us, printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tb_hookview.schema import RankTimes, RunComparison

_TIMES = {
    "step": "step_us",
    "compute": "compute_us",
    "communication": "communication_us",
    "exposed": "exposed_communication_us",
    "idle": "idle_us",
    "straggler wait": "wait_us",
}


def render(comparison: RunComparison, rows: int) -> RenderableType:
    """Lines on stragglers, and tables of means, ranks and collectives."""
    from rich.console import Group
    from rich.text import Text

    return Group(
        Text("\n".join(map(printable, _lines(comparison)))),
        _means(comparison.mean),
        _ranks(comparison, rows),
        _collectives(comparison, rows),
    )


def _lines(comparison: RunComparison) -> list[str]:
    sides = (("base: ", comparison.base), ("other:", comparison.other))
    lines = [f"{name} {side.path} ({side.ranks} ranks)" for name, side in sides]
    lines += [f"rank {rank} is a straggler in the other alone" for rank in comparison.late]
    lines += [f"rank {rank} is no straggler any more" for rank in comparison.no_longer_late]
    return lines


def _means(mean: RankTimes) -> RenderableType:
    made = table("A step, mean of the ranks", "", "base", "other", "change")
    for name, field in _TIMES.items():
        pair = getattr(mean, field)
        made.add_row(name, format_us(pair.base), format_us(pair.other), format_change(pair.change))
    return made


def _ranks(comparison: RunComparison, rows: int) -> RenderableType:
    title = "Ranks by change of their self time (the step less the waits)"
    made = table(title, "rank", "", *_TIMES, text_columns=2)
    for row in comparison.ranks[:rows]:
        changes = (getattr(row.times, field).change for field in _TIMES.values())
        made.add_row(str(row.rank), row.status, *map(format_change, changes))
    return made


def _collectives(comparison: RunComparison, rows: int) -> RenderableType:
    columns = ("collective", "", "bytes", "per step", "transfer", "change", "wait", "change")
    made = table("Collectives by change", *columns, text_columns=2)
    for row in comparison.collectives[:rows]:
        made.add_row(
            printable(row.name or "unknown"),
            row.status,
            format_number(row.bytes),
            format_number(row.count.other),
            format_us(row.transfer_us.other),
            format_change(row.transfer_us.change),
            format_us(row.wait_us.other),
            format_change(row.wait_us.change),
        )
    return made
