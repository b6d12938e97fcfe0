"""Modules of what compiled graphs ran: rows, nodes, module calls and device events.

Evidence, of time that the map places: `compiled` where the kernel serves one module,
`compiled_split` where it serves several, by the bytes that each one's part moves, `compiled_near`
where the compiler lost the module and neighbours named it. What is the region's own, and graphs
that cannot be placed, stay with the module and the evidence that the region has without the map.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace

from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.compiled.placement import Placement, place
from tb_hookview.analysis.compiled.times import find_graph_calls, portions
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
from tb_hookview.arrays.joins import index_of, mask_of
from tb_hookview.arrays.nesting import CallTree, lookup, self_time
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, Nanoseconds, TreeRow

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
        return CompiledTime(*(column[wanted] for column in astuple(self)))


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
    host: HostRows,
    nodes: Nodes,
    modules: Modules,
    module_calls: ModuleCalls,
    base: Attribution,
    device_events: DeviceEvents,
) -> Compiled | None:
    """Place compiled graphs on modules; None where the recorder left no map."""
    if host.trace.compiled is None:
        return None
    calls = find_graph_calls(host, nodes, modules, base.row_module)
    placement = place(host, nodes, module_calls, calls, device_events)
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


class CallsAgain(Struct, frozen=True):
    """Calls of modules that nodes run again, as checkpointing does."""

    row: TreeRow
    """Of the call tree, shape (c,)."""
    parts: Parts
    """Self time of each, as a part of its node's: less that of calls and nodes inside."""


def find_calls_again(
    nodes: Nodes, attribution: Attribution, module_calls: ModuleCalls, tree: CallTree
) -> CallsAgain:
    """Find the calls of modules inside of nodes."""
    is_call = (module_calls.module >= 0) & attribution.row_recompute & (nodes.of_row >= 0)
    rows = np.flatnonzero(is_call)
    is_call[nodes.row] = True
    unit = np.flatnonzero(is_call)
    place = index_of(unit, len(tree))
    above = lookup(place, tree.nearest_above(is_call)[unit])
    own = self_time(tree.start[unit], tree.end[unit], above)[place[rows]]
    evidence, main = np.full(len(rows), RECOMPUTE), np.zeros(len(rows), bool)
    parts = Parts(nodes.of_row[rows], module_calls.module[rows], evidence, own, main)
    return CallsAgain(rows, parts)


def node_parts(
    nodes: Nodes, attribution: Attribution, compiled: Compiled | None, again: Parts
) -> Parts:
    """Host time of each node by module: calls that it runs again are of the module called."""
    parts = whole(attribution.node_module, attribution.node_evidence, nodes.self_host)
    if compiled is not None:
        placed = mask_of(compiled.node_shares.index, len(nodes))
        parts = replaced(parts, compiled.node_shares)
        again = again.where(~placed[again.index])
    return replaced(parts, again) if len(again.index) else parts


def place_device_events(
    device_events: DeviceEvents, attribution: DeviceAttribution, compiled: Compiled | None
) -> tuple[DeviceAttribution, Parts]:
    """Device events with their parts; those of replayed graphs are placed too."""
    if compiled is None:
        time = device_events.duration
        return attribution, whole(attribution.module, attribution.evidence, time)
    placement, base = compiled.placement, compiled.base
    call = placement.event_call
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
