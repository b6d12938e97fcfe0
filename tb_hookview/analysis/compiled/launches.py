"""The call of the map that each device event ran for, replayed graphs included.

What is launched event by event follows the row of its call. A replayed CUDA graph is one launch:
its events in order are aligned with the calls by the names of the generated kernels, and the others
between two of these belong to the extern calls between them (`between.py`). The order is that of
time, which is that of calls on one stream only. In a replay on several it is that of the graph's
nodes, which are numbered as they were captured; without numbers, or if they put generated kernels
in another order than the map, only generated kernels with a name of their own are placed.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.compiled.alignment import align
from tb_hookview.analysis.compiled.between import ANY, CLOSED, PRODUCTS, calls_between
from tb_hookview.analysis.compiled.graphs import Variants
from tb_hookview.analysis.compiled.names import is_generated
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.device.kinds import kind_of_kernel
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import dense_rank, first_of_each, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds, StringIndex

UNPAIRED = 0.05
"""Part of a range's time that may have no call; above it, trace and map are of two graphs."""
_UNNAMED, _UNLISTED = -1, -2
_ANCHORS = 3
"""Generated kernels that have to be in order of the map, for nodes to be numbered in that order."""


def is_graph_launch(host: HostRows) -> Bool:
    """Whether each row of the call tree replays a graph."""
    found = np.zeros(len(host), bool)
    found[host.named(lambda text: "GraphLaunch" in text)] = True
    return found


def calls_of_events(
    host: HostRows,
    variants: Variants,
    variant: Int,
    around: Int,
    row_call: Int,
    events: DeviceEvents,
) -> tuple[Int, Bool]:
    """Find the call of each device event.

    Args:
        host, variants, events: of the trace.
        variant: of each range, shape (r,).
        around: range around each row of the call tree, -1 for none.
        row_call: call around each row of the call tree, -1 for none.

    Returns:
        The call, -1 for none, shape (d,); and whether what each range replays is not what its
        variant lists, shape (r,).
    """
    found = lookup(row_call, events.launch)
    is_launch = is_graph_launch(host)
    replays = np.zeros(len(variant) + 1, bool)
    replays[around[is_launch]] = True
    replays[-1] = False  # of rows in no range
    mine = np.flatnonzero(replays[lookup(around, events.launch)])
    if not len(mine):
        return found, replays[:-1]
    ordered, by_time, by_node = _in_order(host, events, mine)
    launch, string = events.launch[ordered], host.trace.events.name[events.event[ordered]]
    name, product = _named(host, variants, string.astype(np.int64))
    run = _Run(
        range=around[launch],
        call=found[ordered],
        replayed=is_launch[launch] & (found[ordered] < 0),
        name=name,
        product=product,
        time=events.duration[ordered],
        by_time=by_time,
        by_node=by_node,
    )
    found[ordered], different = _aligned(variants, variant, run)
    return found, different


class _Run(Struct, frozen=True):
    """Device events of ranges that replay graphs, in order; arrays of shape (k,)."""

    range: Int
    """Ascending."""
    call: Int
    """Call whose row launched it, -1 for none."""
    replayed: Bool
    """Whether a graph ran it."""
    name: Int
    """Number of a generated kernel's name, `_UNLISTED` without calls; `_UNNAMED` for others."""
    product: Int
    """What it is to `calls_between`."""
    time: Nanoseconds
    by_time: Bool
    """Whether its launch ran everything on one stream, in the order of time."""
    by_node: Bool
    """Whether it is in the order of its graph's nodes."""


def _named(host: HostRows, variants: Variants, string: StringIndex) -> tuple[Int, Int]:
    """`name` and `product` of `_Run`; each distinct name is compared once."""
    texts, (strings, place) = host.trace.strings, unique_inverse(string)
    generated = set(variants.name[~variants.extern].tolist())
    name, product = [], []
    for text in map(texts.__getitem__, strings.tolist()):
        number = variants.names.get(text, _UNNAMED)
        other = _UNLISTED if is_generated(text) else _UNNAMED
        name.append(number if number in generated else other)
        kind = kind_of_kernel(text)
        product.append(PRODUCTS.index(kind) if kind in PRODUCTS else ANY)
    return np.array(name, np.int64)[place], np.array(product, np.int64)[place]


def _in_order(
    host: HostRows, events: DeviceEvents, mine: DeviceEventIndex
) -> tuple[DeviceEventIndex, Bool, Bool]:
    """Device events in order of their launches, those of one by time or by the graph's nodes.

    Returns:
        The events, and whether each is in order of time, and in order of nodes.
    """
    stream, group = events.stream[mine].astype(np.int64), unique_inverse(events.launch[mine])[1]
    node = host.trace.events.graph_node[events.event[mine]].astype(np.int64)
    by_time = _lowest(group, stream) == -_lowest(group, -stream)
    first = first_of_each(dense_rank(group, node))
    distinct = np.bincount(group[first]) == np.bincount(group)
    by_node = ~by_time & distinct & (_lowest(group, node) > 0)
    order = np.lexsort((np.where(by_node[group], node, events.start[mine]), group))
    return mine[order], by_time[group[order]], by_node[group[order]]


def _aligned(variants: Variants, variant: Int, run: _Run) -> tuple[Int, Bool]:
    """Call of each event, and which ranges are different."""
    size, group = len(variant), run.range
    found = align(variants, variant, group, np.maximum(run.name, -1))
    anchors = sum_by(group, found.call >= 0, size)
    by_time = sum_by(group, ~run.by_time, size) == 0
    by_node = (sum_by(group, ~(run.by_time | run.by_node), size) == 0) & (anchors >= _ANCHORS)
    lost = sum_by(group, np.where((run.name != _UNNAMED) & (found.call < 0), run.time, 0), size)
    time = sum_by(group, run.time, size)
    different = by_time & (found.disordered | (lost > UNPAIRED * time))
    call = np.where(found.call >= 0, found.call, run.call)
    ordered = ((by_time | by_node) & (anchors > 0))[group]
    product = np.where(ordered & run.replayed & (run.name == _UNNAMED), run.product, CLOSED)
    call = np.where(
        ordered,
        calls_between(variants, variant, group, call, product),
        np.where(run.replayed, _unique_names(variants, variant, group, run.name), run.call),
    )
    return np.where(different[group], -1, call), different


def _lowest(group: Int, value: Int) -> Int:
    """Lowest value of each group."""
    found = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(found, group, value)
    return found


def _unique_names(variants: Variants, variant: Int, group: Int, name: Int) -> Int:
    """Call of each kernel whose name one kernel of its launch and one call have, in any order."""
    width = len(variants.names) + 1
    at = unique_inverse(group * width + np.maximum(name, -1) + 1)[1]
    alone = np.flatnonzero((name >= 0) & (np.bincount(at)[at] == 1))
    found = np.full(len(group), -1, np.int64)
    # Each as a launch of its own: no order to keep.
    found[alone] = align(variants, variant[group[alone]], np.arange(len(alone)), name[alone]).call
    return found
