"""Bursts of one host thread while another sleeps: `loss.backward()` and the autograd engine.

    main    [forward]M1                              M2[optimizer]
    engine              B1[node][node] ... [node]B2

The burst begins because main stopped, and main goes on because the burst ended. What either waited
for the other is no work of its own. One of the two may be missing: a thread that main wakes and
works beside, or one that main waits for which has long been at work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import innermost_at
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, ThreadIndex, TimeSet
from tb_hookview.trace import EventCategory

FILLED = 0.3
"""Share of the time in which main does nothing that a burst has to fill, if it may be by chance.

The autograd engine's is none: main waits for it, and may then do what the trace does not show.
"""
_AWAKE = 0.1
"""Share of that time for which both threads may seem to be awake where one hands over."""
_SLEEP = 100_000
"""Nanoseconds without a row from which on a thread sleeps, if main works meanwhile."""
_WORKED = 0.5
"""Share of that time in which main has to work."""
_AT_WORK = (int(EventCategory.OPERATOR), int(EventCategory.RUNTIME))
"""Kinds of rows in which a thread is awake."""


class Bursts(NamedTuple):
    """Bursts in order of thread and time, shape (b,)."""

    main: int
    """The thread that sleeps meanwhile, or works beside."""
    thread: ThreadIndex
    asleep_since: Nanoseconds
    """End of what the thread did before."""
    main_stops: Nanoseconds
    """Last moment of main before the burst."""
    start: Nanoseconds
    end: Nanoseconds
    main_goes_on: Nanoseconds
    woken: Bool
    """Whether the burst begins because main came to `main_stops`."""
    awaited: Bool
    """Whether main goes on because the burst ended."""


def main_thread(analysis: Analysis, launches: Int) -> int:
    """Thread that marks steps; else the one that launches most outside of the backward pass."""
    marked = analysis.steps.thread[analysis.steps.thread >= 0]
    if len(marked):
        return int(marked[0])
    rows = launches[analysis.row_node[launches] < 0]
    if not len(rows):
        rows = np.flatnonzero(~analysis.host.device_threads[analysis.call_tree.thread])
    return int(np.bincount(analysis.call_tree.thread[rows]).argmax()) if len(rows) else -1


def find_bursts(analysis: Analysis, main: int, others: ThreadIndex, start: int, end: int) -> Bursts:
    """Find the bursts of other threads between two moments."""
    own = moments_of(analysis, main, start, end)
    engines = threads_of(analysis, analysis.nodes.row)
    work = cache(partial(_work, analysis, main))
    found = [np.zeros((0, 8), np.int64)]
    for thread in others.tolist() if len(own) else ():
        spans = _spans(analysis, thread, own, start)
        _, since, stops, began, ended, goes_on, until = spans.T
        gap = goes_on - stops
        awake = _AWAKE * gap
        handed = ~busy(analysis, main, stops) & (ended <= goes_on + awake)
        ended = np.minimum(ended, goes_on)
        handed &= isin(spans[:, 0], engines) | (ended - began >= FILLED * gap)
        slept = since <= stops + awake
        woken = (handed & slept) | _sleeps(work, since, began)
        awaited = handed & (slept | _sleeps(work, ended, until))
        spans[:, 4] = ended
        columns = [*spans[:, :6].T, woken, awaited]
        found.append(np.stack(columns, axis=1)[woken | awaited])
    thread, since, stops, began, ended, goes_on, woken, awaited = np.concatenate(found).T
    return Bursts(
        main, thread, since, stops, began, ended, goes_on, woken=woken > 0, awaited=awaited > 0
    )


def _spans(analysis: Analysis, thread: int, own: Nanoseconds, start: int) -> Nanoseconds:
    """What a thread does between each two moments of main, shape (s, 7).

    Columns: the thread, the end of its row before, the moment of main before, its start and end,
    the moment of main after, the start of its next row.
    """
    tree = analysis.call_tree
    rows = np.flatnonzero((tree.thread == thread) & (tree.parent < 0))
    place = np.searchsorted(own, tree.start[rows], side="right") - 1
    opens = np.flatnonzero(np.diff(place, prepend=-2))
    closes = np.append(opens[1:], len(rows)) - 1
    inside = (place[opens] >= 0) & (place[opens] < len(own) - 1)
    opens, closes = opens[inside], closes[inside]
    last = closes + 1 == len(rows)
    columns = [
        np.full(len(opens), thread),
        np.where(opens > 0, tree.end[rows[np.maximum(opens - 1, 0)]], start),
        own[place[opens]],
        tree.start[rows[opens]],
        tree.end[rows[closes]],
        own[place[opens] + 1],
        np.where(last, own[-1], tree.start[rows[np.where(last, closes, closes + 1)]]),
    ]
    return np.stack(columns, axis=1)


def _work(analysis: Analysis, thread: int) -> TimeSet:
    """Time in which a thread is inside an operator or a call of the runtime."""
    tree = analysis.call_tree
    rows = np.flatnonzero((tree.thread == thread) & isin(analysis.host.kind, _AT_WORK))
    return intervals.of(tree.start[rows], tree.end[rows])


def _sleeps(work: Callable[[], TimeSet], since: Nanoseconds, until: Nanoseconds) -> Bool:
    """Whether a thread without rows sleeps from some moments to others: main works meanwhile."""
    long = np.flatnonzero(until - since >= _SLEEP)
    sleeps = np.zeros(len(since), bool)
    if len(long):
        spans = np.stack([since, until], axis=1)[long]
        worked = intervals.lengths_within(work(), spans)
        sleeps[long] = worked >= _WORKED * (spans[:, 1] - spans[:, 0])
    return sleeps


def moments_of(analysis: Analysis, thread: int, start: int, end: int) -> Nanoseconds:
    """Starts and ends of the rows of a thread between two moments, ascending."""
    tree = analysis.call_tree
    rows = np.flatnonzero(tree.thread == thread)
    bounds = np.sort(np.concatenate([tree.start[rows], tree.end[rows]]))
    return bounds[(bounds >= start) & (bounds <= end)]


def busy(analysis: Analysis, thread: int, moment: Nanoseconds) -> Bool:
    """Whether a thread is inside an operator or a call of the runtime at each moment."""
    row = innermost_at(analysis.call_tree, np.full(len(moment), thread), moment)
    return np.asarray((row >= 0) & isin(analysis.host.kind[row], _AT_WORK))


def threads_of(analysis: Analysis, *rows: Int) -> ThreadIndex:
    """Threads of some rows of the call tree."""
    return unique(analysis.call_tree.thread[np.concatenate(rows)])
