"""Peaks of allocated bytes: of the whole trace and of each step, device by device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.memory.events import AllocatorEvents
from tb_hookview.arrays.types import Int, Intervals, StepIndex


class Peaks(NamedTuple):
    """Peaks, shape (p,): of each device that of the whole trace, then those of its steps."""

    device: Int
    """Index into `AllocatorEvents.devices`."""
    step: StepIndex
    """-1 for the whole trace."""
    position: Int
    """First event after which the most bytes were allocated; for a step without a larger total
    than at its start, the last event before it."""


def find_peaks(events: AllocatorEvents, windows: Intervals) -> Peaks:
    """Find the peaks of each device whose totals are known; a step without events has none.

    Windows are the starts and ends of the steps, shape (s, 2).
    """
    found: list[tuple[int, int, int]] = []
    for device in range(len(events.devices)):
        if not events.totals_known(device):
            continue
        span = events.of(device)
        found.append((device, -1, span.start + int(events.allocated[span].argmax())))
        of_steps = peaks_within(events, device, windows)
        found += [(device, step, at) for step, at in enumerate(of_steps) if at >= 0]
    columns = np.array(found, np.int64).reshape(-1, 3)
    return Peaks(*columns.T)


def peaks_within(events: AllocatorEvents, device: int, windows: Intervals) -> list[int]:
    """Position of the peak of each window of time, -1 for one without an event of the device."""
    span = events.of(device)
    times = events.time[span]
    first = np.searchsorted(times, windows[:, 0]).tolist()
    last = np.searchsorted(times, windows[:, 1], side="right").tolist()
    found = []
    for begin, end in zip(first, last, strict=True):
        if begin == end:
            found.append(-1)
            continue
        begin = max(begin - 1, 0)  # the level at its start
        found.append(span.start + begin + int(events.allocated[span][begin:end].argmax()))
    return found
