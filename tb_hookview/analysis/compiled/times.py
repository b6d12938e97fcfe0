"""Calls of compiled graphs, their regions, and their host time, row by row and gap by gap.

    graph    [                                    ]      a row's time belongs to its call; between
    rows        [mm  ]      [mm  ]  [copy_]              rows run the kernels that leave none
    slot     0         1              2       2

Generated C++ kernels on a CPU leave no row. The time between two rows that were paired belongs to
the silent calls between them, by weight. A graph that calls the runtime of a device has no silent
calls. What no silent call is in is the region's own: code around two calls serves both.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.compiled.graphs import (
    GRAPH_CALL,
    REGION_ROW,
    Alignment,
    Paths,
    Variants,
    variants_of,
)
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.joins import dense_rank, first_of_each, index_of, isin, mask_of
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.sums import greatest_by, least_by, ranges, split
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, Nanoseconds, StringIndex, TreeRow
from tb_hookview.trace.format.compiled_graphs import CompiledGraph, CompiledGraphs

# Calls of compiled graphs in the trace, each with its variant in the recorder's map.


PLACED = -1
WHOLE = (
    "no map of the graph",
    "the map is of other modules",
    "rows and map differ",
    "holds calls of modules or nodes",
)
"""Why what a call ran stays with its region."""
NO_MAP, OTHER_MODULES, DIFFERENT, HOLDS_OTHERS = range(len(WHOLE))


class GraphCalls(Struct, frozen=True):
    """Calls of compiled graphs that are in no other one; arrays of shape (r,)."""

    row: TreeRow
    key: StringIndex
    """Name of the row, which holds the graph's key."""
    region: StringIndex
    """Name of the compiled region, -1 for unknown."""
    backward: Bool
    variant: Int
    """Index into `variants`, -1 for none."""
    whole: Int
    """Index into WHOLE; PLACED for the others."""
    variants: Variants


def find_graph_calls(
    host: HostRows, nodes: Nodes, modules: Modules, row_module: ModuleIndex
) -> GraphCalls:
    """Find the calls of compiled graphs.

    Args:
        host, nodes, modules: of the trace.
        row_module: module of each row of the call tree.
    """
    row = graph_call_rows(host)
    region, backward = regions_of(host, nodes, row)
    around, key = row_module[row], host.string[row]
    kind = dense_rank(key, region, backward.astype(np.int64), around)
    first = first_of_each(kind) if len(kind) else kind
    maps, paths = _Maps(host, host.trace.compiled), Paths(modules)
    chosen: list[tuple[CompiledGraph, list[int]]] = []
    variant, whole = np.full(len(first), -1, np.int64), np.full(len(first), PLACED, np.int64)
    arounds = []
    for number, at in enumerate(first.tolist()):
        graph = maps.graph(int(key[at]), int(region[at]), backward=bool(backward[at]))
        found = None if graph is None else paths.of_graph(graph, int(around[at]))
        if graph is None or found is None:
            whole[number] = NO_MAP if graph is None else OTHER_MODULES
            continue
        variant[number] = len(chosen)
        chosen.append((graph, found))
        arounds.append(int(around[at]))
    return GraphCalls(
        row, key, region, backward, variant[kind], whole[kind], variants_of(chosen, arounds)
    )


def graph_call_rows(host: HostRows) -> TreeRow:
    """Rows that are calls of compiled graphs, outside of other ones."""
    wanted = host.is_named(GRAPH_CALL.fullmatch) & ~host.device_threads[host.call_tree.thread]
    return np.flatnonzero(wanted & (host.call_tree.nearest_above(wanted) < 0))


def regions_of(host: HostRows, nodes: Nodes, rows: TreeRow) -> tuple[StringIndex, Bool]:
    """Name of the compiled region of each row, -1 for none, and whether it is its backward.

    That of a node is the region in which the node's forward operator ran.
    """
    is_region = host.is_named(lambda text: text.startswith(REGION_ROW))
    region = host.call_tree.nearest(is_region)
    node = nodes.of_row[rows]
    backward = (node >= 0) & (lookup(nodes.row, node) > region[rows])
    forward_op = lookup(nodes.forward_op, node)
    found = np.where(backward, lookup(region, forward_op), region[rows])
    return lookup(host.string, found), backward


class _Maps:
    """Graphs of the recorder's map, by what their calls show."""

    def __init__(self, host: HostRows, listed: CompiledGraphs | None) -> None:
        self._texts = host.trace.strings
        self._graphs: dict[tuple[str, bool], list[CompiledGraph]] = {}
        for graph in listed.graphs if listed else ():
            self._graphs.setdefault((graph.key, graph.backward), []).append(graph)

    def graph(self, name: int, region: int, *, backward: bool) -> CompiledGraph | None:
        """The one graph of a call's key and region; None where there is none, or several."""
        match = GRAPH_CALL.fullmatch(self._texts[name])
        found = self._graphs.get((match[1], backward), []) if match else []
        if region >= 0:
            compile_id = self._texts[region].removeprefix(REGION_ROW)
            found = [graph for graph in found if graph.compile_id == compile_id]
        return found[0] if found and all(graph == found[0] for graph in found) else None


# Compiled code in a trace, with or without the recorder's map: which row runs what.
#
#     Torch-Compiled Region: 0/0   >   CompiledFunction   >   ## Call CompiledFxGraph key ##
#
# Of these the innermost is the unit, as far as a version of torch writes them. A unit's operators
# are the rows directly inside of it: extern calls, and generated kernels of a device.


_UNITS = (
    GRAPH_CALL,
    re.compile(r"CompiledFunction(Backward)?"),
    re.compile(re.escape(REGION_ROW) + r".*"),
)


class CompiledUnits(Struct, frozen=True):
    """Rows that run compiled code; arrays of shape (u,) and (n,)."""

    row: TreeRow
    region: StringIndex
    """Name of the compiled region, -1 for unknown."""
    graph: StringIndex
    """Name of the call of the graph, which holds its key; -1 for unknown."""
    backward: Bool
    around: Int
    """Unit around each row of the call tree, -1 for none."""
    operator: TreeRow
    """Row directly inside a unit that is, or is around, each row; -1 for none."""


def find_compiled_units(host: HostRows, nodes: Nodes) -> CompiledUnits:
    """Find the rows that run compiled code."""
    tree = host.call_tree
    chosen = np.zeros(len(host), bool)
    for pattern in _UNITS:
        wanted = host.is_named(pattern.fullmatch)
        if not wanted.any():
            continue
        wanted &= ~host.device_threads[tree.thread] & ~tree.inside(chosen)
        rows = np.flatnonzero(wanted & (tree.nearest_above(wanted) < 0))
        chosen[rows[~tree.holds(chosen)[rows]]] = True
    row = np.flatnonzero(chosen)
    region, backward = regions_of(host, nodes, row)
    is_graph = host.is_named(GRAPH_CALL.fullmatch)
    index = index_of(row, len(host))
    inside = lookup(index, tree.parent) >= 0
    return CompiledUnits(
        row=row,
        region=region,
        graph=np.where(is_graph[row], host.string[row], -1),
        backward=backward,
        around=lookup(index, tree.nearest(chosen)),
        operator=tree.nearest(inside & host.operators_and_annotations),
    )


class Portions(Struct, frozen=True):
    """Time that parts of calls took; arrays of shape (p,)."""

    group: Int
    """The range, or whatever else was split."""
    part: Int
    """Index into the parts of `Variants`."""
    time: Nanoseconds
    several: Bool
    """Whether other modules took a share of the same time."""


class Spans(Struct, frozen=True):
    """Ranges with the rows directly inside of them, which share the time of each exactly."""

    row: TreeRow
    """Ranges, shape (r,)."""
    group: Int
    """Range of each row directly inside, shape (k,), ascending; so are these rows."""
    own: Nanoseconds
    """Time of each child, without what another one of its range took before."""
    before: Nanoseconds
    """Time in no child before each."""
    after: Nanoseconds
    """Time in no child after the last one of each range, shape (r,)."""


def spans_of(call_tree: CallTree, row: TreeRow, child: TreeRow, group: Int) -> Spans:
    """Cut ranges at the bounds of the rows in them."""
    since, until = call_tree.start[row], call_tree.end[row]
    end = np.minimum(call_tree.end[child], until[group])
    # Neighbours overlap by rounding only, and the later one ends later.
    first = np.append(True, np.diff(group) != 0)[: len(group)]
    reached = np.where(first, since[group], np.append(0, end)[: len(end)])
    start = np.maximum(call_tree.start[child], reached)
    end = np.maximum(end, start)
    last = since.copy()
    np.maximum.at(last, group, end)
    return Spans(row, group, end - start, start - reached, until - last)


def portions(variants: Variants, call: Int, group: Int, time: Nanoseconds) -> Portions:
    """Split times, each of one call, by the parts of these calls."""
    part, place = ranges(*variants.parts(call))
    shares = split(time, place, variants.weight[part])
    size = np.diff(np.append(np.searchsorted(place, np.arange(len(call))), len(place)))
    return Portions(group[place], part, shares, (size > 1)[place])


def gap_portions(
    variants: Variants, variant: Int, spans: Spans, name: Int, found: Alignment, on_host: Bool
) -> Portions:
    """Split the gaps of ranges by the parts of the calls that they are of.

    Args:
        variants: the calls.
        variant: of each range, shape (r,).
        spans: the ranges and their rows.
        name: number of each row's name, -1 for none.
        found: rows paired with calls.
        on_host: whether each range calls no runtime of a device, shape (r,).
    """
    gaps = _gaps(variants, variant, spans, found)
    call, place = ranges(
        gaps.first, np.where((gaps.time > 0) & on_host[gaps.group], gaps.end, gaps.first)
    )
    width = len(variants.names) + 1
    shown = spans.group * width + name
    silent = ~isin(gaps.group[place] * width + variants.name[call], shown)
    return _shared(variants, gaps, call[silent], place[silent])


class _Gaps(Struct, frozen=True):
    """Time before, between and after the paired rows of ranges; arrays of shape (s,)."""

    group: Int
    time: Nanoseconds
    first: Int
    """First call that may have run there."""
    end: Int
    """The one after the last."""


def _shared(variants: Variants, gaps: _Gaps, call: Int, place: Int) -> Portions:
    """Split gaps among the parts of calls, each with the gap it ran in, ascending."""
    part, at = ranges(*variants.parts(call))
    place = place[at]
    has = mask_of(place, len(gaps.time))
    dense = np.cumsum(has) - 1
    shares = split(gaps.time[has], dense[place], variants.weight[part])
    module, size = variants.module[part], len(gaps.time)
    low, high = least_by(place, module, size), greatest_by(place, module, size)
    return Portions(gaps.group[place], part, shares, (low < high)[place])


def _gaps(variants: Variants, variant: Int, spans: Spans, found: Alignment) -> _Gaps:
    paired = found.call >= 0
    count = np.bincount(spans.group[paired], minlength=len(variant))
    offset = np.cumsum(count + 1) - (count + 1)
    before: Int = np.cumsum(paired) - paired  # paired rows before each
    earlier = np.cumsum(count) - count
    time = np.zeros(int((count + 1).sum()), np.int64)
    np.add.at(time, (offset - earlier)[spans.group] + before, spans.before)
    np.add.at(time, offset + count, spans.after)
    first, end = np.zeros(len(time), np.int64), np.zeros(len(time), np.int64)
    at = (offset - earlier)[spans.group[paired]] + before[paired]
    first[offset] = variants.first_call[variant]
    first[at + 1] = found.call[paired] + 1
    end[offset + count] = variants.first_call[variant + 1]
    end[at] = found.call[paired]
    return _Gaps(np.repeat(np.arange(len(variant)), count + 1), time, first, end)
