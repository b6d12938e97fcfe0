"""Launches that waited because the queue of their device was full.

A device takes about a thousand launches ahead. One more has to wait until a piece of work before
it begins: then the device is behind, not the host, and this is no wait for a result.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.idle.launch_timing import LaunchTiming
from tb_hookview.arrays.joins import isin, median, unique
from tb_hookview.arrays.types import Bool, Int

OUTSTANDING = 900
"""Launches whose work has not begun, from which on a queue counts as full. Queues of CUDA devices
hold 1024 entries, some of them events and waits that leave nothing in a trace."""
SLOW = 20
"""Times the median of the calls of the same name, from which on a launch counts as blocked."""


def launches_onto_full_queue(time: LaunchTiming) -> Int:
    """Forest rows of the launches that were slow while their device's queue was full, ascending.

    A call that waits for the device in any case (a blocking copy) is none.
    """
    found = [np.zeros(0, np.int64)]
    for device in unique(time.work.device):
        one_each = time.first_of_launch | time.queued_before
        rows = np.flatnonzero((time.work.device == device) & one_each)
        begun = np.sort(time.launch_start[rows])
        launch = unique(time.work.launch[rows[time.work.launch[rows] >= 0]])
        moment = time.call_tree.start[launch]
        # What was launched before the trace has -1 for a start, which is before every moment.
        ahead = np.searchsorted(begun, moment) - np.searchsorted(time.work.start[rows], moment)
        found.append(launch[ahead >= OUTSTANDING])
    rows = unique(np.concatenate(found))
    rows = rows[~isin(rows, time.syncs.row)]
    return rows[_is_slow(time, rows)] if len(rows) else rows


def _is_slow(time: LaunchTiming, rows: Int) -> Bool:
    """Which launches lasted far longer than launches of that name do."""
    launches = unique(time.work.launch[time.work.launch >= 0])
    names, lasted = time.host.string, time.call_tree.duration
    slow = np.zeros(len(rows), bool)
    for name in unique(names[rows]):
        usual = median(lasted[launches[names[launches] == name]])
        slow |= (names[rows] == name) & (lasted[rows] > SLOW * usual)
    return slow
