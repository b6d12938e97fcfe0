"""One collective on several ranks as a trace in Chrome's format, on the first rank's clock.

Clocks are those that the ends of collectives estimate. Where the estimate is worse than the wait
that the timeline is to show, there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from isal import igzip

from tb_hookview.arrays.units import to_us
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.export.destination import check, new_file
from tb_hookview.formats import format_us
from tb_hookview.loading import load
from tb_hookview.progress import Progress, silent
from tb_hookview.schema import Collective, Rank, Run
from tb_hookview.trace import Trace
from tb_hookview.trace.format.vocabulary import EventCategory
from tb_hookview.trace.source.file import trace_file

MOST_RANKS = 16
"""Ranks that are shown: the late one and others at even distances."""
_AROUND = 0.5
"""Part of the collective's length that is shown before it, and after it."""
_PROCESSES = 1000
"""Numbers of processes for each rank."""


class Merged(NamedTuple):
    """What a merged timeline shows."""

    collective: Collective
    ranks: list[int]
    spread_us: float
    """Largest spread of these ranks' clocks."""


def write_merged(
    run: Run,
    out: Path,
    *,
    collective: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Merged:
    """Write a window around a collective over the ranks of a run, as JSON (`.gz`: compressed).

    Args:
        run: the run.
        out: what to make.
        collective: id of the collective; by default the one for which the ranks waited longest.
        force: replace what is there.
        progress: called with the stage and the fraction of it done.

    Raises:
        NotFoundError: the run has no such collective, or none with a late rank.
        TraceError: a trace cannot be read any more.
        UsageError: the clocks are too uncertain, or `out` cannot be written or is there already.
    """
    check(out, folder=False, force=force)
    chosen = _chosen(run, collective)
    ranks = _ranks_of(run, chosen)
    spread = _spread(ranks, chosen)
    window, say = _window(run, chosen), progress or silent
    events: list[dict[str, Any]] = []
    for place, rank in enumerate(ranks):
        say("merging", place / len(ranks))
        events += _events(load(trace_file(rank.path)).trace, rank, window)
    said = {
        "collective": f"{chosen.name} {chosen.id}",
        "clock_offset_us": {str(rank.rank): rank.clock_offset_us for rank in ranks},
        "clock_spread_us": spread,
    }
    content = msgspec.json.encode({"hookview_merged": said, "traceEvents": events})
    with new_file(out) as partial:
        partial.write_bytes(igzip.compress(content) if out.suffix == ".gz" else content)
    return Merged(chosen, [rank.rank for rank in ranks], spread)


def _chosen(run: Run, number: int | None) -> Collective:
    late = [row for row in run.collectives if row.late_rank is not None]
    if number is not None:
        late = [row for row in late if row.id == number]
    if not late:
        which = "no collective" if number is None else f"no collective {number}"
        raise NotFoundError(f"{run.path}: {which} for which a rank was late")
    return max(late, key=lambda row: row.wait_us)


def _ranks_of(run: Run, collective: Collective) -> list[Rank]:
    """The late rank, and others at even distances."""
    late = [rank for rank in run.ranks if rank.rank == collective.late_rank]
    others = [rank for rank in run.ranks if rank.rank != collective.late_rank]
    places = np.linspace(0, len(others) - 1, min(len(others), MOST_RANKS - 1)).astype(np.int64)
    return sorted([*late, *(others[place] for place in places)], key=lambda rank: rank.rank)


def _spread(ranks: Sequence[Rank], collective: Collective) -> float:
    """Largest spread of some ranks' clocks.

    Raises:
        UsageError: it is unknown, or longer than the wait that is to be shown.
    """
    known = [row.clock_spread_us for row in ranks if row.clock_spread_us is not None]
    unknown = [row.rank for row in ranks if row.clock_spread_us is None]
    if unknown:
        raise UsageError(f"the clock of rank {unknown[0]} is unknown: it shares no collective")
    if max(known) > collective.wait_us:
        raise UsageError(
            f"no timeline shows collective {collective.id}: the ranks waited "
            f"{format_us(collective.wait_us)} for it, their clocks are known to "
            f"{format_us(max(known))} only"
        )
    return max(known)


def _window(run: Run, collective: Collective) -> tuple[float, float]:
    """Begin and end on the first rank's clock, microseconds."""
    late = next(rank for rank in run.ranks if rank.rank == collective.late_rank)
    came = (collective.late_start_us or 0.0) - (late.clock_offset_us or 0.0)
    start, end = collective.start_us, came + collective.transfer_us
    around = _AROUND * (end - start)
    return start - around, end + around


def _events(trace: Trace, rank: Rank, window: tuple[float, float]) -> Iterator[dict[str, Any]]:
    """Events of a rank in the window, cut at its bounds; names of its processes and threads."""
    events, offset = trace.events, round((rank.clock_offset_us or 0.0) * 1000)
    first, last = (round(time * 1000) + offset for time in window)
    start, end = np.maximum(events.start, first), np.minimum(events.end, last)
    rows = np.flatnonzero((end > start) & (events.kind != EventCategory.SPAN))
    threads = np.unique(events.thread[rows]).tolist()
    pids = list(dict.fromkeys(trace.threads[thread].pid for thread in threads))
    # Perfetto takes process 0 for that of the kernel's idle threads
    number = {pid: (rank.rank + 1) * _PROCESSES + place for place, pid in enumerate(pids)}
    for pid, process in number.items():
        yield _named("process_name", process, 0, f"rank {rank.rank}: {pid}")
    for thread in threads:
        row = trace.threads[thread]
        yield _named("thread_name", number[row.pid], thread + 1, row.name or row.tid)
    for row in rows.tolist():
        thread = int(events.thread[row])
        yield {
            "ph": "X",
            "name": trace.strings[int(events.name[row])],
            "cat": EventCategory(int(events.kind[row])).name.lower(),
            "pid": number[trace.threads[thread].pid],
            "tid": thread + 1,
            "ts": to_us(start[row] - first),
            "dur": to_us(end[row] - start[row]),
        }


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}
