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
    """Verdict, ranks and collectives, and the stragglers with the cause and the gain of each."""
    of = f" of {run.world_size}" if run.world_size else ""
    matched = format_count(len(run.collectives), "collective")
    lines = [f"{run.path}: {len(run.ranks)}{of} ranks, {matched} matched, {run.unmatched} not"]
    for row in run.stragglers:
        lines += _straggler(row, run.collectives)
    return lines if run.stragglers else [*lines, verdict_sentence(run)]


def verdict_sentence(run: Run) -> str:
    """What holds up the run, in one sentence: its first straggler, else how a step is spent."""
    if run.stragglers:
        return f"R{_waits(run.stragglers[0])[1:]}."
    step, exposed = mean_of(run, "step_us"), mean_of(run, "exposed_communication_us")
    if step is None:
        return "No rank is a straggler in most steps."
    return (
        f"No rank is a straggler in most steps: {format_us(step)} per step, "
        f"{format_us(mean_of(run, 'compute_us'))} of it computing and "
        f"{format_us(exposed)} ({format_share(exposed, step)}) exposed communication."
    )


def mean_of(run: Run, column: str) -> float | None:
    """Mean of a column of the ranks, microseconds; None where it is known of none."""
    known = [us for rank in run.ranks if (us := getattr(rank, column)) is not None]
    return sum(known) / len(known) if known else None


def _waits(row: Straggler) -> str:
    return (
        f"rank {row.rank} is a straggler: the others wait {format_us(row.wait_caused_us)} per step "
        f"for it ({format_share(row.share, 1)}), in {row.steps} of {row.of_steps} steps"
    )


def _straggler(row: Straggler, collectives: Sequence[Collective]) -> Iterator[str]:
    module = None if row.module is None else f"in module {module_label(row.module)}"
    where = module or f"on {row.reason or 'what is unknown'}"
    yield _waits(row)
    if row.excess_us is not None:
        yield (
            f"  it spends {format_us(row.excess_us)} more {where} than the others; fixing that "
            f"saves {format_us(row.gain_us_per_step)} per step"
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
        yield "  one step was compared: record several, as each may have another straggler"


def notes(run: Run) -> list[str]:
    """What is missing, was not read, or speaks against the matches."""
    lines = [f"note: {text}" for text in run.warnings]
    lines += [f"not read: {row.path}: {row.reason}" for row in run.unreadable]
    if run.missing_ranks:
        named = ", ".join(map(str, run.missing_ranks[:_NAMED]))
        more = len(run.missing_ranks) - _NAMED
        lines.append(f"no trace of ranks {named}" + (f" and {more} more" if more > 0 else ""))
    return lines
