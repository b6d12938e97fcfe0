"""How far a host runs ahead of its device: what the device waits for it, and it for the device.

    host     [launch k][launch c]..............[launch k'][sync ....]
    device        [kernel k][collective c]......idle......[kernel k']

Where the host does not wait, a rank that is late stays late: its next launches come later too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.activity import device_waits
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.collectives.calls import CollectiveCalls
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Nanoseconds, TimeSet


class Ahead(NamedTuple):
    """Time in windows in which host and device of a rank wait for each other, shape (w,)."""

    known: bool
    """Whether devices run the collectives, and launches of some are known; else all but `starved`
    are 0. Those that were launched before the recording began have none."""
    starved: Nanoseconds
    """No device event ran, as the host had not launched the next one."""
    idle: Nanoseconds
    """The same, 0 where launches of collectives are not known."""
    waited: Nanoseconds
    """The host waited for a device that had not waited for it since its last collective."""
    other: Nanoseconds
    """The host was in no module, loader or optimizer, in no wait, and in no call of an operator or
    the runtime."""
    resumed: Nanoseconds
    """The last moment in each window at which such a wait ended, of those that have one."""


def find_ahead(
    analysis: Analysis, calls: CollectiveCalls, edges: Nanoseconds, other: Nanoseconds
) -> Ahead:
    """Find when host and device wait for each other.

    Args:
        analysis: of the rank's trace.
        calls: its collectives.
        edges: of the windows in which time is summed up, shape (w + 1,).
        other: time of the host in no row of its own in each, shape (w,).
    """
    launched = lookup(analysis.timing.launch_start, calls.first)
    windows = intervals.between(edges)
    gaps, ends = _gaps(analysis)
    starved = intervals.lengths_within(gaps, windows)
    if not (len(calls) and calls.on_device.all() and (launched >= 0).any()):
        none = np.zeros(len(windows), np.int64)
        return Ahead(False, starved, none, none, none, none[:0])
    waited = _waited(analysis, unique(calls.end), ends)
    resumed = waited[(waited[:, 1] >= edges[0]) & (waited[:, 1] <= edges[-1]), 1]
    window = np.searchsorted(edges, resumed, side="right")
    return Ahead(
        True,
        starved,
        starved,
        intervals.lengths_within(waited, windows),
        other,
        resumed[np.diff(window, append=-1) != 0],
    )


def _gaps(analysis: Analysis) -> tuple[TimeSet, Nanoseconds]:
    """Gaps of the devices until the next event is launched, and when that event begins."""
    events = analysis.device_events
    busy = events.time_of(np.ones(len(events), bool))
    order = np.argsort(events.start, kind="stable")
    before = np.concatenate([[analysis.bounds[0]], busy[:, 1]])[:-1]
    next_event = order[np.searchsorted(events.start[order], busy[:, 0])]
    # A launch that loads the kernel takes long, and the device waits for its end; a copy that the
    # host waits for ends after what it waited for.
    launch, tree = events.launch[next_event], analysis.call_tree
    by_start = isin(launch, analysis.syncs.row)
    launched = np.where(by_start, lookup(tree.start, launch), lookup(tree.end, launch))
    launched = np.minimum(launched, busy[:, 0])
    for_host = launched > before
    return intervals.of(before[for_host], launched[for_host]), busy[for_host, 0]


def _waited(analysis: Analysis, left: Nanoseconds, gap_ends: Nanoseconds) -> TimeSet:
    """Waits of the host for a device without such a gap since its last collective.

    Args:
        analysis: of the trace.
        left: ends of collectives, ascending.
        gap_ends: of the gaps, ascending.
    """
    waits = device_waits(analysis)
    last = np.searchsorted(left, waits[:, 1], side="right") - 1
    since = np.where(last >= 0, left[last], np.iinfo(np.int64).min)
    gaps_of = [np.searchsorted(gap_ends, at, side="right") for at in (since, waits[:, 1])]
    return np.asarray(waits[gaps_of[0] == gaps_of[1]])
