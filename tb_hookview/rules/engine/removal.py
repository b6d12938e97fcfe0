"""What would be gone without the cause of a finding, as a change of a replay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, scatter, setdiff, union, unique
from tb_hookview.arrays.types import GapIndex, SyncIndex
from tb_hookview.rules.engine.cost_accounting import Found
from tb_hookview.simulation.changes import Change, DeviceChange, HostChange, together
from tb_hookview.simulation.questions import host_rows, scaled

_ROWS = [int(cause) for cause in (Cause.DATA_LOADING, Cause.COPY, Cause.ALLOCATOR)]
"""Causes of which the whole call is gone, whether the device was idle all the time or not."""

_OWN = 0.1
"""Part of the time of the wait in whose place a sync would wait, up to which it waits by itself."""

_UNNAMED = [
    int(cause) for cause in (Cause.COMMUNICATION, Cause.PROFILER, Cause.DEVICE, Cause.UNKNOWN)
]
"""Causes without a call of the host that could be gone."""


def removed(analysis: Analysis, found: Found) -> Change:
    """What is gone without the cause of a finding, of what it was charged for.

    - Remove all syncs, and those right after that would wait for the same work in their place.
    - Calls that load data, copy, or allocate take no time; nor does what the host did otherwise
      while the device was idle.
    - Pauses that nothing explains are gone where the occurrence has idle time of no known cause.
    - Of avoidable device events and host time, and of the rows that the occurrence says are gone,
      the part that the fix saves.

    Where the occurrence names what a what-if scales, that is gone instead, on device and host.
    """
    occurrence, gaps = found.occurrence, found.charge.gaps
    if occurrence.scale:
        return scaled(analysis, {occurrence.scale: 0.0})
    causes = analysis.gaps.cause[gaps]
    rows = analysis.gaps.row[gaps[isin(causes, _ROWS)]]
    late = gaps[(causes == Cause.LAUNCH) | (causes == Cause.KERNEL_LOADING)]
    others = gaps[isin(causes, _UNNAMED)]
    syncs = own_syncs(analysis, found)
    return together(
        [
            host_rows(analysis, rows[rows >= 0]),
            host_rows(analysis, occurrence.gone, 1 - occurrence.saved),
            _between_launches(analysis, late),
            Change(
                host=tuple(HostChange(*each, 1 - occurrence.saved) for each in found.charge.host)
            ),
            Change(
                device=(
                    DeviceChange(occurrence.wasted, 1 - occurrence.saved, found.charge.wasted_ns),
                ),
                syncs=union(syncs, waiting_instead(analysis, syncs)),
                pauses=unique(analysis.gaps.device_event[others]),
            ),
        ]
    )


def without_syncs(syncs: Sequence[SyncIndex]) -> Change:
    """What is gone without some syncs alone."""
    return Change(syncs=unique(np.concatenate(syncs)))


def own_syncs(analysis: Analysis, found: Found) -> SyncIndex:
    """Syncs that are the cause of a finding, ascending."""
    sync = analysis.gaps.sync[found.charge.gaps]
    return unique(np.concatenate([sync[sync >= 0], found.occurrence.syncs]))


def waiting_instead(analysis: Analysis, syncs: SyncIndex) -> SyncIndex:
    """Syncs that would wait for the same work if some others did not, without these; ascending.

        host    [sync              ] [next sync]
        stream  [kernel           ]  [copy]

    One comes next on its thread, before anything else is launched, sooner after the return of the
    one that is gone than this had waited, and hardly waits for work of its own. The one after it is
    asked the same. A launch that waits for what it launched is neither: that work is its own.
    """
    every, thread = analysis.syncs, analysis.call_tree.thread[analysis.syncs.row]
    launches = isin(every.row, analysis.call_times.blocking_launch)
    gone = last = syncs[(every.waited[syncs] > 0) & ~launches[syncs]]
    found = [gone[:0]]
    if not len(gone):
        return found[0]
    launch = analysis.device_events.launch
    launched = np.sort(analysis.call_tree.start[unique(launch[launch >= 0])])
    order = np.lexsort((every.start, thread))
    follows = scatter(order[:-1], order[1:], len(every))
    while len(gone):
        then, between = follows[last], every.end[last]
        waits = (then >= 0) & (thread[then] == thread[gone])
        waits &= ~launches[then] & ~every.by_profiler[then]
        waits &= every.start[then] - every.end[gone] < every.waited[gone]
        waits &= every.waited[then] <= _OWN * every.waited[gone]
        before, after = (np.searchsorted(launched, t) for t in (between, every.start[then]))
        waits &= before == after
        gone, last = gone[waits], then[waits]
        found.append(last)
    return setdiff(unique(np.concatenate(found)), syncs)


def _between_launches(analysis: Analysis, gaps: GapIndex) -> Change:
    """The host's time in some gaps, on the threads that ended them by a launch or a wait."""
    row = analysis.gaps.launch_after(analysis.device_events, gaps)
    gaps, row = gaps[row >= 0], row[row >= 0]
    thread, changes = analysis.call_tree.thread[row], []
    for each in unique(thread).tolist():
        mine = gaps[thread == each]
        time = intervals.of(analysis.gaps.start[mine], analysis.gaps.end[mine])
        changes.append(HostChange(each, time))
    return Change(host=tuple(changes))
