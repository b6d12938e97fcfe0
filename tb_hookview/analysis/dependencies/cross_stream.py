"""Edges between streams of one device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.device import DeviceTimes
from tb_hookview.analysis.dependencies.graph import EdgeKind, EdgeSet, Evidence
from tb_hookview.analysis.dependencies.nodes import Nodes
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.arrays.joins import asof, median, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, Nanoseconds

_EARLY = 3_000
"""Nanoseconds by which an event may seem to begin before the one it waits for has ended."""
_LATE = 5_000
"""Nanoseconds by which an event has to be later than its edges explain for one to be guessed."""
_NEAR, _FAR = 8_000, 50_000
"""Bounds of the time after the end of another stream's event in which it is the likely reason."""
_SIGNAL = 2_000
"""Nanoseconds from stream to stream, where none can be measured."""


def by_calls(analysis: Analysis, times: DeviceTimes, nodes: Nodes) -> Iterator[EdgeSet]:
    """Yield edges that calls like `cudaStreamWaitEvent` show.

    The next launch of the thread is on the stream that waits. It waits for the stream of the launch
    before the call; if that is the same one, for all others.
    """
    tree = analysis.call_tree
    calls = np.flatnonzero(analysis.calls == Call.DEVICE_WAIT)
    rows = np.flatnonzero(times.timing.first_of_launch[times.rows])
    rows = rows[np.argsort(times.correlation[rows], kind="stable")]
    if not len(calls) or not len(rows):
        return
    thread, launched = tree.thread[times.launch[rows]], times.launched[rows]
    before = lookup(rows, asof(thread, launched, tree.thread[calls], tree.start[calls]))
    after = lookup(rows, _next(thread, launched, tree.thread[calls], tree.start[calls]))
    known = (before >= 0) & (after >= 0)
    calls, before, after = calls[known], before[known], after[known]
    other = times.stream[before] != times.stream[after]
    source, target = [before[other]], [after[other]]
    own = np.flatnonzero(~other)
    for stream in unique(times.stream).tolist():
        mine = rows[times.stream[rows] == stream]
        nothing = np.zeros(len(own), np.int64)
        began = times.launched[mine]
        found = asof(np.zeros(len(mine), np.int64), began, nothing, tree.start[calls[own]])
        found = lookup(mine, found)
        ask = (found >= 0) & (times.stream[after[own]] != stream)
        source.append(found[ask])
        target.append(after[own][ask])
    yield _edges(Evidence.CALLS, times, nodes, np.concatenate(source), np.concatenate(target))


def _next(key: Int, time: Nanoseconds, query_key: Int, query_time: Nanoseconds) -> Int:
    """First row of equal key that starts after each moment, -1 for none."""
    return asof(key, -time, query_key, -query_time - 1)


def _edges(
    evidence: Evidence, times: DeviceTimes, nodes: Nodes, source: Int, target: Int
) -> EdgeSet:
    same = times.device[source] == times.device[target]
    later = times.start[target] - times.end[source]
    allowed = same & (later >= -_EARLY)
    source, target, later = source[allowed], target[allowed], later[allowed]
    near = later[later <= _FAR]
    lag = int(median(np.clip(near, 0, _FAR))) if len(near) else _SIGNAL
    return EdgeSet(
        EdgeKind.CROSS_STREAM,
        evidence,
        nodes.of_event[source],
        nodes.of_event[target],
        np.minimum(later, lag),
        from_end=True,
    )


def by_times(times: DeviceTimes, nodes: Nodes, late: Nanoseconds) -> EdgeSet:
    """Guess edges for events later than their edges explain: another stream's event just ended.

    Args:
        times: device events.
        nodes: their nodes.
        late: time by which each node is later than explained, nanoseconds.
    """
    late = late[nodes.of_event]
    source, target = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for device in unique(times.device):
        rows = np.flatnonzero(times.device == device)
        asked = rows[late[rows] > _LATE]
        reach = np.clip(late[asked] // 10, _NEAR, _FAR)
        order = rows[np.lexsort((times.correlation[rows], times.end[rows]))]
        ends = times.end[order]
        found = np.full(len(asked), -1, np.int64)
        place = np.searchsorted(ends, times.start[asked] + _EARLY, side="right") - 1
        for _ in range(8):  # the last to end may be of the same stream
            candidate = order[np.maximum(place, 0)]
            other = (place >= 0) & (times.stream[candidate] != times.stream[asked])
            found = np.where((found < 0) & other, candidate, found)
            place -= 1
        near = (found >= 0) & (times.start[asked] - lookup(times.end, found) <= reach)
        near &= lookup(times.start, found) < times.start[asked]
        source.append(found[near])
        target.append(asked[near])
    return _edges(Evidence.TIMES, times, nodes, np.concatenate(source), np.concatenate(target))
