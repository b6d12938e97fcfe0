"""Launches that waited because the queue of their device was full.

A device takes about a thousand launches ahead. A further one has to wait until an earlier device
event begins. Then the device is late, not the host: this is no sync.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.calls.part import Part, none
from tb_hookview.analysis.device.launch_timing import LaunchTiming
from tb_hookview.arrays.joins import isin, median, setdiff, unique
from tb_hookview.arrays.types import Int, TreeRow

OUTSTANDING = 900
"""Launched device events, not begun, from which on a queue counts as full.

Queues of CUDA devices hold 1024 entries, some of them for calls that leave nothing in a trace."""
_FULL = 0.97
"""Part of the most launches ever ahead from which on there is no room left."""
_SLOW = 5
"""Multiple of its name's median from which on a launch that finds no room waited for it.

On V100 one of 200 launches with room takes as long, and one of three without."""


def of_launches(timing: LaunchTiming, held: TreeRow) -> Part:
    """Divide launches that were slow while their device's queue was full.

    Each waited for as long as it took more than the median of the others.

    Args:
        timing: the launches.
        held: calls that waited for something else, such as blocking copies.
    """
    row = _onto_full_queue(timing, held)
    waited = np.maximum(timing.call_tree.duration[row] - _usual(timing, row), 0)
    nothing = np.zeros(0, np.int64)
    return Part(row, waited, waited * 0, none(row), none(row), nothing, nothing)


def _usual(timing: LaunchTiming, blocked: TreeRow) -> int:
    launch = timing.device_events.launch
    others = setdiff(launch[launch >= 0], blocked)
    return int(median(timing.call_tree.duration[others])) if len(others) else 0


def _onto_full_queue(timing: LaunchTiming, held: TreeRow) -> TreeRow:
    """Launches that were slow while the queue was full, ascending."""
    found, device_events = [np.zeros(0, np.int64)], timing.device_events
    for device in unique(device_events.device):
        one_each = timing.first_of_launch | timing.queued_before
        rows = np.flatnonzero((device_events.device == device) & one_each)
        if len(rows) < OUTSTANDING:
            continue
        begun = np.sort(timing.launch_start[rows])
        launch = unique(device_events.launch[rows[device_events.launch[rows] >= 0]])
        moment = timing.call_tree.start[launch]
        # What was launched before the trace has -1 for a start, which is before every moment.
        ahead = np.searchsorted(begun, moment) - np.searchsorted(device_events.start[rows], moment)
        found.append(_slow(timing, launch, ahead))
    rows = unique(np.concatenate(found))
    return rows[~isin(rows, held)]


def _slow(timing: LaunchTiming, launch: TreeRow, ahead: Int) -> TreeRow:
    """Launches of one device that were slow, by the events that were ahead of each in its queue."""
    deep = launch[ahead >= OUTSTANDING]
    found = [deep[timing.slow(deep, timing.call_tree.duration[deep])]]
    full = ahead >= max(OUTSTANDING, _FULL * ahead.max(initial=0))
    name, lasted = timing.host.string[launch], timing.call_tree.duration[launch]
    for one in unique(name[full]):
        mine = name == one
        room = mine & ~full if (mine & ~full).any() else mine
        found.append(launch[mine & full & (lasted > _SLOW * median(lasted[room]))])
    return np.concatenate(found)
