"""Idle time of each device by cause, as in the report's `device_idle_us`."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.export.packets import Slice, Value

IDLE = "hookview.idle"


def idle_slices(selection: Selection) -> dict[int, list[Slice]]:
    """Idle time of each device by cause, cut at the bounds of steps."""
    gaps = selection.analysis.gaps
    lanes: dict[int, list[Slice]] = {device: [] for device in np.unique(gaps.device).tolist()}
    for step, first, last in _windows(selection):
        start, end = np.maximum(gaps.start, first), np.minimum(gaps.end, last)
        for gap in np.flatnonzero(end > start).tolist():
            piece = _slice(selection.analysis, gap, int(start[gap]), int(end[gap]), step)
            lanes[int(gaps.device[gap])].append(piece)
    return {device: sorted(found, key=lambda piece: piece.start) for device, found in lanes.items()}


def _windows(selection: Selection) -> list[tuple[str | None, int, int]]:
    """Name and bounds of the chosen steps, and of the time outside them.

    Time outside counts where the whole trace is chosen.
    """
    steps, gaps = selection.analysis.steps, selection.analysis.gaps
    windows = [(steps.name[i], *steps.window[i].tolist()) for i in selection.steps]
    if selection.chosen is None and len(gaps):
        hull = np.array([[gaps.start.min(), gaps.end.max()]], np.int64)
        outside = intervals.complement(intervals.normal(steps.window), hull)
        windows += [(None, first, last) for first, last in outside.tolist()]
    return windows


def _slice(analysis: Analysis, gap: int, start: int, end: int, step: str | None) -> Slice:
    gaps = analysis.gaps
    call, event = int(gaps.row[gap]), int(gaps.device_event[gap])
    arguments: list[tuple[str, Value]] = [] if step is None else [("step", step)]
    if call >= 0:
        arguments.append(("call", analysis.host.name(call)))
    if event >= 0:
        name = int(analysis.trace.events.name[analysis.device_events.event[event]])
        arguments.append(("ended_by", analysis.trace.strings[name]))
    return Slice(start, end, Cause(int(gaps.cause[gap])).name.lower(), IDLE, arguments)
