"""The trace's processes, threads and streams as tracks, its rows as slices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.graph import row_links, wait_links
from tb_hookview.arrays.types import EventRow
from tb_hookview.export.packets import PacketWriter, Slice
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.tables.model.columns import Arrays, listed
from tb_hookview.trace import EventCategory, Trace
from tb_hookview.trace.columns.trace import Thread
from tb_hookview.trace.format.vocabulary import DEVICE_CATEGORIES


def leaving(spans: Iterable[tuple[int, int]]) -> list[bool]:
    """Whether each span has to leave.

    Spans are (start, end), by start and then longest first.

    Of two spans that cross, the shorter one leaves: a row around most of a thread may be crossed by
    a short one at its edge, and all that lies in it should stay where it is looked for.
    """
    result: list[bool] = []
    running: list[tuple[int, int, int]] = []
    for number, (start, end) in enumerate(spans):
        result.append(False)
        while running and running[-1][1] <= start:
            running.pop()
        while running and running[-1][1] < end:
            other_start, other_end, other = running[-1]
            if other_end - other_start >= end - start:
                result[number] = True
                break
            result[other] = True
            running.pop()
        if not result[number]:
            running.append((start, end, number))
    return result


_CHUNK = 10_000
"""Rows that are Python objects at one time."""
_ON_DEVICE = (*DEVICE_CATEGORIES, EventCategory.DEVICE_ANNOTATION)
_LARGEST = 2**31 - 1
"""Of the numbers that an operating system gives processes and threads, as Perfetto holds them."""


def write_threads(writer: PacketWriter, simulator: Simulator, rows: Arrays) -> None:
    """Write every chosen row of the trace on its thread's or stream's track.

    Args:
        writer: of the file.
        simulator: replays of the whole trace, for what waited for what.
        rows: of the table `events`.
    """
    analysis = simulator.analysis
    events, threads = analysis.trace.events, analysis.trace.threads
    chosen = rows.places
    start, duration, thread = (c[chosen] for c in (events.start, events.duration, events.thread))
    order = np.lexsort((-duration, start, thread))
    chosen, thread = chosen[order], thread[order]
    flows = _flows(simulator)
    tracks = _Tracks(writer, analysis.trace)
    bounds = np.searchsorted(thread, np.arange(len(threads) + 1)).tolist()
    for index, place in enumerate(threads):
        mine = chosen[bounds[index] : bounds[index + 1]]
        if len(mine):
            track = tracks.of_thread(index)
            overflow = partial(writer.track, track, name=f"{_label(place)}, rows that cross others")
            spans = zip(events.start[mine], events.end[mine], strict=True)
            writer.slices(track, overflow, _slices(analysis, rows, mine, flows), leaving(spans))


def thread_label(analysis: Analysis, index: int) -> str:
    """Name of a thread's track."""
    return _label(analysis.trace.threads[index])


def _label(place: Thread) -> str:
    return place.name or place.tid


class _Tracks:
    """Tracks of processes, made when a thread first needs them."""

    def __init__(self, writer: PacketWriter, trace: Trace) -> None:
        self._writer = writer
        self._trace = trace
        self._processes: dict[str, int] = {}
        on_device = np.isin(trace.events.kind, [int(kind) for kind in _ON_DEVICE])
        self._device = set(np.unique(trace.events.thread[on_device]).tolist())

    def of_thread(self, index: int) -> int:
        """Make the track of a thread, and first that of its process."""
        place = self._trace.threads[index]
        on_device = index in self._device
        process = self._processes.get(place.pid)
        if process is None:
            process = self._processes[place.pid] = self._process(place.pid, on_device)
        pid, tid = _number(place.pid), _number(place.tid)
        if on_device or pid is None or tid is None:
            return self._writer.track(process, name=_label(place))
        thread = {"pid": pid, "tid": tid, "thread_name": _label(place)}
        return self._writer.track(process, thread=thread)

    def _process(self, pid: str, on_device: bool) -> int:
        number = _number(pid)
        if on_device:
            names = {str(device.id): device.name for device in self._trace.devices}
            return self._writer.track(name=f"device {pid} {names.get(pid, '')}".rstrip())
        if number is None:
            return self._writer.track(name=pid)
        return self._writer.track(process={"pid": number, "process_name": f"process {pid}"})


def _number(text: str) -> int | None:
    """A process or thread number of the operating system; None for other names of rows."""
    known = text.isascii() and text.isdecimal() and 0 < int(text[:20]) <= _LARGEST
    return int(text) if known else None


def _flows(simulator: Simulator) -> dict[int, list[int]]:
    """Arrows by row of the trace: launches, forward operators of nodes, what waited for what."""
    graph = None if simulator.refused else simulator.graph
    links = [*row_links(simulator.analysis), *wait_links(simulator.analysis, graph)]
    flows: dict[int, list[int]] = defaultdict(list)
    number = 0
    for _, _, source, target in links:
        for begin, end in zip(source.tolist(), target.tolist(), strict=True):
            number += 1
            flows[begin].append(number)
            flows[end].append(number)
    return flows


_ARGUMENTS = (
    *("correlation", "sequence", "forward_thread", "external_id", "device"),
    *("module", "phase", "evidence", "no_module", "work_kind"),
)
"""Columns of the table `events` that are arguments of slices."""


def _slices(
    analysis: Analysis, rows: Arrays, mine: EventRow, flows: dict[int, list[int]]
) -> Iterator[Slice]:
    """Slices of some rows, made a chunk at a time."""
    events = analysis.trace.events
    for first in range(0, len(mine), _CHUNK):
        chunk = mine[first : first + _CHUNK]
        name, kind = (listed(rows.columns[column](chunk)) for column in ("name", "kind"))
        yield from map(
            Slice,
            events.start[chunk].tolist(),
            events.end[chunk].tolist(),
            name,
            kind,
            _arguments(rows, chunk),
            [flows.get(row, ()) for row in chunk.tolist()],
        )


def _arguments(rows: Arrays, chunk: EventRow) -> Iterator[Any]:
    """Arguments of each row of a chunk: what is known of it."""
    columns = [listed(rows.columns[name](chunk)) for name in _ARGUMENTS]
    for values in zip(*columns, strict=True):
        yield [(n, v) for n, v in zip(_ARGUMENTS, values, strict=True) if v is not None]
