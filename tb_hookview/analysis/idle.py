"""Device time lost behind each wait of the host.

For a wait [s, e]: g1 is the first device event whose launch began at or after e, g0 the end of the
device's work before g1. The device was idle from max(s, g0) to g1, because nothing could be
launched while the host waited; from it goes the time a launch takes to arrive at an idle device
anyway. A wait on a busy device costs nothing unless a gap follows it. Where several waits lie
before one g1, each is billed the gap from its own start to the next one's.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.forest import Forest
from tb_hookview.analysis.launches import DeviceWork
from tb_hookview.analysis.syncs import Syncs
from tb_hookview.trace.columns import Int


def idle_caused(forest: Forest, work: DeviceWork, syncs: Syncs) -> Int | None:
    """Device idle time caused by each wait: start and end, nanoseconds, shape (w, 2).

    A wait that caused none has equal start and end; without launched work there is None at all.
    """
    launched = np.flatnonzero(work.launch >= 0)
    if not len(launched):
        return None
    busy_until = _busy_until(work)
    launch_start = forest.start[work.launch[launched]]
    following = _first_launched_after(launched, launch_start, syncs.end)
    found = following >= 0
    gap_end = np.where(found, work.start[following], 0)
    gap_start = np.maximum(syncs.start, np.where(found, busy_until[following], 0))
    billed_end = np.minimum(gap_end, _next_start_before(following, syncs.start, gap_end))
    floor = _launch_latency(launch_start, work.start[launched], busy_until[launched])
    last = billed_end == gap_end
    billed_end = np.maximum(billed_end - np.where(last, floor, 0), gap_start)
    caused = found & ~syncs.by_profiler
    return np.stack([gap_start, np.where(caused, billed_end, gap_start)], axis=1)


def _busy_until(work: DeviceWork) -> Int:
    """For each piece of work, the end of all that its device started before it."""
    result = np.zeros(len(work), np.int64)
    for device in np.unique(work.device):
        rows = np.flatnonzero(work.device == device)
        reach = np.maximum.accumulate(work.end[rows])
        result[rows[1:]] = reach[:-1]
        result[rows[:1]] = work.start[rows[:1]]
    return result


def _first_launched_after(launched: Int, launch_start: Int, moment: Int) -> Int:
    """Row of the earliest work whose launch began at or after each moment, -1 for none."""
    order = np.argsort(launch_start, kind="stable")
    rows = launched[order]
    # Work is ordered by start, so the smallest row of a suffix is its earliest work.
    earliest = np.minimum.accumulate(rows[::-1])[::-1]
    place = np.searchsorted(launch_start[order], moment, side="left")
    inside = place < len(rows)
    return np.where(inside, earliest[np.minimum(place, len(rows) - 1)], -1)


def _next_start_before(following: Int, start: Int, gap_end: Int) -> Int:
    """Start of the next wait that lies before the same work; the gap's end where there is none."""
    order = np.lexsort((start, following))
    shared = following[order][1:] == following[order][:-1]
    result = gap_end.copy()
    result[order[:-1][shared]] = start[order[1:][shared]]
    return result


def _launch_latency(launch_start: Int, start: Int, busy_until: Int) -> int:
    """Median time from a launch to its start on an idle device, nanoseconds; 0 where unknown."""
    onto_idle = (busy_until <= launch_start) & (start >= launch_start)
    return int(np.median((start - launch_start)[onto_idle])) if onto_idle.any() else 0
