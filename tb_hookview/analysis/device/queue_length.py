"""Number of launched device events that wait on each stream of a device.

    host     [launch 1] [launch 2]     [launch 3]
    stream           [kernel 1       ] [kernel 2] [kernel 3]
    length   1       0  1              0          ...

One more with each launch's start, one less with each device event's start.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Int, Nanoseconds


class QueueLength(Struct, frozen=True):
    """Length of one stream's queue from each moment to the next.

    Arrays are of shape (2 n,) for n launches.
    """

    time: Nanoseconds
    """Ascending; of a launch and a start at one moment the launch is first."""
    length: Int

    @property
    def longest(self) -> int:
        """Maximum of the length."""
        return int(self.length.max(initial=0))

    @property
    def mean(self) -> float | None:
        """Mean over the time from first to last moment; None where no time passed."""
        passed = np.diff(self.time)
        whole = int(passed.sum())
        return float((self.length[:-1] * passed).sum() / whole) if whole else None


def queue_length(call_tree: CallTree, events: DeviceEvents, chosen: Bool) -> QueueLength:
    """Length of the queue of the events chosen (shape (d,)) whose launches are known.

    Events of several streams count as if they were on one.
    """
    rows = np.flatnonzero(chosen & (events.launch >= 0))
    launched = lookup(call_tree.start, events.launch[rows])
    time = np.concatenate([launched, events.start[rows]])
    change = np.repeat([1, -1], len(rows))
    order = np.lexsort((-change, time))
    return QueueLength(time[order], np.cumsum(change[order]))
