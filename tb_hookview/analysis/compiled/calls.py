"""Calls of compiled graphs in the trace, each with its variant in the recorder's map."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.compiled.graphs import Variants, variants_of
from tb_hookview.analysis.compiled.names import GRAPH_CALL, REGION
from tb_hookview.analysis.compiled.paths import Paths
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.joins import dense_rank, first_of_each
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, StringIndex, TreeRow
from tb_hookview.trace.format.compiled_graphs import CompiledGraph, CompiledGraphs

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
    rows = host.named(GRAPH_CALL.fullmatch)
    wanted = np.zeros(len(host), bool)
    wanted[rows[~host.device_threads[host.call_tree.thread[rows]]]] = True
    return np.flatnonzero(wanted & (host.call_tree.nearest_above(wanted) < 0))


def regions_of(host: HostRows, nodes: Nodes, rows: TreeRow) -> tuple[StringIndex, Bool]:
    """Name of the compiled region of each row, -1 for none, and whether it is its backward.

    That of a node is the region in which the node's forward operator ran.
    """
    is_region = np.zeros(len(host), bool)
    is_region[host.named(lambda text: text.startswith(REGION))] = True
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
            compile_id = self._texts[region].removeprefix(REGION)
            found = [graph for graph in found if graph.compile_id == compile_id]
        return found[0] if found and all(graph == found[0] for graph in found) else None
