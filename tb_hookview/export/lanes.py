"""Lanes of the analysis under one heading of Perfetto's tracks: `HOOKVIEW`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.types import TimeSet
from tb_hookview.export.packets import PacketWriter, Slice, Value, backward_slices
from tb_hookview.export.threads import leaving, thread_label
from tb_hookview.report.result import Report
from tb_hookview.schema import Phase, module_label

IDLE = "hookview.idle"


def idle_slices(selection: Selection) -> dict[int, list[Slice]]:
    """Idle time of each device by cause."""
    gaps = selection.analysis.gaps
    lanes: dict[int, list[Slice]] = {device: [] for device in np.unique(gaps.device).tolist()}
    for gap in np.flatnonzero(selection.gaps).tolist():
        lanes[int(gaps.device[gap])].append(_slice(selection.analysis, gap))
    return lanes


def _slice(analysis: Analysis, gap: int) -> Slice:
    gaps, step = analysis.gaps, int(analysis.gap_step[gap])
    call, event = int(gaps.row[gap]), int(gaps.device_event[gap])
    arguments: list[tuple[str, Value]] = []
    if step >= 0:
        arguments.append(("step", analysis.steps.name[step]))
    if call >= 0:
        arguments.append(("call", analysis.host.name(call)))
    if event >= 0:
        name = int(analysis.trace.events.name[analysis.device_events.event[event]])
        arguments.append(("ended_by", analysis.trace.strings[name]))
    cause = Cause(int(gaps.cause[gap])).name.lower()
    return Slice(int(gaps.start[gap]), int(gaps.end[gap]), cause, IDLE, arguments)


HEADING = "HOOKVIEW"
STEP, PHASE, FORWARD, SYNC = (f"hookview.{k}" for k in ("step", "phase", "forward", "sync"))
_EXPLICIT = 3
"""Perfetto's order of child tracks by their rank."""


def write_lanes(writer: PacketWriter, selection: Selection, report: Report) -> None:
    """Write the lanes: steps, phases, modules forward and backward, syncs, device idle."""
    heading = writer.track(name=HEADING, child_ordering=_EXPLICIT)
    group = partial(writer.track, heading, child_ordering=_EXPLICIT)
    threads = partial(thread_label, selection.analysis)
    devices = "device {}".format
    _write(writer, group(name="steps", sibling_order_rank=1), "steps", _steps(selection, report))
    _write(writer, group(name="phases", sibling_order_rank=2), "phases", _phases(selection))
    forward = group(name="modules, forward", sibling_order_rank=3)
    _write_each(writer, forward, threads, _forward(selection))
    backward = group(name="modules, backward", sibling_order_rank=4)
    _write_each(writer, backward, threads, backward_slices(selection))
    _write(writer, group(name="syncs", sibling_order_rank=5), "syncs", _syncs(selection, report))
    idle = group(name="device idle", sibling_order_rank=6)
    _write_each(writer, idle, devices, idle_slices(selection))


def _write(writer: PacketWriter, track: int, name: str, slices: list[Slice]) -> None:
    leaves = leaving((piece.start, piece.end) for piece in slices)
    writer.slices(track, partial(writer.track, track, name=name), slices, leaves)


def _write_each(
    writer: PacketWriter, group: int, label: Callable[[int], str], lanes: dict[int, list[Slice]]
) -> None:
    """Write a lane for each thread or device."""
    for index, slices in sorted(lanes.items()):
        _write(writer, writer.track(group, name=label(index)), label(index), slices)


def _steps(selection: Selection, report: Report) -> list[Slice]:
    windows = selection.analysis.steps.window[list(selection.steps)].tolist()
    return [
        Slice(start, end, row.name, STEP, _arguments(row, "name", "start_us", "duration_us"))
        for (start, end), row in zip(windows, report.data.steps, strict=True)
    ]


def _phases(selection: Selection) -> list[Slice]:
    """Time of each phase, cut at step bounds; `other` is a step's rest."""
    analysis = selection.analysis
    times = list(analysis.phases.time)
    found: list[Slice] = []
    for index in selection.steps:
        window = analysis.steps.window[index : index + 1]
        of_step = [intervals.intersect(time, intervals.normal(window)) for time in times]
        rest = intervals.normal(window)
        for time in of_step:
            rest = intervals.subtract(rest, time)
        name = (("step", analysis.steps.name[index]),)
        found += _phase_slices([*of_step, rest], name)
    if selection.chosen is None:
        windows = intervals.normal(analysis.steps.window)
        found += _phase_slices([intervals.subtract(time, windows) for time in times], ())
    return sorted(found)


def _phase_slices(times: list[TimeSet], arguments: Iterable[tuple[str, Value]]) -> list[Slice]:
    return [
        Slice(start, end, Phase(number).name.lower(), PHASE, arguments)
        for number, time in enumerate(times)
        for start, end in time.tolist()
    ]


def _forward(selection: Selection) -> dict[int, list[Slice]]:
    """Calls of modules outside backward, by thread, in the call tree's order."""
    analysis = selection.analysis
    call_tree, module_calls, modules = analysis.call_tree, analysis.module_calls, analysis.modules
    rows = np.flatnonzero((module_calls.module >= 0) & (analysis.row_node < 0) & selection.rows)
    columns = (call_tree.thread, call_tree.start, call_tree.end, module_calls.module)
    lanes: dict[int, list[Slice]] = defaultdict(list)
    for thread, start, end, module in zip(*(c[rows].tolist() for c in columns), strict=True):
        path = modules.path[module]
        arguments = (("module", path), ("class", modules.module_class[module]))
        lanes[thread].append(Slice(start, end, module_label(path), FORWARD, arguments))
    return lanes


def _syncs(selection: Selection, report: Report) -> list[Slice]:
    """Syncs of the host, as the report lists them, with their exact times."""
    syncs, chosen = selection.analysis.syncs, np.flatnonzero(selection.syncs)
    times = zip(syncs.start[chosen].tolist(), syncs.end[chosen].tolist(), strict=True)
    slices = [
        Slice(start, end, row.cause, SYNC, _arguments(row, "cause", "start_us", "duration_us"))
        for (start, end), row in zip(times, report.data.syncs, strict=True)
    ]
    return sorted(slices, key=lambda piece: (piece.start, -piece.end))


def _arguments(row: msgspec.Struct, *without: str) -> list[tuple[str, Value]]:
    """Known fields of a row of the report; nested ones named with a dot."""
    return list(_flat(msgspec.to_builtins(row), without))


def _flat(
    fields: dict[str, Any], without: tuple[str, ...] = (), prefix: str = ""
) -> Iterator[tuple[str, Value]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(value, prefix=f"{prefix}{name}.")
        elif value is not None and value != [] and name not in without:
            yield prefix + name, value
