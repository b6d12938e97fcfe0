"""Collectives that host threads run (gloo), and the thread that waits for them.

    main    [c10d::allreduce_]W1 [node] [node]M1          M2[optimizer]
    gloo                        [gloo:all_reduce         ]

Main goes on because the collective ended. That began when it was called, and other ranks decide how
long it takes; so from the call to where main goes on is no work of any host thread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.handover import FILLED, busy, moments_of
from tb_hookview.arrays.types import Nanoseconds, ThreadIndex

_RUNS, _CALLS = ("gloo:", "mpi:", "ucc:"), "c10d::"
"""How names of collectives on threads of their own begin, and of the operators that call them."""


class CollectiveWaits(NamedTuple):
    """Waits of the main thread for a collective, in order of time, shape (w,)."""

    main: int
    """The thread that waits."""
    caller: ThreadIndex
    """Thread of the call."""
    called: Nanoseconds
    main_stops: Nanoseconds
    main_goes_on: Nanoseconds


def find_collective_waits(analysis: Analysis, main: int, start: int, end: int) -> CollectiveWaits:
    """Find the waits between two moments; each is for the collective that ends last in it."""
    tree, runs = analysis.call_tree, analysis.host.named(lambda name: name.startswith(_RUNS))
    runs = runs[(tree.thread[runs] != main) & (tree.start[runs] >= start)]
    if not len(runs):
        return CollectiveWaits(main, runs, runs, runs, runs)
    own = moments_of(analysis, main, start, end)
    calls = analysis.host.named(lambda name: name.startswith(_CALLS))
    runs = runs[np.argsort(tree.end[runs], kind="stable")]
    calls = calls[tree.start[calls] >= start]
    calls = calls[np.argsort(tree.start[calls], kind="stable")]
    after = np.searchsorted(own, tree.end[runs])
    call = np.searchsorted(tree.start[calls], tree.start[runs], side="right") - 1
    last = np.diff(after, append=-1) != 0
    known = last & (call >= 0) & (after > 0) & (after < len(own))
    runs, after, call = runs[known], after[known], calls[call[known]]
    stops, goes_on = own[after - 1], own[after]
    ran = tree.end[runs] - np.maximum(tree.start[runs], stops)
    waits = (ran >= FILLED * (goes_on - stops)) & (tree.start[call] < stops)
    waits &= ~busy(analysis, main, stops)
    call = call[waits]
    return CollectiveWaits(main, tree.thread[call], tree.start[call], stops[waits], goes_on[waits])
