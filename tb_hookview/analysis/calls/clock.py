"""By how much the clock of the devices is ahead of the host's, as far as the trace shows it.

host     [launch]       [synchronize       ]
device         [event 1                      ]
                                           ended after the call that waited for it
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.calls.division import CallTimes
from tb_hookview.analysis.consistency.checks import LARGEST_SKEW_NS
from tb_hookview.analysis.device.events import LaunchTiming
from tb_hookview.arrays.joins import median
from tb_hookview.arrays.types import Nanoseconds

_LET_IN_NS = 3_000
"""Time from the start of an event to the return of a launch that found room by it, at least."""


def clock_ahead(timing: LaunchTiming, calls: CallTimes) -> int:
    """Least correction of the devices' clock, nanoseconds; below 0 where it is behind.

    With it no wait returns before what it waited for has ended, and no event begins before its
    launch, where most of those onto an idle device seem to: 0 where this is so as recorded. Where
    no correction does both, as clocks drift, the waits decide, as far as launches usually take.
    """
    late = np.concatenate([_after_waits(timing, calls), _after_room(timing, calls)])
    least = int(late[np.abs(late) <= LARGEST_SKEW_NS].max(initial=-LARGEST_SKEW_NS))
    events, launched = timing.device_events, timing.launch_start
    passed = events.start - launched
    if least > 0:
        soonest = int(passed[launched >= 0].min(initial=LARGEST_SKEW_NS))
        return min(least, max(soonest, timing.launch_latency))
    passed = passed[(launched >= 0) & (timing.busy_until <= launched)]
    early = passed[(passed < 0) & (passed >= -LARGEST_SKEW_NS)]
    return max(least, int(early.min())) if 2 * len(early) > len(passed) else 0


def _after_waits(timing: LaunchTiming, calls: CallTimes) -> Nanoseconds:
    """Time from the return of each call that waited to the end of what it waited for."""
    row, end = calls.row[calls.waiting], timing.device_events.end[calls.event]
    waited = (end > timing.call_tree.start[row]) & (calls.copy[calls.waiting] != calls.event)
    return np.asarray((end - timing.call_tree.end[row])[waited])


def _after_room(timing: LaunchTiming, calls: CallTimes) -> Nanoseconds:
    """Median time from the return of launches onto a full queue to the events that let them in."""
    returned = timing.call_tree.end[calls.onto_full_queue]
    if not len(returned):
        return returned
    start = timing.device_events.start
    after = np.minimum(np.searchsorted(start, returned), len(start) - 1)
    left, passed = start[after] - returned, returned - start[np.maximum(after - 1, 0)]
    near = np.where(np.abs(left) < np.abs(passed), left, -passed)
    return np.array([median(near) + _LET_IN_NS], np.int64)
