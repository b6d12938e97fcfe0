"""Modules of what compiled graphs ran: rows, nodes, module calls and device events.

Evidence, of time that the map places: `compiled` where the kernel serves one module,
`compiled_split` where it serves several, by the bytes that each one's part moves, `compiled_near`
where the compiler lost the module and neighbours named it. What is the region's own, and graphs
that cannot be placed, stay with the module and the evidence that the region has without the map.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.compiled.graphs import Alignment, Variants, align, row_name
from tb_hookview.analysis.compiled.times import (
    DIFFERENT,
    HOLDS_OTHERS,
    PLACED,
    GraphCalls,
    Portions,
    find_graph_calls,
    gap_portions,
    portions,
    spans_of,
)
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.attribution import (
    EVIDENCE,
    RECOMPUTE,
    Attribution,
    DeviceAttribution,
    Parts,
    joined,
    replaced,
    whole,
)
from tb_hookview.analysis.modules.tree import ModuleCalls, Modules
from tb_hookview.arrays.joins import (
    asof,
    dense_rank,
    first_of_each,
    index_of,
    isin,
    mask_of,
    scatter,
    unique_inverse,
)
from tb_hookview.arrays.nesting import lookup, self_time
from tb_hookview.arrays.sums import ranges, sum_by
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    Int,
    ModuleIndex,
    Nanoseconds,
    StringIndex,
    TreeRow,
)
from tb_hookview.trace import EventCategory

# What the calls of compiled graphs ran, placed on modules by the recorder's map.


_UNPAIRED = 0.05
"""Part of a range that rows without a call may take; above it, row and map are of two graphs."""


class Placement(Struct, frozen=True):
    """Rows and host time of compiled graphs by call of the map."""

    calls: GraphCalls
    row_call: Int
    """Call around each row of the call tree, an index into the calls of `Variants`; -1 for none."""
    range: Int
    """Index into `calls` of each share of host time, shape (s,)."""
    module: ModuleIndex
    """-1 for the region's own."""
    near: Bool
    several: Bool
    """Whether other modules took a share of the same time."""
    time: Nanoseconds

    @property
    def variants(self) -> Variants:
        """Calls of the map that rows are paired with."""
        return self.calls.variants

    @property
    def placed(self) -> Bool:
        """Whether each call of a graph was placed, shape (r,)."""
        return np.asarray(self.calls.whole == PLACED)


def place(host: HostRows, nodes: Nodes, module_calls: ModuleCalls, calls: GraphCalls) -> Placement:
    """Pair the rows of graphs with calls of the map, and split their host time."""
    whole = calls.whole.copy()
    holding = _holds(host, calls.row, nodes, module_calls)
    whole[(whole == PLACED) & holding] = HOLDS_OTHERS
    tried = np.flatnonzero(whole == PLACED)
    child, group = _children(host, calls.row[tried])
    name = call_names(host, calls.variants, host.string[child])
    variant = calls.variant[tried]
    found = align(calls.variants, variant, group, name)
    spans = spans_of(host.call_tree, calls.row[tried], child, group)
    lost = sum_by(group, np.where(found.call < 0, spans.own, 0), len(tried))
    duration = host.call_tree.duration[calls.row[tried]]
    different = found.disordered | (lost > _UNPAIRED * duration)
    found = Alignment(np.where(different[group], -1, found.call), found.disordered)
    whole[tried[different]] = DIFFERENT
    on_host = ~different & ~_calls_runtime(host, calls.row[tried])
    paired = np.flatnonzero(found.call >= 0)
    shown = portions(calls.variants, found.call[paired], group[paired], spans.own[paired])
    gaps = gap_portions(calls.variants, variant, spans, name, found, on_host)
    row_call = scatter(child[paired], found.call[paired], len(host))
    is_paired = row_call >= 0
    return _placement(
        _with(calls, whole),
        lookup(row_call, host.call_tree.nearest(is_paired)),
        tried,
        shown,
        gaps,
    )


def _with(calls: GraphCalls, whole: Int) -> GraphCalls:
    return GraphCalls(
        calls.row, calls.key, calls.region, calls.backward, calls.variant, whole, calls.variants
    )


def _placement(
    calls: GraphCalls, row_call: Int, tried: Int, shown: Portions, gaps: Portions
) -> Placement:
    part = np.concatenate([shown.part, gaps.part])
    return Placement(
        calls=calls,
        row_call=row_call,
        range=tried[np.concatenate([shown.group, gaps.group])],
        module=calls.variants.module[part],
        near=calls.variants.near[part],
        several=np.concatenate([shown.several, gaps.several]),
        time=np.concatenate([shown.time, gaps.time]),
    )


def call_names(host: HostRows, variants: Variants, string: StringIndex) -> Int:
    """Number of each text as the name of a call's row, -1 for none."""
    texts, strings = host.trace.strings, unique_inverse(string)
    numbers = [variants.names.get(row_name(texts[text]), -1) for text in strings[0].tolist()]
    return np.array(numbers, np.int64)[strings[1]]


def _children(host: HostRows, row: TreeRow) -> tuple[TreeRow, Int]:
    """Operators and annotations directly inside each range, and the range."""
    index = index_of(row, len(host))
    group = lookup(index, host.call_tree.parent)
    named = isin(host.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])
    child = np.flatnonzero((group >= 0) & named)
    return child, group[child]


def _holds(host: HostRows, row: TreeRow, nodes: Nodes, module_calls: ModuleCalls) -> Bool:
    """Whether calls of modules or evaluations of nodes are inside each range."""
    other = module_calls.module >= 0
    other[nodes.row] = True
    return _inside(host, row, other)


def _calls_runtime(host: HostRows, row: TreeRow) -> Bool:
    return _inside(host, row, host.kind == EventCategory.RUNTIME)


def _inside(host: HostRows, row: TreeRow, wanted: Bool) -> Bool:
    before = np.append(0, np.cumsum(wanted))
    return np.asarray(before[host.call_tree.subtree_end[row]] > before[row])


# The call of the map that each device event ran for, replayed graphs included.
#
# Kernels launched one by one follow the row of their call. A replayed CUDA graph is one launch:
# its kernels in order are aligned with the calls by the names of the generated ones, and the
# others between two of these belong to the extern call between them, where there is but one, or
# all are of one module. The order is that of time, which is that of calls on one stream only. In
# a replay on several it is that of the graph's nodes, which are numbered as they were captured;
# without numbers, or if they put generated kernels in another order than the map, only generated
# kernels with a name of their own are placed.


_ANCHORS = 3
"""Generated kernels that have to be in order of the map, for nodes to be numbered in that order."""


def calls_of_events(host: HostRows, placement: Placement, events: DeviceEvents) -> Int:
    """Call of the map of each device event, -1 for none; shape (d,)."""
    found = lookup(placement.row_call, events.launch)
    is_launch = mask_of(host.named(lambda text: "GraphLaunch" in text), len(host))
    replayed = (found < 0) & (lookup(is_launch, events.launch) > 0)
    if not replayed.any():
        return found
    calls = placement.calls
    index = scatter(calls.row[placement.placed], np.flatnonzero(placement.placed), len(host))
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
    anchored = mask_of(group[known], len(variant))
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


_EXACT, _SPLIT, _NEAR = (
    EVIDENCE.index(name) for name in ("compiled", "compiled_split", "compiled_near")
)


class CompiledTime(Struct, frozen=True):
    """Time of module calls that belongs to other modules; arrays of shape (s,)."""

    call: TreeRow
    """The call that it is taken from, -1 for none."""
    row: TreeRow
    """Call of the compiled graph."""
    module: ModuleIndex
    """The module that it belongs to."""
    evidence: Int
    """Index into EVIDENCE."""
    time: Nanoseconds

    def where(self, wanted: Bool) -> CompiledTime:
        """Some of the shares, by a mask over these."""
        return CompiledTime(
            self.call[wanted],
            self.row[wanted],
            self.module[wanted],
            self.evidence[wanted],
            self.time[wanted],
        )


NOTHING_MOVED = CompiledTime(*(np.zeros(0, np.int64) for _ in range(5)))


class Compiled(Struct, frozen=True):
    """What the recorder's map adds to an attribution."""

    placement: Placement
    base: Attribution
    """The attribution without the map."""
    node_shares: Parts
    """Time of nodes that belongs to other modules than the node's."""
    call_shares: CompiledTime
    ran: Int
    """Times that each module ran in a graph's forward, shape (r, 2): row of the call, module.

    The row is the graph's forward operator, where there is one around its call.
    """


def place_compiled(
    host: HostRows, nodes: Nodes, modules: Modules, module_calls: ModuleCalls, base: Attribution
) -> Compiled | None:
    """Place compiled graphs on modules; None where the recorder left no map."""
    if host.trace.compiled is None:
        return None
    calls = find_graph_calls(host, nodes, modules, base.row_module)
    placement = place(host, nodes, module_calls, calls)
    row = placement.calls.row[placement.range]
    again = base.row_recompute[row]
    node = np.where(again, -1, nodes.of_row[row])
    own = placement.module < 0
    moved = _evidence(placement.near, placement.several)
    of_node = _within(nodes.self_host, node, placement.time, (node >= 0) & ~own)
    call = module_calls.innermost(host.call_tree)[row]
    of_call = _within(_self_host(host, module_calls), call, placement.time, (node < 0) & ~own)
    return Compiled(
        placement=placement,
        base=base,
        node_shares=Parts(
            node[of_node],
            placement.module[of_node],
            moved[of_node],
            placement.time[of_node],
            np.zeros(len(of_node), bool),
        ),
        call_shares=CompiledTime(
            call[of_call],
            row[of_call],
            placement.module[of_call],
            moved[of_call],
            placement.time[of_call],
        ),
        ran=_ran(host, placement, base.row_recompute),
    )


def _evidence(near: Bool, several: Bool) -> Int:
    return np.where(near, _NEAR, np.where(several, _SPLIT, _EXACT))


def _within(available: Nanoseconds, owner: Int, time: Nanoseconds, wanted: Bool) -> Int:
    """The wanted shares whose owners have the time that all of theirs take; -1 has any."""
    taken = sum_by(owner[wanted], time[wanted], len(available))
    fits = np.append(taken <= available, True)
    return np.flatnonzero(wanted & fits[owner])


def _self_host(host: HostRows, module_calls: ModuleCalls) -> Nanoseconds:
    """Time of each module call less that of module calls inside, 0 for other rows; shape (n,)."""
    is_call = module_calls.module >= 0
    rows = np.flatnonzero(is_call)
    index = index_of(rows, len(host))
    tree = host.call_tree
    found = np.zeros(len(host), np.int64)
    above = lookup(index, tree.nearest_above(is_call)[rows])
    found[rows] = self_time(tree.start[rows], tree.end[rows], above)
    return found


def _ran(host: HostRows, placement: Placement, again: Bool) -> Int:
    calls, ran = placement.calls, placement.variants.ran
    forward = np.flatnonzero(placement.placed & ~calls.backward & ~again[calls.row])
    listed = [ran[variant] for variant in calls.variant[forward].tolist()]
    row, above = calls.row[forward], host.call_tree.parent[calls.row[forward]]
    numbered = (lookup(host.sequence, above) >= 0) & (lookup(host.forward_thread, above) <= 0)
    row = np.repeat(np.where(numbered, above, row), [len(each) for each in listed])
    module = np.concatenate(listed) if listed else np.zeros(0, np.int64)
    return np.stack([row, module], axis=1)


def with_compiled_rows(compiled: Compiled) -> Attribution:
    """The attribution, with rows inside of compiled graphs at the modules that they serve."""
    placement, base = compiled.placement, compiled.base
    rows = np.flatnonzero(placement.row_call >= 0)
    module, evidence = _dominant(placement, placement.row_call[rows])
    row_module, row_evidence = base.row_module.copy(), base.row_evidence.copy()
    row_module[rows] = np.where(module >= 0, module, row_module[rows])
    row_evidence[rows] = _in_backward(row_evidence[rows], module, evidence)
    return replace(base, row_module=row_module, row_evidence=row_evidence)


def _dominant(placement: Placement, call: Int) -> tuple[ModuleIndex, Int]:
    """Module of the largest part of each call, and its evidence."""
    variants = placement.variants
    part = variants.dominant(call)
    first, end = variants.parts(call)
    return variants.module[part], _evidence(variants.near[part], end - first > 1)


def _in_backward(base: Int, module: ModuleIndex, evidence: Int) -> Int:
    """Evidence of work in the map; outside the backward pass and when run again as without it."""
    return np.where((module >= 0) & (base >= 0) & (base != RECOMPUTE), evidence, base)


def node_parts(nodes: Nodes, attribution: Attribution, compiled: Compiled | None) -> Parts:
    """Host time of each node by module."""
    parts = whole(attribution.node_module, attribution.node_evidence, nodes.self_host)
    return replaced(parts, compiled.node_shares) if compiled else parts


def place_device_events(
    host: HostRows,
    device_events: DeviceEvents,
    attribution: DeviceAttribution,
    compiled: Compiled | None,
) -> tuple[DeviceAttribution, Parts]:
    """Device events with their parts; those of replayed graphs are placed too."""
    if compiled is None:
        time = device_events.duration
        return attribution, whole(attribution.module, attribution.evidence, time)
    placement, base = compiled.placement, compiled.base
    call = calls_of_events(host, placement, device_events)
    placed = np.flatnonzero(call >= 0)
    launch = device_events.launch[placed]
    own, own_evidence = base.row_module[launch], base.row_evidence[launch]
    dominant, evidence = _dominant(placement, call[placed])
    module, how = attribution.module.copy(), attribution.evidence.copy()
    module[placed] = np.where(dominant >= 0, dominant, own)
    how[placed] = _in_backward(own_evidence, dominant, evidence)
    split = portions(
        placement.variants, call[placed], np.arange(len(placed)), device_events.duration[placed]
    )
    serves = placement.variants.module[split.part]
    near = placement.variants.near[split.part]
    shares = Parts(
        placed[split.group],
        np.where(serves >= 0, serves, own[split.group]),
        np.where(
            (serves >= 0) & (own_evidence[split.group] != RECOMPUTE),
            _evidence(near, split.several),
            own_evidence[split.group],
        ),
        split.time,
        split.part == placement.variants.dominant(call[placed])[split.group],
    )
    rest = whole(module, how, device_events.duration).where(call < 0)
    return replace(attribution, module=module, evidence=how), joined(rest, shares)
