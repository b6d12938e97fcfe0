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
from tb_hookview.analysis.collectives.calls import CALLS, ON_HOST
from tb_hookview.analysis.dependencies.handover import FILLED, busy, moments_of
from tb_hookview.arrays.types import Nanoseconds, ThreadIndex


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
    """Find the waits between two moments; each is for the collective that ends next."""
    tree, runs = analysis.call_tree, analysis.host.named(lambda name: name.startswith(ON_HOST))
    runs = runs[(tree.thread[runs] != main) & (tree.start[runs] >= start)]
    if not len(runs):
        return CollectiveWaits(main, runs, runs, runs, runs)
    own = moments_of(analysis, main, start, end)
    calls = analysis.host.named(lambda name: name.startswith(CALLS))
    runs = runs[np.argsort(tree.end[runs], kind="stable")]
    calls = calls[tree.start[calls] >= start]
    calls = calls[np.argsort(tree.start[calls], kind="stable")]
    waits = analysis.communication_waits
    # Its row may end after the thread was woken.
    run = np.searchsorted(tree.end[runs], waits[:, 1])
    before = np.searchsorted(own, waits[:, 0], side="right") - 1
    after = np.searchsorted(own, waits[:, 1])
    known = (run < len(runs)) & (before >= 0) & (after < len(own))
    waits, runs, before, after = waits[known], runs[run[known]], before[known], after[known]
    call = np.searchsorted(tree.start[calls], tree.start[runs], side="right") - 1
    stops, goes_on = own[before], own[after]
    called = tree.start[calls[np.maximum(call, 0)]] if len(calls) else goes_on
    is_wait = (call >= 0) & (called < stops)
    is_wait &= waits[:, 1] - waits[:, 0] >= FILLED * (goes_on - stops)
    is_wait &= ~busy(analysis, main, stops)
    call = calls[call[is_wait]]
    return CollectiveWaits(
        main, tree.thread[call], tree.start[call], stops[is_wait], goes_on[is_wait]
    )
