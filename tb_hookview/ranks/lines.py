"""What a run says in some lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_hookview.formats import format_count, format_share, format_us
from tb_hookview.schema import Collective, Run, Straggler, module_label

_UNSAID = 0.1
"""Share of the wait from which on it is said that more is not in it."""
_NAMED = 20
"""Missing ranks that are named."""


def summary_lines(run: Run) -> list[str]:
    """Ranks and collectives, and the stragglers with the cause and the gain of each."""
    of = f" of {run.world_size}" if run.world_size else ""
    matched = format_count(len(run.collectives), "collective")
    lines = [f"{run.path}: {len(run.ranks)}{of} ranks, {matched} matched, {run.unmatched} not"]
    for row in run.stragglers:
        lines += _straggler(row, run.collectives)
    return lines if run.stragglers else [*lines, "no rank is late in most steps"]


def _straggler(row: Straggler, collectives: Sequence[Collective]) -> Iterator[str]:
    module = None if row.module is None else f"in module {module_label(row.module)}"
    where = module or f"on {row.reason or 'what is unknown'}"
    yield (
        f"rank {row.rank} is late: the others wait {format_us(row.wait_caused_us)} per step for "
        f"it ({format_share(row.share, 1)}), in {row.steps} of {row.of_steps} steps"
    )
    if row.excess_us is not None:
        yield (
            f"  it spends {format_us(row.excess_us)} more {where} than the others; without "
            f"that a step gains {format_us(row.gain_us_per_step)}"
        )
    if row.finding:
        yield f"  its finding: {row.finding}"
    last = sum(each.wait_us for each in collectives if each.late_rank == row.rank)
    more = last / max(len({each.step for each in collectives}), 1) - row.wait_caused_us
    if more > _UNSAID * row.wait_caused_us:
        yield (
            f"  not in that: {format_us(more)} of waiting for it in collectives that no earlier "
            "one of all ranks precedes, since which their times could be compared"
        )
    if row.of_steps == 1:
        yield "  one step was compared: record several, as another rank may be late in each"


def notes(run: Run) -> list[str]:
    """What is missing, was not read, or speaks against the matches."""
    lines = [f"note: {text}" for text in run.warnings]
    lines += [f"not read: {row.path}: {row.reason}" for row in run.unreadable]
    if run.missing_ranks:
        named = ", ".join(map(str, run.missing_ranks[:_NAMED]))
        more = len(run.missing_ranks) - _NAMED
        lines.append(f"no trace of ranks {named}" + (f" and {more} more" if more > 0 else ""))
    return lines
