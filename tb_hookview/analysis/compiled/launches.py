"""The call of the map that each device event ran for, replayed graphs included.

Kernels launched one by one follow the row of their call. A replayed CUDA graph is one launch: its
kernels in order of time are aligned with the calls by the names of the generated ones, and the
others between two of these belong to the extern call between them, where there is but one, or all
are of one module. Order of time is order of calls on one stream only. In a replay on several, only
generated kernels with a name of their own are placed.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.compiled.alignment import align
from tb_hookview.analysis.compiled.graphs import Variants
from tb_hookview.analysis.compiled.placement import Placement, call_names
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import asof
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.split import ranges
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int
from tb_hookview.trace import EventCategory


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
    order = np.lexsort((events.start[kernel], events.launch[kernel]))
    kernel = kernel[order]
    found[kernel] = _replayed(host, placement, events, kernel, around)
    return found


def _replayed(
    host: HostRows,
    placement: Placement,
    events: DeviceEvents,
    kernel: DeviceEventIndex,
    around: Int,
) -> Int:
    """Call of each kernel of a replay, by launch and time."""
    launches, group = np.unique(events.launch[kernel], return_inverse=True)
    variants = placement.variants
    variant = placement.calls.variant[around[launches]]
    string = host.trace.events.name[events.event[kernel]].astype(np.int64)
    name = call_names(host, variants, string)
    generated = np.zeros(len(variants.names) + 1, bool)  # the last is for "no name"
    generated[variants.name[~variants.extern]] = True
    name = np.where(generated[name], name, -1)
    alone = _one_stream(group, events.stream[kernel], len(launches))
    anchor = align(variants, variant, group, name).call
    by_name = _unique_names(variants, variant, group, name)
    return np.where(
        alone[group],
        np.where(anchor >= 0, anchor, _between(variants, variant, group, anchor)),
        by_name,
    )


def _one_stream(group: Int, stream: Int, size: int) -> Bool:
    low, high = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.minimum.at(low, group, stream)
    np.maximum.at(high, group, stream)
    return np.asarray(low == high)


def _unique_names(variants: Variants, variant: Int, group: Int, name: Int) -> Int:
    """Call of each kernel whose name one kernel of its launch and one call have, in any order."""
    width = len(variants.names) + 1
    key = group * width + name + 1
    _, at, count = np.unique(key, return_inverse=True, return_counts=True)
    alone = np.flatnonzero((name >= 0) & (count[at] == 1))
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
