"""HolisticTraceAnalysis' kernel breakdown and launch statistics next to ours."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from comparison.asking import NEAR, same
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.types import Bool, Nanoseconds, TimeSet
from tb_hookview.report.tables.devices import find_use
from tb_hookview.report.tables.kernels import kernel_rows
from tb_hookview.tables.catalogue import entry, event_rows
from tb_hookview.tables.table import Table

LAUNCHES = (
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "runFunction - job_prep_and_submit_for_execution",
)
"""Calls that its launch statistics are of."""
_TYPES = ("COMPUTATION", "COMMUNICATION", "COMPUTATION overlapping COMMUNICATION")

ByName = Mapping[str, list[float]]


class Rows(NamedTuple):
    """Rows of a device, shape (n,)."""

    name: list[str]
    start: Nanoseconds
    end: Nanoseconds


class _LookedAt(Selection, frozen=True):
    """A selection of device events by hand."""

    looked_at: Bool | None = None

    @property
    def device_events(self) -> Bool:
        assert self.looked_at is not None
        return self.looked_at


def types(theirs: Mapping[str, float], made: Analysis, chosen: Bool) -> tuple[Any, Any]:
    """Time with kernels of computation alone, of communication alone, and of both."""
    use = find_use(made, chosen)
    both = use.overlapped
    alone = (use.compute - both, use.communication - both, both)
    return [theirs.get(each, 0.0) for each in _TYPES], [part / 1000 for part in alone]


def whole_types(rows: Rows, is_compute: Callable[[str], bool]) -> list[float]:
    """The same in whole microseconds between changes of what runs, as it counts."""
    compute = np.array([is_compute(name) for name in rows.name])
    collective = np.array([name.startswith("nccl") for name in rows.name])
    ran = [intervals.of(rows.start[mine], rows.end[mine]) for mine in (compute, collective)]
    bounds = np.unique(np.concatenate([time.ravel() for time in ran]))
    running = [_runs(time, bounds[:-1]) for time in ran]
    length = np.diff(bounds) // 1000
    kinds = (running[0] & ~running[1], running[1] & ~running[0], running[0] & running[1])
    return [float(length[mine].sum()) for mine in kinds]


def _runs(time: TimeSet, moment: Nanoseconds) -> Bool:
    begun = np.searchsorted(time[:, 0], moment, side="right")
    return np.asarray(begun > np.searchsorted(time[:, 1], moment, side="right"))


def rows_of(made: Analysis, chosen: Bool) -> Rows:
    """Chosen device events."""
    work, events = made.device_events, made.trace.events
    names = [made.trace.strings[name] for name in events.name[work.event[chosen]].tolist()]
    return Rows(names, work.start[chosen], work.end[chosen])


def rows_with_a_stream(path: Path) -> Rows:
    """Every row of a file that carries a stream, whatever it is."""
    data = path.read_bytes()
    content = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    rows = [e for e in content["traceEvents"] if e.get("ph") == "X" and _stream(e) != -1]
    start = np.array([round(e["ts"] * 1000) for e in rows])
    return Rows([e["name"] for e in rows], start, start + [round(e["dur"] * 1000) for e in rows])


def _stream(event: dict[str, Any]) -> int:
    stream = event.get("args", {}).get("stream", -1)
    return stream if isinstance(stream, int) else -1


def names(made: Analysis, chosen: Bool) -> ByName:
    """Sum, longest, shortest and mean of the device events of each name."""
    rows, omitted = kernel_rows(_LookedAt(made, None, looked_at=chosen))
    assert omitted is None
    return {row.name: [row.total_us, row.max_us, row.min_us, row.mean_us] for row in rows}


def names_of(rows: Rows) -> ByName:
    """The same of any rows; "Sync" in a name makes it of no type, and leaves it out."""
    found: dict[str, list[float]] = {}
    for name, length in zip(rows.name, ((rows.end - rows.start) / 1000).tolist(), strict=True):
        if "Sync" not in name:
            found.setdefault(name, []).append(length)
    return {
        name: [sum(all_), max(all_), min(all_), sum(all_) / len(all_)]
        for name, all_ in found.items()
    }


def equal_names(theirs: ByName, ours: ByName) -> int:
    """How many of their names have equal figures in ours."""
    return sum(same(row, ours.get(name)) for name, row in theirs.items())


def launches(made: Analysis, chosen: Bool) -> list[list[float]]:
    """Time of the call, time on the device, and the delay between them, of each launch."""
    selection = _LookedAt(made, None, looked_at=chosen)
    row_type = entry("device_events").row_type
    columns = Table(row_type, lambda: event_rows("device_events", selection)).to_columns()
    string = made.trace.strings
    calls = made.device_events.launch[chosen].tolist()
    name = [string[int(made.host.string[call])] if call >= 0 else "" for call in calls]
    figures = (columns[column] for column in ("launch_us", "duration_us", "launch_delay_us"))
    rows = zip(*figures, strict=True)
    return [list(row) for row, each in zip(rows, name, strict=True) if each in LAUNCHES]


def equal_rows(left: list[list[float]], right: list[list[float]]) -> int:
    """How many rows are equal to `NEAR`, both in order of size."""
    if len(left) != len(right) or not left:
        return 0
    near = np.abs(np.array(sorted(left)) - np.array(sorted(right))) <= NEAR
    return int(near.all(axis=1).sum())
