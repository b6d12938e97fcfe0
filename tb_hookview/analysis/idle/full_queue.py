"""Launches that waited because the queue of their device was full.

A device takes about a thousand launches ahead. A further one has to wait until an earlier device
event begins. Then the device is late, not the host: this is no sync.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.idle.launch_timing import LaunchTiming
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import TreeRow

OUTSTANDING = 900
"""Launched device events, not begun, from which on a queue counts as full.

Queues of CUDA devices hold 1024 entries, some of them for calls that leave nothing in a trace."""


def launches_onto_full_queue(timing: LaunchTiming) -> TreeRow:
    """Launches that were slow while their device's queue was full, ascending.

    Syncs (blocking copies) do not count.
    """
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
        found.append(launch[ahead >= OUTSTANDING])
    rows = unique(np.concatenate(found))
    rows = rows[~isin(rows, timing.syncs.row)]
    return rows[timing.slow(rows, timing.call_tree.duration[rows])]
