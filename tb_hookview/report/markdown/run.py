"""All ranks of a run as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_hookview.formats import format_number, format_share, format_us
from tb_hookview.report.markdown.text import Page, name, paged, quoted, table
from tb_hookview.schema import Collective, Rank, Run, Straggler, module_label

_STRAGGLERS = 10
_REASONS = 3
_COLLECTIVES = 10
_NOTES = 10


def ranks(run: Run, page: Page) -> str:
    """Who was late and why, the collectives that waited longest, and the ranks.

    Args:
        run: the run.
        page: which ranks.
    """
    of = f" of {run.world_size:,}" if run.world_size else ""
    lines = [
        "# Ranks of a run",
        "",
        f"Run {name(run.path)}: {len(run.ranks):,}{of} ranks; {len(run.collectives):,} collectives "
        f"matched, {run.unmatched:,} not.",
        *_missing(run),
        *(f"- {_straggler(row)}" for row in run.stragglers[:_STRAGGLERS]),
        *([] if run.stragglers else ["- no stragglers"]),
        *_collectives(run),
        "",
        "Ranks, mean per step:",
    ]
    columns = ("rank", "step", "compute", "communication", "exposed", "idle", "waits", "trace")
    return paged(lines, *table(columns, map(_rank, run.ranks)), page)


def _missing(run: Run) -> Iterator[str]:
    for note in run.warnings[:_NOTES]:
        yield f"- note: {quoted(note, 400)}"
    if run.missing_ranks:
        first = ", ".join(map(str, run.missing_ranks[:_NOTES]))
        yield f"- no trace of {len(run.missing_ranks):,} ranks: {first}, ..."
    for row in run.unreadable[:_NOTES]:
        yield f"- not read: {name(row.path)}: {quoted(row.reason)}"


def _straggler(row: Straggler) -> str:
    fixed = ", with the stragglers above fixed" if row.id else ""
    reasons = [
        f"{format_us(each.excess_us)} on "
        + (quoted(module_label(each.module)) if each.module is not None else name(each.reason))
        for each in row.reasons[:_REASONS]
    ]
    more = len(row.reasons) - len(reasons)
    return (
        f"rank {row.rank} is a straggler: the others wait {format_us(row.wait_caused_us)} per step "
        f"for it ({format_share(row.share, 1)}), in {row.steps:,} of {row.of_steps:,} steps{fixed};"
        f" it spends more than the others: {', '.join(reasons) or 'unknown'}"
        f"{f' and {more} more' if more > 0 else ''}; a step takes {format_us(row.left_step_us)} "
        f"without that, {format_us(row.gain_us_per_step)} less; its finding: {name(row.finding)}"
    )


def _collectives(run: Run) -> list[str]:
    columns = ("collective", "step", "bytes", "transfer", "wait", "straggler", "because of")
    longest = sorted(run.collectives, key=lambda row: -row.wait_us)[:_COLLECTIVES]
    head, rows = table(columns, map(_collective, longest))
    return ["", "Collectives for which the ranks waited longest:", *head, *rows] if rows else []


def _collective(row: Collective) -> Sequence[str]:
    cause = row.late_module if row.late_module is not None else row.late_reason
    return (
        *(name(row.name), name(row.step), format_number(row.bytes), format_us(row.transfer_us)),
        format_us(row.wait_us),
        "" if row.late_rank is None else str(row.late_rank),
        name(cause),
    )


def _rank(row: Rank) -> Sequence[str]:
    times = (row.step_us, row.compute_us, row.communication_us, row.exposed_communication_us)
    return (
        str(row.rank),
        *map(format_us, (*times, row.idle_us, row.wait_us)),
        name(row.path.rpartition("/")[2]),
    )
