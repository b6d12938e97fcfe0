"""The part of a trace that is replayed: from the first measured step to the end of the last."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.launch_timing import queued_before
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import index_of
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds

LAUNCHES_KNOWN = 0.9
"""Share of device time with a known launch below which nothing is replayed."""


class Window(Struct, frozen=True):
    """Steps that are replayed, and the device events in them."""

    steps: tuple[int, ...]
    """Indices of the measured steps, ascending."""
    start: int
    """Start of the first of them on the host, nanoseconds."""
    host_end: int
    """End of the last of them on the host."""
    events: DeviceEventIndex
    """Device events launched in the window, and those that ran in it and were launched before or
    by an unknown call; ascending."""
    step: Int
    """Index into `steps` of the step in which each of `events` was launched, -1 outside of them."""
    history: Bool
    """Whether each was launched before the window, so that nothing in it changes it."""
    launches_known: float | None
    """Share of the time of the others whose launch is in the trace; None without any."""

    def refusal(self) -> str | None:
        """Why this window is not replayed; None where it is."""
        if not self.steps:
            return "no whole step was recorded in which the host launched work"
        if self.launches_known is not None and self.launches_known < LAUNCHES_KNOWN:
            return (
                f"the trace has the launches of {self.launches_known:.0%} of the device's time; "
                f"a replay needs {LAUNCHES_KNOWN:.0%}"
            )
        return None


def find_window(selection: Selection) -> Window:
    """Find the window of a selection."""
    analysis, steps = selection.analysis, selection.counted
    window = analysis.steps.window[list(steps)]
    if not len(window):
        none = np.zeros(0, np.int64)
        return Window((), 0, 0, none, none, none.astype(bool), None)
    start, end = int(window[0, 0]), int(window[-1, 1])
    events = analysis.device_events
    launched = lookup(analysis.call_tree.start, events.launch)
    moment = np.where(events.launch >= 0, launched, events.start)
    rows = np.flatnonzero((moment < end) & (events.end > start))
    history = _launched_before(analysis, rows, launched[rows], start)
    return Window(
        steps=steps,
        start=start,
        host_end=end,
        events=rows,
        step=_step_of(analysis, steps, moment[rows]),
        history=history,
        launches_known=_share(events.duration[rows], events.launch[rows] >= 0, history),
    )


def _share(duration: Nanoseconds, known: Bool, history: Bool) -> float | None:
    if not len(duration):
        return None
    total = int(duration[~history].sum())
    return int(duration[known & ~history].sum()) / total if total else 0.0


def _launched_before(
    analysis: Analysis, rows: DeviceEventIndex, launched: Nanoseconds, start: int
) -> Bool:
    """Events launched before the window; a stream has them before all that it launched in it.

    What was queued before the recording began has no launch; later on its stream it is unknown.
    """
    events = analysis.device_events
    known = launched >= 0
    first = np.full(len(analysis.trace.threads), np.iinfo(np.int64).min)
    inside = rows[known & (launched >= start)][::-1]
    first[events.stream[inside]] = events.start[inside]
    queued = queued_before(analysis.host, events)[rows]
    queued &= events.start[rows] < first[events.stream[rows]]
    return np.asarray((known & (launched < start)) | queued)


def _step_of(analysis: Analysis, steps: tuple[int, ...], moment: Nanoseconds) -> Int:
    number = index_of(steps, len(analysis.steps.name) + 1)
    return np.asarray(number[analysis.steps.at(moment)])
