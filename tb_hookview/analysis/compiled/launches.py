"""The call of the map that each device event ran for, replayed graphs included.

Kernels launched one by one follow the row of their call. A replayed CUDA graph is one launch: its
kernels in order are aligned with the calls by the names of the generated ones, and the others
between two of these belong to the extern call between them, where there is but one, or all are of
one module. The order is that of time, which is that of calls on one stream only. In a replay on
several it is that of the graph's nodes, which are numbered as they were captured; without numbers,
or if they put generated kernels in another order than the map, only generated kernels with a name
of their own are placed.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.compiled.alignment import align
from tb_hookview.analysis.compiled.graphs import Variants
from tb_hookview.analysis.compiled.placement import Placement, call_names
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import asof, dense_rank, first_of_each, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.split import ranges
from tb_hookview.arrays.types import DeviceEventIndex, Int
from tb_hookview.trace import EventCategory

_ANCHORS = 3
"""Generated kernels that have to be in order of the map, for nodes to be numbered in that order."""


def calls_of_events(host: HostRows, placement: Placement, events: DeviceEvents) -> Int:
    """Call of the map of each device event, -1 for none; shape (d,)."""
    found = lookup(placement.row_call, events.launch)
    is_launch = np.zeros(len(host), bool)
    is_launch[host.named(lambda text: "GraphLaunch" in text)] = True
    replayed = (found < 0) & (lookup(is_launch, events.launch) > 0)
    if not replayed.any():
        return found
    calls = placement.calls
    index = np.full(len(host), -1, np.int64)
    index[calls.row[placement.placed]] = np.flatnonzero(placement.placed)
    around = lookup(index, host.call_tree.nearest(index >= 0))
    kernel = np.flatnonzero(replayed & (lookup(around, events.launch) >= 0))
    kernel = kernel[host.trace.events.kind[events.event[kernel]] == EventCategory.KERNEL]
    replays = _Replays(host, events, kernel)
    found[replays.kernel] = _replayed(host, placement, replays, around)
    return found


class _Replays:
    """Kernels of replayed graphs, by launch, then in order."""

    def __init__(self, host: HostRows, events: DeviceEvents, kernel: DeviceEventIndex) -> None:
        launches, group = unique_inverse(events.launch[kernel])
        node = host.trace.events.graph_node[events.event[kernel]].astype(np.int64)
        one_stream = _lowest(group, events.stream[kernel]) == -_lowest(
            group, -events.stream[kernel]
        )
        first = first_of_each(dense_rank(group, node)) if len(node) else node
        distinct = np.bincount(group[first]) == np.bincount(group)
        by_node = ~one_stream & distinct & (_lowest(group, node) > 0)
        time = np.where(by_node[group], node, events.start[kernel])
        order = np.lexsort((time, group))
        self.launch, self.group = launches, group[order]
        self.kernel = kernel[order]
        self.name = host.trace.events.name[events.event[self.kernel]].astype(np.int64)
        self.one_stream, self.by_node = one_stream, by_node


def _replayed(host: HostRows, placement: Placement, replays: _Replays, around: Int) -> Int:
    """Call of each kernel of replays."""
    variants, group = placement.variants, replays.group
    variant = placement.calls.variant[around[replays.launch]]
    name = call_names(host, variants, replays.name)
    generated = np.zeros(len(variants.names) + 1, bool)  # the last is for "no name"
    generated[variants.name[~variants.extern]] = True
    name = np.where(generated[name], name, -1)
    aligned = align(variants, variant, group, name)
    anchors = np.bincount(group[aligned.call >= 0], minlength=len(variant))
    known = replays.one_stream | (replays.by_node & (anchors >= _ANCHORS))
    return np.where(
        known[group],
        np.where(aligned.call >= 0, aligned.call, _between(variants, variant, group, aligned.call)),
        _unique_names(variants, variant, group, name),
    )


def _lowest(group: Int, value: Int) -> Int:
    """Lowest value of each group."""
    found = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(found, group, value)
    return found


def _unique_names(variants: Variants, variant: Int, group: Int, name: Int) -> Int:
    """Call of each kernel whose name one kernel of its launch and one call have, in any order."""
    width = len(variants.names) + 1
    key = group * width + name + 1
    at = unique_inverse(key)[1]
    alone = np.flatnonzero((name >= 0) & (np.bincount(at)[at] == 1))
    found = np.full(len(group), -1, np.int64)
    # Each as a launch of its own: no order to keep.
    found[alone] = align(variants, variant[group[alone]], np.arange(len(alone)), name[alone]).call
    return found


def _between(variants: Variants, variant: Int, group: Int, anchor: Int) -> Int:
    """The extern call between the anchors around each kernel; -1 where it is not known."""
    place = np.arange(len(group))
    known = np.flatnonzero(anchor >= 0)
    before = lookup(anchor[known], asof(group[known], known, group, place))
    after = lookup(anchor[known], asof(group[known], -known, group, -place))
    first = np.where(before >= 0, before + 1, variants.first_call[variant[group]])
    end = np.where(after >= 0, after, variants.first_call[variant[group] + 1])
    # A variant none of whose kernels is an anchor is not aligned at all.
    anchored = np.zeros(len(variant), bool)
    anchored[group[known]] = True
    call, at = ranges(
        first, np.where(anchored[group] & (anchor < 0), np.maximum(end, first), first)
    )
    call, at = call[variants.extern[call]], at[variants.extern[call]]
    found = np.full(len(group), -1, np.int64)
    found[at[::-1]] = call[::-1]  # the first one stays
    part, of = ranges(*variants.parts(call))
    low, high = np.full(len(group), np.iinfo(np.int64).max), np.full(len(group), -2)
    np.minimum.at(low, at[of], variants.module[part])
    np.maximum.at(high, at[of], variants.module[part])
    several = np.bincount(at, minlength=len(group)) > 1
    found[several & (low != high)] = -1
    return found
