"""Time in which a training thread waits for a collective that the host runs (gloo, MPI, UCC).

    main    [node][c10d::allreduce_][node].....................[optimizer]
    gloo           [gloo:all_reduce                          ]
    waits                                 |------------------|

A thread waits from its last row, or from the start of the collective where that is later, to the
collective's end if it goes on soon after: later by no more than it waited. It may also go on before
the collective's row ends, which wakes it and then is put aside: earlier by at most a tenth of what
it waited. Inside an operator that computes it does not wait. Python that runs without a row
meanwhile looks like waiting.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.collectives.calls import CALLS, ON_HOST
from tb_hookview.analysis.collectives.names import POINT_TO_POINT, kind_of_collective
from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import innermost_at
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, ThreadIndex, TimeSet, TreeRow
from tb_hookview.trace import EventCategory

_LATE = 10
"""Least ratio of a wait to the time by which the row of its collective outlasts it."""
_LONG_NS = 100_000
"""Shorter holes are no waits of that sort."""
_LOOKED_BACK = 32
"""Longer holes before the end of a collective, all but the first of which may be Python's."""


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
    messages = host.named(lambda name: kind_of_collective(name) in POINT_TO_POINT)
    is_message = isin(runs, messages)
    found = [
        _waits(host, thread, among, tree.start[of], tree.end[of])
        for thread in (threads if len(threads) else unique(tree.thread[calls])).tolist()
        for of, among in (
            (runs[~is_message], waiting),
            (runs[is_message], waiting & _may_wait_for(host, messages)),
        )
        if len(of)
    ]
    return intervals.normal(np.concatenate([intervals.EMPTY, *found]))


def _may_wait_for(host: HostRows, messages: TreeRow) -> Bool:
    """Rows inside which a thread may wait for messages: none of modules and nodes without any."""
    tree = host.call_tree
    works = isin(host.role, [int(Role.FORWARD_MARK), int(Role.NODE)])
    sends = np.zeros(len(host), bool)
    outermost = tree.nearest(works & (tree.nearest_above(works) < 0))[messages]
    sends[outermost[outermost >= 0]] = True
    return ~tree.inside(works) | tree.inside(sends)


def _may_wait(host: HostRows, calls: TreeRow) -> Bool:
    """Rows directly inside which a thread may wait: all but operators that compute."""
    operator = (host.kind == EventCategory.OPERATOR) & (host.role == Role.NONE)
    operator |= (host.kind == EventCategory.RUNTIME) | (host.role == Role.GRADIENT_SINK)
    operator[calls] = False
    return np.asarray(~operator)


def _waits(
    host: HostRows, thread: int, waiting: Bool, start: Nanoseconds, end: Nanoseconds
) -> TimeSet:
    """Waits of a thread for some collectives."""
    tree = host.call_tree
    rows = np.flatnonzero(tree.thread == thread)
    moment = unique(np.concatenate([tree.start[rows], tree.end[rows]]))
    if len(moment) < 2:
        return intervals.EMPTY
    row = innermost_at(tree, np.full(len(moment) - 1, thread), (moment[:-1] + moment[1:]) // 2)
    holes = np.flatnonzero((row < 0) | waiting[row])
    stops, goes_on = moment[holes], moment[holes + 1]
    if not len(holes):
        return intervals.EMPTY
    found = [_until_the_end(stops, goes_on, start, end, np.searchsorted(goes_on, end))]
    long = goes_on - stops >= _LONG_NS
    stops, goes_on = stops[long], goes_on[long]
    before = np.searchsorted(goes_on, end) - 1
    found += [
        _woken_before_the_end(stops, goes_on, start, end, before - back)
        for back in range(_LOOKED_BACK if len(stops) else 0)
    ]
    return intervals.normal(np.concatenate(found))


def _until_the_end(
    stops: Nanoseconds, goes_on: Nanoseconds, start: Nanoseconds, end: Nanoseconds, hole: Int
) -> TimeSet:
    """Waits in holes that hold the ends of the collectives."""
    hole, inside = np.minimum(hole, len(stops) - 1), hole < len(stops)
    since = np.maximum(stops[hole], start)
    waits = inside & (since < end) & (goes_on[hole] - end <= end - since)
    return intervals.of(since[waits], end[waits])


def _woken_before_the_end(
    stops: Nanoseconds, goes_on: Nanoseconds, start: Nanoseconds, end: Nanoseconds, hole: Int
) -> TimeSet:
    """Waits in holes that end shortly before the collectives do."""
    hole, inside = np.maximum(hole, 0), hole >= 0
    since = np.maximum(stops[hole], start)
    waits = inside & (_LATE * (end - goes_on[hole]) <= goes_on[hole] - since)
    return intervals.of(since[waits], goes_on[hole[waits]])
