"""Time in which a training thread waits for a collective that the host runs (gloo, MPI, UCC).

    main    [node][c10d::allreduce_][node].....................[optimizer]
    gloo           [gloo:all_reduce                          ]
    waits                                 |------------------|

A thread waits from its last row, or from the start of the collective where that is later, to the
collective's end if it goes on soon after: later by no more than it waited. Inside an operator that
computes it does not wait. Python that runs without a row meanwhile looks like waiting.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.collectives.calls import CALLS, ON_HOST
from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import innermost_at
from tb_hookview.arrays.types import Bool, Nanoseconds, ThreadIndex, TimeSet, TreeRow
from tb_hookview.trace import EventCategory


def find_host_waits(host: HostRows, threads: ThreadIndex) -> TimeSet:
    """Time in which any of some threads waits for a collective.

    Args:
        host: host rows.
        threads: those that train; where there are none, those that call collectives.
    """
    tree = host.call_tree
    runs = host.named(lambda name: name.startswith(ON_HOST))
    if not len(runs):
        return intervals.EMPTY
    calls = host.named(lambda name: name.startswith(CALLS))
    waiting = _may_wait(host, calls)
    runs = runs[np.argsort(tree.start[runs], kind="stable")]
    start, end = tree.start[runs], tree.end[runs]
    found = [
        _waits(host, thread, waiting, start, end)
        for thread in (threads if len(threads) else unique(tree.thread[calls])).tolist()
    ]
    return intervals.normal(np.concatenate([intervals.EMPTY, *found]))


def _may_wait(host: HostRows, calls: TreeRow) -> Bool:
    """Rows directly inside which a thread may wait: all but operators that compute."""
    operator = (host.kind == EventCategory.OPERATOR) & (host.role == Role.NONE)
    operator |= (host.kind == EventCategory.RUNTIME) | (host.role == Role.GRADIENT_SINK)
    operator[calls] = False
    return np.asarray(~operator)


def _waits(
    host: HostRows, thread: int, waiting: Bool, start: Nanoseconds, end: Nanoseconds
) -> TimeSet:
    """Waits of a thread for some collectives, in order of their start."""
    tree = host.call_tree
    rows = np.flatnonzero(tree.thread == thread)
    moment = unique(np.concatenate([tree.start[rows], tree.end[rows]]))
    after = np.searchsorted(moment, end)
    inside = (after > 0) & (after < len(moment))
    after, start, end = after[inside], start[inside], end[inside]
    stops, goes_on = moment[after - 1], moment[after]
    since = np.maximum(stops, start)
    row = innermost_at(tree, np.full(len(stops), thread), (stops + goes_on) // 2)
    waits = (goes_on - end <= end - since) & ((row < 0) | waiting[row])
    return intervals.of(since[waits], end[waits])
