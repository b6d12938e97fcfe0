"""The backward pass by module: each thread's node evaluations, wrapped into their modules.

    nodes      [a.1 ][a.1 ][a.0 ]   [a.1 ][?]           module of each
    lane       [------- a ------]   [- a-]
               [--- 1 -----][-0-]   [--1-]
               [    ][     ][   ]   [    ][?]

`analysis/backward_spans.py` says where a module's slice ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.backward_spans import spans_of_nodes
from tb_hookview.analysis.host.roles import node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE, REASONS
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import pair_key, unique_inverse
from tb_hookview.arrays.units import to_us
from tb_hookview.export.packets import Slice, Value
from tb_hookview.schema import module_label

MODULE, NODE, RECOMPUTE = "hookview.backward", "hookview.node", "hookview.recompute"


def backward_slices(selection: Selection) -> dict[int, list[Slice]]:
    """Slices of the backward pass by thread, in the order that nests them."""
    found: dict[int, list[Slice]] = defaultdict(list)
    for slices in (_modules, _nodes, _calls):
        for thread, piece in slices(selection):
            found[thread].append(piece)
    # Of slices with the same bounds modules come first, and outer ones before inner ones.
    return {t: sorted(f, key=lambda piece: (piece.start, -piece.end)) for t, f in found.items()}


def _modules(selection: Selection) -> Iterator[tuple[int, Slice]]:
    """Spans of modules, each with its thread; nodes within one node are wrapped by themselves."""
    analysis, nodes = selection.analysis, np.flatnonzero(selection.nodes)
    thread = analysis.call_tree.thread[analysis.nodes.row]
    groups, group = unique_inverse(pair_key(thread[nodes], analysis.nodes.around[nodes] + 1))
    for number in range(len(groups)):
        mine = nodes[group == number]
        spans = spans_of_nodes(analysis, mine)
        bounds = zip(spans.start.tolist(), spans.end.tolist(), spans.module.tolist(), strict=True)
        for start, end, module in bounds:
            path = analysis.modules.path[module]
            arguments = (("module", path), ("class", analysis.modules.module_class[module]))
            yield int(thread[mine[0]]), Slice(start, end, module_label(path), MODULE, arguments)


def _nodes(selection: Selection) -> Iterator[tuple[int, Slice]]:
    """Evaluations of nodes, each with its thread."""
    analysis = selection.analysis
    launcher = analysis.device_attribution.node
    launched = selection.device_events & (launcher >= 0)
    lengths = analysis.device_events.duration[launched]
    device = np.bincount(launcher[launched], lengths, len(analysis.nodes)).tolist()
    for node in np.flatnonzero(selection.nodes).tolist():
        row = int(analysis.nodes.row[node])
        arguments = tuple(_of_node(analysis, node, device[node]))
        name = node_name(analysis.host.name(row))
        yield _on_thread(analysis, row, name, NODE, arguments)


def _of_node(analysis: Analysis, node: int, device: float) -> Iterator[tuple[str, Value]]:
    yield "self_host_us", to_us(analysis.nodes.self_host[node])
    if analysis.launches_known:
        yield "device_us", to_us(device)
    module = int(analysis.attribution.node_module[node])
    if module >= 0:
        yield "module", analysis.modules.path[module]
        yield "evidence", EVIDENCE[int(analysis.attribution.node_evidence[node])]
    else:
        yield "no_module", REASONS[int(analysis.attribution.node_reason[node])]


def _calls(selection: Selection) -> Iterator[tuple[int, Slice]]:
    """Calls of modules within nodes, each with its thread."""
    analysis = selection.analysis
    again = (analysis.module_calls.module >= 0) & (analysis.row_node >= 0) & selection.rows
    for row in np.flatnonzero(again).tolist():
        path = analysis.modules.path[int(analysis.module_calls.module[row])]
        label = f"{module_label(path)} again"
        yield _on_thread(analysis, row, label, RECOMPUTE, (("module", path),))


def _on_thread(
    analysis: Analysis,
    row: int,
    name: str,
    kind: str,
    arguments: Iterable[tuple[str, Value]],
) -> tuple[int, Slice]:
    tree = analysis.call_tree
    piece = Slice(int(tree.start[row]), int(tree.end[row]), name, kind, arguments)
    return int(tree.thread[row]), piece
