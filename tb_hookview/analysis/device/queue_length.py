"""How much launched work waits for its turn on each stream of a device.

    host     [launch 1] [launch 2]     [launch 3]
    stream           [work 1         ] [work 2  ] [work 3]
    length   1       0  1              0          ...

One more with each launch's start, one less with each start of work.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Int


class QueueLength(Struct, frozen=True):
    """Length of one stream's queue from each moment to the next; shape (2 n,) for n launches."""

    time: Int
    """Nanoseconds, ascending; of a launch and a start at one moment the launch is first."""
    length: Int

    @property
    def longest(self) -> int:
        """Most that ever waited."""
        return int(self.length.max(initial=0))

    @property
    def mean(self) -> float | None:
        """Mean over the time from first to last moment; None where no time passed."""
        passed = np.diff(self.time)
        whole = int(passed.sum())
        return float((self.length[:-1] * passed).sum() / whole) if whole else None


def queue_length(call_tree: CallTree, events: DeviceEvents, chosen: Bool) -> QueueLength:
    """Length of the queue of the events chosen (shape (d,)), as far as their launches are known.

    What of it lies on several streams counts as if it were on one.
    """
    rows = np.flatnonzero(chosen & (events.launch >= 0))
    launched = lookup(call_tree.start, events.launch[rows])
    time = np.concatenate([launched, events.start[rows]])
    change = np.repeat([1, -1], len(rows))
    order = np.lexsort((-change, time))
    return QueueLength(time[order], np.cumsum(change[order]))
