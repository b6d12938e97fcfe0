"""`Call` of each host row, and the calls by which libraries of kernels start.

cuBLAS, cuDNN and MIOpen start in the first operator that needs them. They call `cudaFree` or
`hipInit`, which loads their kernels and frees nothing, ask for properties of the device (unless
another library did), allocate workspaces, and take most of the time in no call:

    thread  [aten::addmm                                                  ]
              [cudaFree] [ask][ask][cudaMalloc]     no call       [launch]
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.host.rows import Call, HostRows, call_of
from tb_hookview.arrays.joins import isin, mask_of, median, setdiff, unique_inverse
from tb_hookview.arrays.nesting import lookup, self_time
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.trace import EventCategory
from tb_hookview.trace.format.vocabulary import DEVICE_CATEGORIES

_ASKS = (
    *("cudaDeviceGetAttribute", "cudaDeviceGetStreamPriorityRange", "cudaDriverGetVersion"),
    *("cudaGetDeviceCount", "cudaGetDeviceProperties", "cudaGetDeviceProperties_v2"),
    *("cudaGetSymbolAddress", "cudaHostGetDevicePointer"),
)
_SLOW = 20
"""Multiple of a usual allocation: starting cuBLAS takes 11 ms and more, an allocation 0.2 ms."""
_FAR_SLOWER = 100
"""Multiple of the longest allocation that no other one reaches."""


def call_rows(host: HostRows) -> Int:
    """`Call` of each row of the call tree.

    Calls of `cudaFree` by which a library starts are LOAD if each lasts over `_SLOW` times the
    median of all other calls that allocate or free; one with which the trace begins by its length.
    """
    # Rows on a device's threads only mirror calls.
    texts, calls = host.trace.strings, np.flatnonzero(host.kind == EventCategory.RUNTIME)
    call = np.full(len(host), Call.NONE, np.int64)
    name, place = unique_inverse(host.string[calls])
    names = [texts[string] for string in name.tolist()]
    call[calls] = np.array([call_of(text) for text in names], np.int64)[place]
    call[host.device_threads[host.call_tree.thread]] = Call.NONE
    starts = starting_calls(host)
    starts = starts[call[starts] == Call.ALLOCATE]
    if len(starts):
        duration = host.call_tree.duration
        usual = duration[setdiff(np.flatnonzero(call == Call.ALLOCATE), starts)]
        call[starts[duration[starts] > _SLOW * (median(usual) if len(usual) else 0)]] = Call.LOAD
    call[_begins_trace(host, calls, np.flatnonzero(call == Call.ALLOCATE))] = Call.LOAD
    return np.asarray(call)


def _begins_trace(host: HostRows, calls: TreeRow, allocating: TreeRow) -> TreeRow:
    """`cudaFree` with which a trace begins, if a library starts by it: what is next to it may be
    missing. It waits for no device event, and lasts far longer than any other such call."""
    tree, events = host.call_tree, host.trace.events
    first = calls[np.argsort(tree.start[calls], kind="stable")[:1]]
    others = setdiff(allocating, first)
    if len(others) in (0, len(allocating)) or host.name(int(first[0])) != "cudaFree":
        return first[:0]
    worked = events.start[isin(events.kind, [int(kind) for kind in DEVICE_CATEGORIES])]
    waits = (worked < tree.end[first]).any()
    alone = tree.duration[first] > _FAR_SLOWER * tree.duration[others].max()
    return np.asarray(first[alone & (not waits)])


def starting_calls(host: HostRows) -> TreeRow:
    """Calls by which a library starts: `hipInit`, and some of `cudaFree`.

    Right before or after these is a call that asks for properties of the device, which no
    allocator makes; or they are the first call of an operator that spends most of its time in no
    call, and `cudaMalloc` follows: an allocator frees after it failed to allocate.
    """
    frees = _calls(host, "cudaFree")
    if not len(frees):
        return _calls(host, "hipInit")
    tree, end = host.call_tree, len(host)
    asked, malloc = (mask_of(_calls(host, *each), end + 1) for each in (_ASKS, ("cudaMalloc",)))
    around = np.append(np.where(tree.parent < 0, -1 - tree.thread, tree.parent), end)
    closes = np.append(tree.subtree_end[frees[:-1]] != frees[1:], True)
    opens = np.append(True, closes[:-1])
    first, after = frees[opens], tree.subtree_end[frees[closes]]
    follows = around[after] == around[first]
    starts = asked[first - 1] & (around[first - 1] == around[first])
    starts |= asked[after] & follows
    starts |= malloc[after] & follows & _begins_idle_operator(host, first)
    return np.asarray(frees[starts[np.cumsum(opens) - 1]])


def _begins_idle_operator(host: HostRows, row: TreeRow) -> Bool:
    """Rows that are the first in an operator that spends most of its time in no row."""
    tree = host.call_tree
    above = tree.parent[row]
    free = self_time(tree.start, tree.end, tree.parent)
    idle = 2 * lookup(free, above) > lookup(tree.duration, above)
    return np.asarray((above == row - 1) & (above == host.operator_around[row]) & idle)


def _calls(host: HostRows, *names: str) -> TreeRow:
    rows = host.named(lambda name: name in names)
    return np.asarray(rows[host.kind[rows] == EventCategory.RUNTIME])
