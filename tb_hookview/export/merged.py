"""One collective on several ranks as a trace in Chrome's format, on the first rank's clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from isal import igzip

from tb_hookview.arrays.types import to_us
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.export.destination import check, new_file
from tb_hookview.loading import load
from tb_hookview.progress import Progress, silent
from tb_hookview.ranks.result import RunReport
from tb_hookview.ranks.together import MOST_RANKS, offset_of, parted, refusal, spread, window
from tb_hookview.schema import Collective, Rank, Run
from tb_hookview.trace import Trace
from tb_hookview.trace.format.vocabulary import EventCategory
from tb_hookview.trace.source.file import trace_file

_PROCESSES = 1000
"""Numbers of processes for each rank."""


class Merged(NamedTuple):
    """What a merged timeline shows."""

    collective: Collective
    ranks: list[int]
    spread_us: float
    """Largest spread of these ranks' clocks."""


def write_merged(
    report: RunReport,
    out: Path,
    *,
    collective: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Merged:
    """Write a window around a collective over the ranks of a run, as JSON (`.gz`: compressed).

    Args:
        report: the run.
        out: what to make.
        collective: id of the collective; by default the one for which the ranks waited longest.
        force: replace what is there.
        progress: called with the stage and the fraction of it done.

    Raises:
        NotFoundError: the run has no such collective, or none with a straggler.
        TraceError: a trace cannot be read any more.
        UsageError: the clocks are too uncertain, or `out` cannot be written or is there already.
    """
    check(out, folder=False, force=force)
    merged, content = merge(report, collective, lambda path: load(trace_file(path)).trace, progress)
    with new_file(out) as partial:
        partial.write_bytes(igzip.compress(content) if out.suffix == ".gz" else content)
    return merged


def merge(
    report: RunReport,
    collective: int | None,
    trace_of: Callable[[str], Trace],
    progress: Progress | None = None,
) -> tuple[Merged, bytes]:
    """Return a window around a collective over the ranks of a run as JSON.

    Args:
        report: the run.
        collective: id of the collective; by default the one for which the ranks waited longest.
        trace_of: reads the trace of a path in `report`.
        progress: called with the stage and the fraction of it done.

    Raises:
        NotFoundError: the run has no such collective, or none with a straggler.
        UsageError: the clocks are too uncertain.
    """
    run, say = report.data, progress or silent
    chosen = _chosen(run, collective)
    ranks = _ranks_of(report, chosen)
    if refused := refusal(ranks, chosen):
        raise UsageError(f"no timeline shows collective {chosen.id}: {refused}")
    shown, known_to = window(report, chosen), spread(ranks) or 0.0
    events: list[dict[str, Any]] = []
    for place, rank in enumerate(ranks):
        say("merging", place / len(ranks))
        events += _events(trace_of(rank.path), rank, shown)
    said = {
        "collective": f"{chosen.name} {chosen.id}",
        "clock_offset_us": {str(rank.rank): rank.clock_offset_us for rank in ranks},
        "clock_spread_us": known_to,
    }
    content = msgspec.json.encode({"hookview_merged": said, "traceEvents": events})
    return Merged(chosen, [rank.rank for rank in ranks], known_to), content


def _chosen(run: Run, number: int | None) -> Collective:
    late = [row for row in run.collectives if row.late_rank is not None]
    if number is not None:
        late = [row for row in late if row.id == number]
    if not late:
        which = "no collective" if number is None else f"no collective {number}"
        raise NotFoundError(f"{run.path}: {which} with a straggler")
    return max(late, key=lambda row: (row.new_wait_us, row.wait_us))


def _ranks_of(report: RunReport, collective: Collective) -> list[Rank]:
    """The straggler, and others that took part at even distances."""
    late, others = parted(report, collective)
    places = np.linspace(0, len(others) - 1, min(len(others), MOST_RANKS - 1)).astype(np.int64)
    return sorted([*late, *(others[place] for place in places)], key=lambda rank: rank.rank)


def _events(trace: Trace, rank: Rank, shown: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """Events of a rank in a window, cut at its bounds; names of its processes and threads."""
    events = trace.events
    first, last = (time + offset_of(rank) for time in shown)
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
