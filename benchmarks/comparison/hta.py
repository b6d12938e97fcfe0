"""HolisticTraceAnalysis' figures next to ours; where they differ, next to ours counted its way.

Its way differs by these facts, each of which is tried where a figure differs:
`rows`: what carries a stream is device work, the mirror of a wait or an operator too, and what
carries none is not;
`overlap`: work that begins before the work ahead of it ended makes a pause below zero;
`names`: only calls of the names below put work into a queue;
`order`: moments that fall together are in any order;
`whole`: times between two changes of what runs are cut to whole microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common.traces import label

from comparison import hta_kernels
from comparison.asking import NEAR, ask, same, shown, table
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.events import QueueLength, queue_length
from tb_hookview.arrays import intervals
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.loading import load
from tb_hookview.report.tables.devices import SHORT_NS, find_stream_gaps, find_use

HEAD = ("trace", "figure", "HolisticTraceAnalysis", "hookview", "difference")
LAUNCHES = (
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cuLaunchKernel",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "hipLaunchKernel",
    "hipExtModuleLaunchKernel",
    "hipMemcpyAsync",
    "hipMemsetAsync",
    "hipMemcpyWithStream",
    "runFunction - job_prep_and_submit_for_execution",
)
TEMPORAL = ("idle", "compute", "non_compute", "kernel")
PAUSES = ("host_wait", "kernel_wait", "other")

Way = tuple[str, Callable[[], Any], float]
"""A fact of the list above, what ours would be with it, and how near that has to come."""


def compare(python: Path, paths: list[Path]) -> str:
    """A table of all traces in which it finds device work."""
    return table(HEAD, (row for path in paths for row in _rows(python, path)))


def _rows(python: Path, path: Path) -> Iterator[list[str]]:
    theirs = ask(python, "hta", path)
    if "fails" in theirs or isinstance(theirs["temporal"], str):
        return
    made = load(path)
    chosen = launched_by_the_last_step(made)
    for figure, left, right, ways in _figures(theirs, made, chosen, path):
        near = NEAR if figure.endswith("us") else 0.01
        equal = same(left, right, near)
        verdict = "none" if equal else _fact(left, ways)
        yield [label(path), figure, shown(left), shown(right), verdict]


def _fact(left: Any, ways: Sequence[Way]) -> str:
    """The fact with which ours would be theirs."""
    found = (f"`{fact}`" for fact, counted_so, near in ways if same(left, counted_so(), near))
    return next(found, "not explained")


def launched_by_the_last_step(made: Analysis) -> Bool:
    """Which work it looks at: where there are steps, what was launched by the last one's end."""
    work, last = made.device_events, made.steps.window[-1, 1]
    if len(made.steps.name) < 2:
        return np.ones(len(work), bool)
    return np.asarray((work.launch >= 0) & (lookup(made.call_tree.start, work.launch) <= last))


def _figures(
    theirs: dict[str, Any], made: Analysis, chosen: Bool, path: Path
) -> Iterator[tuple[str, Any, Any, Sequence[Way]]]:
    yield from _kernels(theirs, made, chosen, path)
    use = find_use(made, chosen)
    parts = (use.span - use.busy, use.compute, use.busy - use.compute, use.span)
    yield (
        "idle / compute / other work / span, us",
        [theirs["temporal"][key] for key in TEMPORAL],
        [part / 1000 for part in parts],
        [("rows", lambda: _all_rows_with_a_stream(path), NEAR)],
    )
    if theirs["overlap"] is not None and use.communication:
        share = round(100 * use.overlapped / use.communication, 2)
        yield "communication overlapped by computation, %", theirs["overlap"], share, []
    streams = _streams(made, chosen)
    known = [mine for mine in streams if (made.device_events.launch[mine] >= 0).any()]
    pauses = np.sum([find_stream_gaps(made, mine) for mine in streams], axis=0) / 1000
    yield (
        "gaps of all streams: host / kernel / other, us",
        [sum(v for k, v in theirs["idle"].items() if k.endswith(f" {each}")) for each in PAUSES],
        pauses.tolist(),
        [
            ("overlap", lambda: _sum([_pauses(made, mine) for mine in streams]), NEAR),
            ("rows, overlap", lambda: _sum([_pauses(made, mine) for mine in known]), NEAR),
        ],
    )
    ours = [queue_length(made.call_tree, made.device_events, mine) for mine in known]
    yield (
        "queues of all streams: points / mean of points / longest",
        _merged([(count, count * mean, most) for count, mean, most in theirs["queue"].values()]),
        _merged([_points(queue) for queue in ours]),
        [
            ("order", lambda: _merged([_points(queue) for queue in ours]), _shared_moments(ours)),
            ("names", lambda: _merged([_points(_queue(made, mine)) for mine in known]), 0.01),
        ],
    )


def _kernels(
    theirs: dict[str, Any], made: Analysis, chosen: Bool, path: Path
) -> Iterator[tuple[str, Any, Any, Sequence[Way]]]:
    """Its kernel breakdown and launch statistics."""
    ours = hta_kernels.rows_of(made, chosen)
    rows = partial(hta_kernels.rows_with_a_stream, path)
    left, right = hta_kernels.types(theirs["types"], made, chosen)
    yield (
        "kernels of computation / communication / both, us",
        left,
        right,
        [
            ("whole", lambda: hta_kernels.whole_types(ours, _is_compute), NEAR),
            ("rows, whole", lambda: hta_kernels.whole_types(rows(), _is_compute), NEAR),
        ],
    )
    named = theirs["names"]
    names = hta_kernels.names(made, chosen)
    yield (
        "names of kernels: all / equal in sum, longest, shortest, mean",
        [len(named), len(named)],
        [len(names), hta_kernels.equal_names(named, names)],
        [("rows", lambda: _equal_of_all(named, hta_kernels.names_of(rows())), 0)],
    )
    launches = hta_kernels.launches(made, chosen)
    equal = hta_kernels.equal_rows(theirs["launches"], launches)
    yield (
        "launches: all / equal in time of call, kernel and delay",
        [len(theirs["launches"])] * 2,
        [len(launches), equal],
        [],
    )


def _equal_of_all(named: hta_kernels.ByName, names: hta_kernels.ByName) -> list[int]:
    return [len(names), hta_kernels.equal_names(named, names)]


def _streams(made: Analysis, chosen: Bool) -> list[Bool]:
    thread = made.trace.events.thread[made.device_events.event]
    return [chosen & (thread == each) for each in np.unique(thread[chosen])]


def _all_rows_with_a_stream(path: Path) -> list[float]:
    """Its temporal breakdown: of every row that carries a stream, whatever it is."""
    rows = hta_kernels.rows_with_a_stream(path)
    is_compute = np.array([_is_compute(name) for name in rows.name])
    busy = intervals.length(intervals.of(rows.start, rows.end))
    compute = intervals.length(intervals.of(rows.start[is_compute], rows.end[is_compute]))
    span = int(rows.end.max() - rows.start.min())
    return [part / 1000 for part in (span - busy, compute, busy - compute, span)]


def _is_compute(name: str) -> bool:
    """By `get_kernel_type` of its `utils.py`."""
    if name.startswith(("nccl", "Memcpy", "Memset", "dma")):
        return False
    return not any(part in name for part in ("Memcpy", "Sync")) and not name.startswith("Memset")


def _pauses(made: Analysis, mine: Bool) -> list[float]:
    """Its pauses of one stream: to the end of the work ahead, be it later than the start."""
    work, rows = made.device_events, np.flatnonzero(mine)
    ahead = work.end[rows[:-1]]
    pause = work.start[rows[1:]] - ahead
    late = lookup(made.call_tree.start, work.launch[rows[1:]]) > ahead
    short = ~late & (pause < SHORT_NS)
    return [int(pause[each].sum()) / 1000 for each in (late, short, ~late & ~short)]


def _queue(made: Analysis, mine: Bool) -> QueueLength:
    texts = np.array([text in LAUNCHES for text in made.trace.strings.texts])
    named = lookup(texts[made.host.string].astype(np.int64), made.device_events.launch) > 0
    return queue_length(made.call_tree, made.device_events, mine & named)


def _sum(parts: list[list[float]]) -> list[float]:
    return [sum(column) for column in zip(*parts, strict=True)]


def _shared_moments(queues: list[QueueLength]) -> float:
    """What the order within moments can do to the mean: of a launch and a start at one moment, two
    at the point between them."""
    shared = sum(int((np.diff(queue.time) == 0).sum()) for queue in queues)
    return 2 * shared / max(sum(len(queue.time) for queue in queues), 1) + 1e-9


def _points(queue: QueueLength) -> tuple[float, float, float]:
    return len(queue.time), float(queue.length.sum()), queue.longest


def _merged(streams: list[tuple[float, float, float]]) -> list[float]:
    """Points of all streams, their mean, and the longest queue of any."""
    count = sum(each[0] for each in streams)
    total = sum(each[1] for each in streams)
    return [count, total / count if count else 0.0, max((each[2] for each in streams), default=0)]
