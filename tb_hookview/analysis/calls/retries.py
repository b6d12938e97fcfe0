"""Waits of torch's caching allocator after an allocation that failed.

    host    [cudaMalloc]                     [cudaFree][cudaFree][cudaMalloc]
    stream 2   [kernel                      ]

Before it frees what it has cached, the allocator waits for blocks that other streams still use. It
does so by a call that profilers do not record, so the trace has nothing in between.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.calls.waits import is_free
from tb_hookview.analysis.device.launch_timing import LaunchTiming
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.arrays.types import Nanoseconds, TreeRow

_SHORTEST_NS = 50_000
"""Time between the two calls below which it may be the allocator's own work."""


class Retries(Struct, frozen=True):
    """Times between a failed allocation and the first free after it, by row; shape (r,)."""

    row: TreeRow
    """The call that frees."""
    start: Nanoseconds
    """Return of the call that failed."""
    end: Nanoseconds
    """Start of the call that frees."""


def find_retries(timing: LaunchTiming) -> Retries:
    """Find where an operator allocates, does nothing in the trace for long, and frees."""
    host, tree = timing.host, timing.call_tree
    calls = np.flatnonzero(timing.call == Call.ALLOCATE)
    frees = np.zeros(len(host), bool)
    frees[calls] = is_free(host, calls)
    first, then = calls[:-1], calls[1:]
    operator = host.operator_around
    found = ~frees[first] & frees[then] & (tree.subtree_end[first] == then)
    found &= (operator[first] >= 0) & (operator[first] == operator[then])
    found &= tree.start[then] - tree.end[first] >= _SHORTEST_NS
    return Retries(then[found], tree.end[first][found], tree.start[then][found])
