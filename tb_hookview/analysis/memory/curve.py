"""Live bytes over time as a bounded number of points, exact at every peak of theirs."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.memory.classes import MemoryClass
from tb_hookview.analysis.memory.live import LiveBytes
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Int, Nanoseconds


class Curve(Struct, frozen=True):
    """Points of a device in order of time, shape (c,); each level lasts until the next point."""

    time: Nanoseconds
    allocated: Int
    reserved: Int
    """-1 for unknown."""
    by_class: dict[MemoryClass, Int]
    """They sum to `allocated`; empty where blocks are unknown."""
    exact: bool
    """Whether every event of the window is a point."""


def curve(live: LiveBytes, device: int, begin: int, end: int, points: int) -> Curve:
    """Points of a window of time: of each of `points` / 2 equal parts its lowest and highest.

    The window's first point is the level at its start.
    """
    events = live.events
    span = events.of(device)
    times = events.time[span]
    first = max(int(np.searchsorted(times, begin, side="right")) - 1, 0)
    last = int(np.searchsorted(times, end, side="right"))
    at = np.arange(first, max(last, min(first + 1, len(times)))) + span.start
    exact = len(at) <= points
    if not exact:
        at = at[_extremes(events.time[at], events.allocated[at], points)]
    kinds = MemoryClass if len(live.blocks) else ()
    return Curve(
        time=np.maximum(events.time[at], begin),
        allocated=events.allocated[at],
        reserved=events.reserved[at],
        by_class={kind: live.of(kind)[at] for kind in kinds},
        exact=exact,
    )


def _extremes(time: Nanoseconds, level: Int, points: int) -> Int:
    """Ascending indices of the first highest and lowest level of equal parts of the time."""
    parts = max(points // 2 - 1, 1)
    width = max(int(time[-1] - time[0]) + 1, 1)
    part = ((time - time[0]) * parts) // width
    chosen = [np.array([0, len(time) - 1])]
    for sign in (1, -1):
        order = np.lexsort((sign * level, part))
        opens = np.flatnonzero(np.append(True, np.diff(part[order]) != 0))
        chosen.append(order[opens])
    return unique(np.concatenate(chosen))
