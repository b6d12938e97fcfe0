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

from tb_hookview.analysis.compiled.graphs import Variants, align, is_generated
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.device.kinds import kind_of_kernel, kind_of_operator
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import (
    dense_rank,
    first_of_each,
    isin,
    running_max,
    scatter,
    unique_inverse,
)
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import greatest_by, least_by, sum_by
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds, StringIndex

# Calls of what a replayed graph ran between the kernels that its map names.


PRODUCTS = ("matrix", "convolution", "attention")
"""Kinds of kernels that tell calls apart; any call may launch the others."""
ANY = len(PRODUCTS)
CLOSED = -1
"""Of an event that is not placed here: it is a generated kernel, or has a row."""
_LAUNCHED = {"matrix": "matrix", "convolution": "convolution matrix", "attention": "attention"}
"""Products that operators of a kind launch; those of other known kinds launch none."""
_FUSED = ("flash", "efficient", "cudnn")
"""Attention that is no composition of other products."""
_ROUNDS = 3
"""Each takes bounds one product further; what is left open after them has no call."""


def calls_between(variants: Variants, variant: Int, group: Int, call: Int, product: Int) -> Int:
    """Call of each event, -1 for unknown.

    Args:
        variants: the calls.
        variant: of each range, shape (r,).
        group: range of each event, ascending, shape (k,). Events of one are in order of calls.
        call: known calls, -1 for none.
        product: index into PRODUCTS, ANY for other events, CLOSED for those that stay as they are.
    """
    names = isin(np.arange(len(variants.names)), variants.name[call[call >= 0]])
    silent = variants.extern | ~names[variants.name]
    calls = [np.flatnonzero(silent & can) for can in _can_launch(variants)]
    # A known call is one that the events around it are not of.
    low = np.where(call >= 0, call + 1, variants.first_call[variant][group])
    high = np.where(call >= 0, call, variants.first_call[variant + 1][group]) - 1
    rows = [np.flatnonzero(product == number) for number in range(len(calls))]
    for _ in range(_ROUNDS):
        low = running_max(group, low)
        high = -running_max(-group[::-1], -high[::-1])[::-1]
        for mine, of in zip(rows, calls, strict=True):
            first, last = _within(of, low[mine], high[mine])
            some = first <= last
            low[mine[some]], high[mine[some]] = of[first[some]], of[last[some]]
    found, modules = call.copy(), _one_module(variants)
    for mine, of in zip(rows, calls, strict=True):
        first, last = _within(of, low[mine], high[mine])
        mine, first, last = (each[first <= last] for each in (mine, first, last))
        changes = np.cumsum(np.diff(modules[of], prepend=0) != 0)
        found[mine] = np.where(changes[first] == changes[last], of[first], -1)
    return found


def _within(of: Int, low: Int, high: Int) -> tuple[Int, Int]:
    """Places of the first and of the last call within bounds, the last before it for none."""
    return np.searchsorted(of, low), np.searchsorted(of, high, side="right") - 1


def _can_launch(variants: Variants) -> list[Bool]:
    """Whether each call can launch each of PRODUCTS, and anything else."""
    listed = [_products(name) for name in variants.names]
    able = [np.array([kind in each for each in listed], bool) for kind in PRODUCTS]
    return [*(each[variants.name] for each in able), np.ones(len(variants.name), bool)]


def _products(name: str) -> tuple[str, ...]:
    kind = kind_of_operator(name) if name.startswith("aten::") else None
    if kind is None or (kind == "attention" and not any(word in name for word in _FUSED)):
        return PRODUCTS
    return tuple(_LAUNCHED.get(kind, "").split())


def _one_module(variants: Variants) -> Int:
    """The module of each call, or a number of its own where it serves several."""
    low = np.minimum.reduceat(variants.module, variants.first_part[:-1])
    high = np.maximum.reduceat(variants.module, variants.first_part[:-1])
    return np.where(low == high, low, -2 - np.arange(len(low)))


UNPAIRED = 0.05
"""Part of a range's time that may have no call; above it, trace and map are of two graphs."""
_UNNAMED, _UNLISTED = -1, -2
_ANCHORS = 3
"""Generated kernels that have to be in order of the map, for nodes to be numbered in that order."""


def is_graph_launch(host: HostRows) -> Bool:
    """Whether each row of the call tree replays a graph."""
    return host.is_named(lambda text: "GraphLaunch" in text)


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
    stream = events.stream[mine].astype(np.int64)
    launches, group = unique_inverse(events.launch[mine])
    size = len(launches)
    node = host.trace.events.graph_node[events.event[mine]].astype(np.int64)
    by_time = least_by(group, stream, size) == greatest_by(group, stream, size)
    first = first_of_each(dense_rank(group, node))
    distinct = np.bincount(group[first]) == np.bincount(group)
    by_node = ~by_time & distinct & (least_by(group, node, size) > 0)
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


def _unique_names(variants: Variants, variant: Int, group: Int, name: Int) -> Int:
    """Call of each kernel whose name one kernel of its launch and one call have, in any order."""
    width = len(variants.names) + 1
    at = unique_inverse(group * width + np.maximum(name, -1) + 1)[1]
    alone = np.flatnonzero((name >= 0) & (np.bincount(at)[at] == 1))
    # Each as a launch of its own: no order to keep.
    found = align(variants, variant[group[alone]], np.arange(len(alone)), name[alone])
    return scatter(alone, found.call, len(group))
