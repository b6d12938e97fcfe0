"""Reads a trace file into columns, piece by piece to save memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tb_hookview.cache import FileState
from tb_hookview.errors import TraceError
from tb_hookview.progress import Count, Progress, silent, uncounted
from tb_hookview.trace.columns.builder import Builder
from tb_hookview.trace.columns.trace import DeviceProperties, StringTable, Trace
from tb_hookview.trace.format.compiled_graphs import read_compiled_graphs
from tb_hookview.trace.format.events import Head
from tb_hookview.trace.format.manifest import read_manifest, whole_number
from tb_hookview.trace.format.vocabulary import EVERYTHING, Wanted
from tb_hookview.trace.source.file import TraceFile, trace_file
from tb_hookview.trace.source.inflate import (
    BLOCK,
    SMALLEST_SHARE,
    Damages,
    Limits,
    estimated_size,
    limits_from_environment,
)
from tb_hookview.trace.text.pieces import EVERYTHING as WHOLE_FILE
from tb_hookview.trace.text.pieces import Piece, Share, TraceRoot, cut
from tb_hookview.workers.limits import WorkerError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tb_hookview.workers.pool import Workers


# Shares of a file for several processes, which end together.
#
# Each process inflates and cuts the text up to the end of its share, which is quick and gives the
# same pieces in each, and decodes its share alone. So a later share is smaller than an earlier one,
# and a process that begins later gets less. Reading cannot become quicker than inflating and
# cutting are: `1 / CUTTING` times as quick as in one process, about.

CUTTING = 0.07
"""Fraction of the time of reading that inflating and cutting take (measured: 0.04 to 0.10)."""

BYTES_PER_S = 200e6
"""Bytes of JSON that one process reads in a second, about.

Only the shares depend on it."""


def shares(size: int, ready_in: Sequence[float]) -> list[float]:
    """Return the end of each process's share, bytes of the text; ours comes first.

    Args:
        size: bytes of the text.
        ready_in: seconds until each other process can begin, soonest first.
    """
    for count in range(len(ready_in), 0, -1):
        ends = _ends(size, ready_in[:count])
        if all(end - begin >= SMALLEST_SHARE for begin, end in pairwise(ends)):
            return ends
    return [float(size)]


def _ends(size: int, ready_in: Sequence[float]) -> list[float]:
    """Shares of any size, which all end at the same time.

    After a time in which one process reads `most` bytes, a share that begins at `begin` and was
    delayed by as much as `late` bytes has `most - late - CUTTING * begin` bytes. So each end is
    linear in `most`, and the last one is the size.
    """
    factors, terms = [1.0], [0.0]
    for seconds in ready_in:
        factors.append((1 - CUTTING) * factors[-1] + 1)
        terms.append((1 - CUTTING) * terms[-1] + seconds * BYTES_PER_S)
    most = (size + terms[-1]) / factors[-1]
    return [factor * most - term for factor, term in zip(factors, terms, strict=True)]


# A large file decoded by several processes, each of which takes some of its blocks.


class Decoded(NamedTuple):
    """A share of a file."""

    builder: Builder
    root: TraceRoot | None
    """None where the file goes on."""


class Plan(NamedTuple):
    """The shares of a file, by process."""

    own: Share
    """Ours, the first one."""
    fraction: float
    """Fraction of the file that our share is, about."""
    others: list[Future[Decoded | None]]
    """Those of other processes, in the order of the file."""


ALONE = Plan(WHOLE_FILE, 1.0, [])


def share_out(file: TraceFile, workers: Workers, limits: Limits, wanted: Wanted) -> Plan:
    """Begin the shares of other processes, if the file is large enough for any."""
    try:
        size, state = estimated_size(file), file.state()
    except (OSError, TraceError):  # whoever reads it reports the error
        return ALONE
    first, *ends = shares(size, workers.ready_in())
    if not ends:
        return ALONE
    begins = [round(end / BLOCK) for end in (first, *ends[:-1])]
    others = [
        workers.submit(decode_share, file, state, Share(begin, end), limits, wanted)
        for begin, end in zip(begins, [*begins[1:], None], strict=True)
    ]
    return Plan(Share(0, begins[0]), first / size, others)


def decode_share(
    file: TraceFile, state: FileState, share: Share, limits: Limits, wanted: Wanted
) -> Decoded | None:
    """Decode some blocks of a file in the state that it had.

    Returns:
        None where it has another state, or is damaged: where the damage is, and what it does to
        its neighbours, only a single process can say.

    Raises:
        TraceError: it cannot be read.
    """
    if file.state() != state:
        return None
    builder, root = Builder(wanted), None
    for piece in cut(file, share=share, limits=limits, wanted=wanted):
        if piece.damages:
            return None
        if isinstance(piece, TraceRoot):
            root = piece
        else:
            builder.add(piece)
    if file.state() != state:
        return None
    builder.join()
    return Decoded(builder, root)


_AGAIN = "record the run again"
_REPORT_INTERVAL_S = 0.1
"""Seconds between reports of progress while waiting for other processes."""
_RUNTIME_CALL = re.compile(r"(?P<runtime>cuda|hip|ze|ur)[A-Z]\w+")


def read_trace(
    path: str | Path | TraceFile,
    progress: Progress | None = None,
    count: Count = uncounted,
    *,
    limits: Limits | None = None,
    workers: Workers | None = None,
    wanted: Wanted = EVERYTHING,
) -> Trace:
    """Read a chrome trace of torch.profiler, plain or gzip, of any era.

    What `progress` or `count` raises ends the reading.

    Args:
        path: the file.
        progress: called with the stage and the fraction of it done.
        count: called with the number of events read so far.
        limits: how much is read at most; as the environment says by default.
        workers: other processes that decode shares of a large file.
        wanted: what of the events is read.

    Raises:
        TraceError: the file cannot be read, or is no trace.
    """
    file, report = trace_file(path), progress or silent
    limits = limits or limits_from_environment()
    report("decoding", 0.0)
    builder, root, damages = _read(file, report, count, limits, workers, wanted)
    if damages and not builder.event_count:
        reason = f"damaged or cut off before any event: {damages.problem()}"
        raise TraceError(file.address, reason, _AGAIN)
    if not builder.any_phase and (builder.event_count or root.head is None):
        reason = "JSON, but not a PyTorch trace: its events have no phase (`ph`)"
        raise TraceError(file.address, reason, "name a file that torch.profiler wrote")
    report("columns", None)
    return _trace(file, builder, root, damages)


def _read(
    file: TraceFile,
    report: Progress,
    count: Count,
    limits: Limits,
    workers: Workers | None,
    wanted: Wanted,
) -> tuple[Builder, TraceRoot, Damages]:
    if workers:
        plan = share_out(file, workers, limits, wanted)
        try:
            if plan.others and (read := _read_together(file, plan, report, count, limits, wanted)):
                return *read, Damages()
        finally:
            for other in plan.others:
                workers.stop(other)
    builder, damages = Builder(wanted), Damages()
    root = _add(cut(file, report, limits=limits, wanted=wanted), builder, damages, count)
    assert root, "a root comes last"
    return builder, root, damages


def _read_together(
    file: TraceFile, plan: Plan, report: Progress, count: Count, limits: Limits, wanted: Wanted
) -> tuple[Builder, TraceRoot] | None:
    """Decode our share, then take what other processes made of theirs.

    None where any of the file is damaged, or a process failed.
    """
    builder, damages = Builder(wanted), Damages()

    def report_own(stage: str, done: float | None) -> None:
        # All shares end together, so ours stands for all.
        report(stage, min(1.0, (done or 0.0) / plan.fraction))

    pieces = cut(file, report_own, share=plan.own, limits=limits, wanted=wanted)
    root = _add(pieces, builder, damages, count)
    others = iter(plan.others)
    while root is None and not damages:
        decoded = _awaited(next(others), report)
        if decoded is None:
            return None
        builder.absorb(decoded.builder)
        limits.events.check(file.address, builder.event_count)
        count(builder.event_count)
        root = decoded.root
    return None if damages or root is None else (builder, root)


def _awaited(other: Future[Decoded | None], report: Progress) -> Decoded | None:
    """Wait for a share; None where its process failed.

    What `report` raises ends the waiting.
    """
    from concurrent.futures import CancelledError
    from concurrent.futures import TimeoutError as NotYet

    while True:
        report("decoding", 1.0)
        try:
            return other.result(_REPORT_INTERVAL_S)
        except NotYet:
            continue
        except (WorkerError, CancelledError):
            return None


def _add(
    parts: Iterable[Piece | TraceRoot], builder: Builder, damages: Damages, count: Count
) -> TraceRoot | None:
    """Take events until the root comes, if it does, and note their repairs."""
    for part in parts:
        if isinstance(part, TraceRoot):
            damages.add(part.damages)
            return part
        damages.add(part.damages, builder.event_count)
        builder.add(part)
        count(builder.event_count)
        del part  # before the next is decoded, which then takes its memory
    return None


def _trace(file: TraceFile, builder: Builder, root: TraceRoot, damages: Damages) -> Trace:
    columns = builder.finish()
    columns["notices"] = (*damages.notices(), *columns["notices"])
    return Trace(
        file=file,
        format=root.format,
        event_count=builder.event_count,
        **_head(root.head, columns["strings"]),
        **columns,
    )


def _head(head: Head | None, strings: StringTable) -> dict[str, Any]:
    distributed = head.distributedInfo if head else None
    place = distributed if isinstance(distributed, dict) else {}
    manifest = read_manifest(head.manifest if head else None)
    rank = _first_integer(place.get("rank"), manifest and manifest.rank)
    return {
        "devices": tuple(_devices(head.deviceProperties if head else None)),
        "runtime": _runtime(head, strings),
        "rank": rank,
        "world_size": _first_integer(place.get("world_size"), manifest and manifest.world_size),
        "process_groups": _process_groups(place.get("pg_config"), rank),
        "manifest": manifest,
        "compiled": read_compiled_graphs(head.compiled if head else None),
    }


def _process_groups(listed: object, rank: int | None) -> int | None:
    """Number of different sets of several ranks with this one, of those that the file lists."""
    if not isinstance(listed, list):
        return None
    members = [entry.get("ranks") for entry in listed if isinstance(entry, dict)]
    of = {
        frozenset(number for entry in ranks if (number := whole_number(entry)) is not None)
        for ranks in members
        if isinstance(ranks, list)
    }
    return sum(len(ranks) > 1 and (rank is None or rank in ranks) for ranks in of)


def _runtime(head: Head | None, strings: StringTable) -> str:
    """The vendor's runtime, by the file's head, else by the names of calls."""
    if head and (head.hip_runtime_version is not None or head.roctracer_version is not None):
        return "hip"
    if head and head.cuda_runtime_version is not None:
        return "cuda"
    calls = (match for text in strings.texts if (match := _RUNTIME_CALL.fullmatch(text)))
    return next((match["runtime"] for match in calls), "")


def _first_integer(*values: object) -> int | None:
    return next((number for value in values if (number := whole_number(value)) is not None), None)


def _devices(properties: object) -> Iterator[DeviceProperties]:
    for entry in properties if isinstance(properties, list) else []:
        if isinstance(entry, dict) and (number := whole_number(entry.get("id"))) is not None:
            major, minor = (
                whole_number(entry.get(key)) for key in ("computeMajor", "computeMinor")
            )
            yield DeviceProperties(
                number,
                str(entry.get("name") or ""),
                None if major is None else (major, minor or 0),
                whole_number(entry.get("totalGlobalMem")) or None,
            )
