"""What would be gone without the cause of a finding, as a change of a replay."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import GapIndex
from tb_hookview.rules.engine.cost_accounting import Found
from tb_hookview.simulation.changes import Change, DeviceChange, HostChange, together
from tb_hookview.simulation.questions import host_rows, scaled

_ROWS = [int(cause) for cause in (Cause.DATA_LOADING, Cause.COPY, Cause.ALLOCATOR)]
"""Causes of which the whole call is gone, whether the device was idle all the time or not."""

_UNNAMED = [
    int(cause) for cause in (Cause.COMMUNICATION, Cause.PROFILER, Cause.DEVICE, Cause.UNKNOWN)
]
"""Causes without a call of the host that could be gone."""


def removed(analysis: Analysis, found: Found) -> Change:
    """What is gone without the cause of a finding, of what it was charged for.

    - Remove all syncs.
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
    sync = analysis.gaps.sync[gaps]
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
                syncs=unique(np.concatenate([sync[sync >= 0], occurrence.syncs])),
                pauses=unique(analysis.gaps.device_event[others]),
            ),
        ]
    )


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
