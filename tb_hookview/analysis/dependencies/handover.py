"""Bursts of one host thread while another sleeps: `loss.backward()` and the autograd engine.

    main    [forward]M1                              M2[optimizer]
    engine              B1[node][node] ... [node]B2

The burst begins because main stopped, and main goes on because the burst ended. What either waited
for the other is no work of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import innermost_at
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, ThreadIndex
from tb_hookview.trace import EventCategory

_FILLED = 0.3
"""Share of the time in which main does nothing that a burst has to fill."""
_AWAKE = 0.1
"""Share of that time for which both threads may seem to be awake where one hands over."""


class Bursts(NamedTuple):
    """Bursts in order of thread and time, shape (b,)."""

    main: int
    """The thread that sleeps meanwhile."""
    thread: ThreadIndex
    main_stops: Nanoseconds
    start: Nanoseconds
    end: Nanoseconds
    main_goes_on: Nanoseconds


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
    own, tree = _bounds(analysis, main, start, end), analysis.call_tree
    found = [np.zeros((0, 5), np.int64)]
    for thread in others.tolist() if len(own) else ():
        rows = np.flatnonzero((tree.thread == thread) & (tree.parent < 0))
        place = np.searchsorted(own, tree.start[rows], side="right") - 1
        opens = np.flatnonzero(np.diff(place, prepend=-2))
        closes = np.append(opens[1:], len(rows)) - 1
        inside = (place[opens] >= 0) & (place[opens] < len(own) - 1)
        opens, closes = opens[inside], closes[inside]
        stops, goes_on = own[place[opens]], own[place[opens] + 1]
        began, ended = tree.start[rows[opens]], tree.end[rows[closes]]
        before = np.where(opens > 0, tree.end[rows[np.maximum(opens - 1, 0)]], start)
        awake = _AWAKE * (goes_on - stops)
        asleep = (before <= stops + awake) & (ended <= goes_on + awake)
        ended = np.minimum(ended, goes_on)
        asleep &= ended - began >= _FILLED * (goes_on - stops)
        asleep &= ~_busy(analysis, main, stops)
        columns = [np.full(len(began), thread), stops, began, ended, goes_on]
        found.append(np.stack(columns, axis=1)[asleep])
    return Bursts(main, *np.concatenate(found).T)


def _bounds(analysis: Analysis, thread: int, start: int, end: int) -> Nanoseconds:
    """Starts and ends of the rows of a thread between two moments, ascending."""
    tree = analysis.call_tree
    rows = np.flatnonzero(tree.thread == thread)
    bounds = np.sort(np.concatenate([tree.start[rows], tree.end[rows]]))
    return bounds[(bounds >= start) & (bounds <= end)]


def _busy(analysis: Analysis, thread: int, moment: Nanoseconds) -> Bool:
    """Whether a thread is inside an operator or a call of the runtime at each moment."""
    row = innermost_at(analysis.call_tree, np.full(len(moment), thread), moment)
    kinds = [int(EventCategory.OPERATOR), int(EventCategory.RUNTIME)]
    busy = isin(analysis.host.kind, kinds)
    return np.asarray((row >= 0) & busy[row])


def threads_of(analysis: Analysis, *rows: Int) -> ThreadIndex:
    """Threads of some rows of the call tree."""
    return unique(analysis.call_tree.thread[np.concatenate(rows)])
