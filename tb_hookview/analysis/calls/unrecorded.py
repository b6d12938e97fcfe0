"""Waits for an event of which only what follows is in the trace.

    host     [cudaEventElapsedTime]                          [cudaEventElapsedTime]
    stream      [kernel                                    ]

Time between two events is asked for once both are done, and some profilers leave out the
synchronize before (`cudaEventSynchronize`). Then the thread has no row until right after the end of
what it waited for. So DistributedDataParallel reads its own clock, as each forward begins, in its
first ten steps and then every 100th.
"""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.calls.waits import Part, none
from tb_hookview.analysis.device.events import LaunchTiming
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Nanoseconds, TreeRow

_ELAPSED = re.compile(r"(cuda|hip|mu|musa)EventElapsedTime(_\w+)?")
"""Names of calls that read the time between two events."""
_SYNCHRONIZE = re.compile(r"(cuda|hip|mu|musa)EventSynchronize(_\w+)?")
_SHORTEST_NS = 100_000
"""Time without a row from which on it is no work of the host's own."""
_RETURN_NS = 200_000
"""Longest time from the end of what was waited for to the call: the host has to wake."""


def of_elapsed_times(timing: LaunchTiming) -> tuple[Part, Nanoseconds]:
    """Calls that read the time between events after such a wait, and how long before them it began.

    What they waited for and what is left of that time is before their start. Nothing is assumed
    where the trace has any synchronize of an event, or where the event that ended last was launched
    after the thread's last row.
    """
    host, events = timing.host, timing.device_events
    row = host.named(_ELAPSED.fullmatch)
    row = row[~host.device_threads[timing.call_tree.thread[row]]]
    if not len(row) or not len(events) or len(host.named(_SYNCHRONIZE.fullmatch)):
        row = row[:0]
    end, since = timing.call_tree.start[row], _ends_before(timing.call_tree, row)
    order = np.argsort(events.end, kind="stable")
    ahead = lookup(order, np.searchsorted(events.end[order], end, side="right") - 1)
    done = lookup(events.end, ahead)
    waits = (ahead >= 0) & (end - since > _SHORTEST_NS) & (end - done <= _RETURN_NS)
    waits &= (done > since) & (lookup(timing.launch_start, ahead) < since)
    row, ahead, waited = row[waits], ahead[waits], (done - since)[waits]
    part = Part(row, waited, waited * 0, ahead, none(row), np.arange(len(row)), ahead)
    return part, (end - since)[waits]


def _ends_before(tree: CallTree, row: TreeRow) -> Nanoseconds:
    """End of the row before each on its thread, or start of the one around it if it is the first.

    A row that is the first of its thread has its own start.
    """
    around, before = tree.parent[row], np.maximum(row - 1, 0)
    first = (before == around) | (tree.thread[before] != tree.thread[row]) | (row == 0)
    climbing = np.flatnonzero(~first)
    while len(climbing := climbing[tree.parent[before[climbing]] != around[climbing]]):
        before[climbing] = tree.parent[before[climbing]]
    opened = np.where(around >= 0, lookup(tree.start, around), tree.start[row])
    return np.asarray(np.minimum(np.where(first, opened, tree.end[before]), tree.start[row]))
