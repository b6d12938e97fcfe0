"""What a run says: a document, and its sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_hookview.document.document import Document, Lines, Row, Table
from tb_hookview.formats import format_count, format_number, format_share, format_us
from tb_hookview.ranks.lateness import LEAST_SHARE, times_needed
from tb_hookview.schema import (
    Collective,
    Pipeline,
    Rank,
    Run,
    StageWork,
    Straggler,
    StragglerReason,
    module_label,
)

_EXPLAINED = 0.5
"""Share of the wait below which it is said that the reasons explain less."""
_REASONS, _LEAST_REASON = 3, 0.05
"""Reasons that are named, and their share of all at least."""
_COLLECTIVES = 10
_NAMED = 20
"""Missing ranks that are named."""
_PLACES = {
    "data": "on data loading",
    "optimizer": "in the optimizer",
    "sync": "waiting for its device",
    "host": "on its host, not in a module",
    "device": "on its device, not in a module",
}


def run_document(run: Run, rows: int | None = None) -> Document:
    """Stragglers and why, the ranks, and the collectives that waited longest.

    Args:
        run: the run.
        rows: rows of a table; all ranks, and some collectives, where it is None.
    """
    ranks = _ranks_table(run, rows)
    collectives = _collectives_table(run, rows or _COLLECTIVES)
    head, said = Lines(summary_lines(run)), Lines(notes(run), tone="warning")
    return Document("Ranks of a run", (head, ranks, collectives, said), ranks)


def run_lines(run: Run) -> Document:
    """The same without tables."""
    return Document("Ranks of a run", [Lines(summary_lines(run), bold=0), Lines(notes(run))])


def _ranks_table(run: Run, rows: int | None) -> Table:
    shown = sorted(run.ranks, key=lambda row: row.wait_us or 0.0)[:rows]
    least = f" ({len(shown)} that wait least)" if len(shown) < len(run.ranks) else ""
    whole = "step" if run.marked else "length"
    columns = (whole, "compute", "communication", "exposed", "idle", "straggler wait")
    made = [_rank(row) for row in sorted(shown, key=lambda row: row.rank)]
    of = "mean per step" if run.marked else "whole traces"
    title = f"Ranks, {of}{least}; a delay counts in each collective that waits for it"
    return Table(title, ("rank", "trace", *columns), made, names=2, wrapped=1)


def _rank(row: Rank) -> Row:
    times = (row.step_us, row.compute_us, row.communication_us, row.exposed_communication_us)
    name = row.path.rpartition("/")[2]
    return (str(row.rank), name, *map(format_us, (*times, row.idle_us, row.wait_us)))


def _collectives_table(run: Run, rows: int) -> Table:
    shown = sorted(run.collectives, key=lambda row: (-row.new_wait_us, -row.wait_us))[:rows]
    step = ("step",) if run.marked else ()
    times = ("transfer", "wait", "new wait", "GB/s")
    columns = ("collective", *step, "module", "bytes", "straggler", *times)
    return Table(
        "Collectives for which the ranks waited longest, each delay once",
        columns,
        [_collective(row, run.marked) for row in shown],
        names=columns.index("bytes"),
    )


def _collective(row: Collective, marked: bool) -> Row:
    return (
        row.name or "unknown",
        *((row.step or "",) if marked else ()),
        _late_in(row),
        format_number(row.bytes),
        "" if row.late_rank is None else str(row.late_rank),
        *map(format_us, (row.transfer_us, row.wait_us, row.new_wait_us)),
        "" if row.bus_gb_per_s is None else f"{row.bus_gb_per_s:.2f}",
    )


def _late_in(row: Collective) -> str:
    """The module on which the straggler was late; in brackets what else it was."""
    if row.late_module is not None or row.late_reason is None:
        return row.late_module or ""
    return f"({_PLACES.get(row.late_reason, row.late_reason)})"


def summary_lines(run: Run) -> list[str]:
    """Verdict, ranks and collectives, and the stragglers with the cause and the gain of each."""
    found, size = len(run.ranks), run.world_size
    ranks = f"{found} of {format_count(size, 'rank')}" if size else format_count(found, "rank")
    matched = format_count(len(run.collectives), "collective")
    lines = [f"{run.path}: {ranks}, {matched} matched, {run.unmatched} not"]
    lines += straggler_lines(run.stragglers, marked=run.marked)
    lines += [] if run.stragglers else [verdict_sentence(run)]
    return [*lines, *(_pipeline(row, run.marked) for row in run.pipelines)]


def verdict_sentence(run: Run) -> str:
    """What holds up the run, in one sentence: its first straggler, else how a step is spent."""
    if run.stragglers:
        return f"R{_cost(run.stragglers[0], [], run.marked)[1:]}."
    shown = [rank for rank in run.ranks if rank.exposed_communication_us is not None] or run.ranks
    step, computing, exposed = (
        _mean_of(shown, column) for column in ("step_us", "compute_us", "exposed_communication_us")
    )
    if len(run.ranks) == 1:
        first = "One rank alone shows no straggler"
    elif run.unmatched > 0 and not run.collectives:
        first = "No collective is matched, stragglers are unknown"
    elif step is not None and exposed is None:
        first = "No collective is recorded, stragglers are unknown"
    elif len(shown) < len(run.ranks):
        first = "No rank is a straggler beyond chance, of those that show collectives"
    else:
        first = _last_to_all(run, step) or "No rank is a straggler beyond chance"
    if step is None:
        return f"{first}."
    communication = (
        ", communication unknown"
        if exposed is None
        else f" and {format_us(exposed)} ({format_share(exposed, step)}) exposed communication"
    )
    of = f"; mean of {format_count(len(shown), 'rank')}" if len(run.ranks) > 1 else ""
    return (
        f"{first}{of}: {format_us(step)} {'per step' if run.marked else 'per trace'}, "
        f"{format_us(computing)} of it computing{communication}."
    )


def _last_to_all(run: Run, step: float | None) -> str | None:
    """That one rank alone is ever late, more than by chance, but costs less than a straggler."""
    late = [row.late_rank for row in run.collectives if row.late_rank is not None]
    names = {row.name for row in run.steps if row.counts}
    if not step or not names or len(set(late)) != 1 or len(late) < times_needed(len(run.ranks)):
        return None
    cost = sum(row.new_wait_us for row in run.collectives if row.step in names) / len(names)
    if cost >= LEAST_SHARE * step:
        return None
    return (
        f"No rank is a straggler: rank {late[0]} comes last to {len(late)} of "
        f"{len(run.collectives)} collectives, but the others wait only {format_us(cost)} "
        f"({format_share(cost, step)}) {_per(run.marked)} for it, less than "
        f"{format_share(LEAST_SHARE, 1)}"
    )


def mean_of(run: Run, column: str) -> float | None:
    """Mean of a column of the ranks, microseconds; None where it is known of none."""
    return _mean_of(run.ranks, column)


def _mean_of(ranks: Sequence[Rank], column: str) -> float | None:
    known = [us for rank in ranks if (us := getattr(rank, column)) is not None]
    return sum(known) / len(known) if known else None


def _pipeline(row: Pipeline, marked: bool) -> str:
    """A pipeline's bubble, and that of even stages."""
    per = _per(marked)
    of = "" if row.microbatches is None else f", {row.microbatches:g} microbatches {per}"
    text = f"pipeline of {len(row.ranks)} ranks{of}: {format_share(row.bubble, 1)} bubble"
    if row.ideal_bubble is None:
        return text
    ideal = format_share(row.ideal_bubble, 1)
    return f"{text}, {ideal} by (p - 1) / (m + p - 1) with even stages"


def straggler_lines(stragglers: Sequence[Straggler], *, marked: bool = True) -> list[str]:
    """Every straggler in order: what it costs, on what it spends the time, and what is left.

    Args:
        stragglers: of a run.
        marked: whether its traces mark steps.
    """
    lines: list[str] = []
    for row in stragglers:
        why = _why(row, marked)
        lines += [_cost(row, stragglers[: row.id], marked), *(f"  {text}" for text in why)]
    return lines


def _per(marked: bool) -> str:
    return "per step" if marked else "in these traces"


def _cost(row: Straggler, before: Sequence[Straggler], marked: bool) -> str:
    if before:
        fixed = ", ".join(str(each.rank) for each in before)
        ranks = "rank" if len(before) == 1 else "ranks"
        start = f"rank {row.rank} is next: with {ranks} {fixed} fixed the others still wait "
    else:
        start = f"rank {row.rank} {'is' if row.sure else 'may be'} a straggler: the others wait "
    waited = f"{format_us(row.wait_caused_us)} {_per(marked)}"
    often = f", {_often(row)}" if marked else ""
    return f"{start}{waited} for it ({format_share(row.share, 1)}){often}"


def _often(row: Straggler) -> str:
    if row.of_steps == 1:
        return "in the only step that is compared"
    often = f"in {row.steps} of {row.of_steps} steps"
    return often if row.sure else f"{often}, too few to rule out chance"


def _why(row: Straggler, marked: bool) -> Iterator[str]:
    excess = sum(each.excess_us for each in row.reasons)
    if row.reasons:
        yield (
            f"it spends {format_us(excess)} more {_spent_on(row)} than the others; without that a "
            f"{'step' if marked else 'trace'} takes {format_us(row.left_step_us)}, "
            f"{format_us(row.gain_us_per_step)} less"
        )
    if row.stage is not None:
        yield stage_text(row.stage)
    if excess < _EXPLAINED * row.wait_caused_us:
        unexplained = format_us(row.wait_caused_us - excess)
        yield (
            f"the cause of {unexplained} is unknown: ranks are compared from the start of "
            "their steps, and from one collective to the next"
        )
    if row.finding:
        yield f"its finding: {row.finding}"
    if row.of_steps == 1:
        compared = "one step was compared: record" if marked else "no steps are marked: mark"
        yield f"{compared} several, as another rank may be late in each"


def stage_text(row: StageWork) -> str:
    """Which microbatches a stage is slow on, and by how much."""
    slow, of = [str(number) for number in row.microbatches], row.of_microbatches
    each = " each" if len(slow) > 1 else ""
    if len(slow) == of > 1:
        named = f"all {of} microbatches"
    elif len(slow) == 1:
        named = f"microbatch {slow[0]} of 0 to {of - 1}"
    else:
        named = f"microbatches {', '.join(slow[:-1])} and {slow[-1]} of 0 to {of - 1}"
    return (
        f"stage {row.stage}, {row.direction} of {named}: {format_us(row.time_us)}{each}, on the "
        f"other stages {format_us(row.usual_us)}"
    )


def _spent_on(row: Straggler) -> str:
    """The largest reasons, each with its time where there are several."""
    least = _LEAST_REASON * sum(each.excess_us for each in row.reasons)
    named = [each for each in row.reasons if each.excess_us >= least]
    named = named[:_REASONS]
    if len(named) == len(row.reasons) == 1:
        return place_text(named[0])
    text = ", ".join(f"{format_us(each.excess_us)} {place_text(each)}" for each in named)
    more = len(row.reasons) - len(named)
    return f"({text}" + (f", and {more} more)" if more else ")")


def place_text(reason: StragglerReason) -> str:
    """What the time went to, as a phrase."""
    if reason.module is not None:
        phase = f" ({reason.phase})" if reason.phase else ""
        return f"in module {module_label(reason.module)}{phase}"
    return _PLACES.get(reason.reason, reason.reason)


def notes(run: Run) -> list[str]:
    """What is missing, was not read, or speaks against the matches."""
    lines = [f"note: {text}" for text in run.warnings]
    lines += [f"not read: {row.path}: {row.reason}" for row in run.unreadable]
    if run.missing_ranks:
        named = ", ".join(map(str, run.missing_ranks[:_NAMED]))
        more = len(run.missing_ranks) - _NAMED
        of = "rank" if len(run.missing_ranks) == 1 else "ranks"
        lines.append(f"no trace of {of} {named}" + (f" and {more} more" if more > 0 else ""))
    return lines
