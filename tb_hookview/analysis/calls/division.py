"""How the time of each call of the runtime divides: waiting, transfer, its own work.

    host     [cudaMemcpyAsync                               ]
             | waited            |   | transfer         | own
    stream   [kernel            ]    [copy                 ]

- *Waited* is the time from the start of the call to the end of the device event ahead of it: the
  last to end of those launched before that the call waits for. A launch onto a full queue waits for
  as long as it takes more than usual.
- *Transfer* is what passes of the call's own copy in the rest of it.
- *Own* work is what is left.

This is the one place that says what a call waits for. Syncs, time blocked, idle time, edges of the
dependency graph, and so gains and bounds, follow from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.calls.copies import find_copies, of_copies, of_unseen_copies
from tb_hookview.analysis.calls.full_queue import of_launches
from tb_hookview.analysis.calls.part import Part
from tb_hookview.analysis.calls.waits import of_frees, of_syncs
from tb_hookview.analysis.device.launch_timing import LaunchTiming
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds, TreeRow


class CallTimes(Struct, frozen=True):
    """Division of calls that may wait or hold the host; shape (c,), by row.

    A call that is not here waited for nothing: all of its time is its own.
    """

    row: TreeRow
    """Ascending."""
    waited: Nanoseconds
    """For earlier device work."""
    transfer: Nanoseconds
    """Of its own copy."""
    own: Nanoseconds
    """The three add up to the duration."""
    ahead: DeviceEventIndex
    """The event that was waited for, -1 for none."""
    copy: DeviceEventIndex
    """The copy that held the host, -1 for none."""
    blocks: Nanoseconds
    """Time from its start in which a call is a sync; -1 for one that is none."""
    waiting: Int
    """Index of a call that cannot return before an event, whether it waited for it or not; shape
    (w,). A call may have several."""
    event: DeviceEventIndex
    """That event, shape (w,)."""
    onto_full_queue: TreeRow
    """Launches that waited for room in the full queue of a device, ascending."""
    unpinned: Bool
    """Rows of the call tree that copied unpinned memory, which the host may do by itself."""

    def __len__(self) -> int:
        return len(self.row)


def divide_calls(timing: LaunchTiming, skew: int) -> CallTimes:
    """Divide the time of calls that may wait, and of copies that hold the host.

    Args:
        timing: the calls, and device events with their launches.
        skew: difference of the clocks, nanoseconds: what ended no later after the return of a call
            ended in it.
    """
    copies = find_copies(timing)
    held, unseen = of_copies(timing, copies, skew), of_unseen_copies(timing)
    always = (timing.call == Call.WAIT) | (timing.call == Call.COPY)
    always[held.row] = False
    syncs = of_syncs(timing, np.flatnonzero(always), skew)
    frees = of_frees(timing, np.flatnonzero(timing.call == Call.ALLOCATE), skew)
    full = of_launches(timing, np.concatenate([held.row, syncs.row]))
    unpinned = np.zeros(len(timing.host), bool)
    unpinned[copies.launch[copies.unpinned]] = True
    duration = timing.call_tree.duration
    blocks = [
        duration[held.row],
        duration[unseen.row],
        duration[syncs.row],
        np.where(frees.waited > 0, frees.waited, -1),
        np.full(len(full.row), -1, np.int64),
    ]
    return _joined((held, unseen, syncs, frees, full), blocks, duration, unpinned)


def _joined(
    parts: Sequence[Part], blocks: Sequence[Nanoseconds], duration: Nanoseconds, unpinned: Bool
) -> CallTimes:
    """All parts in order of rows."""
    sizes = np.cumsum([0, *(len(part.row) for part in parts)])
    row, waited, transfer, ahead, copy = (
        np.concatenate([part[column] for part in parts]) for column in range(5)
    )
    waiting = np.concatenate(
        [part.waiting + first for part, first in zip(parts, sizes[:-1], strict=True)]
    )
    order = np.argsort(row, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return CallTimes(
        row=row[order],
        waited=waited[order],
        transfer=transfer[order],
        own=(duration[row] - waited - transfer)[order],
        ahead=np.where(waited > 0, ahead, -1)[order],
        copy=copy[order],
        blocks=np.concatenate(blocks)[order],
        waiting=place[waiting],
        event=np.concatenate([part.event for part in parts]),
        onto_full_queue=parts[-1].row,
        unpinned=unpinned,
    )
