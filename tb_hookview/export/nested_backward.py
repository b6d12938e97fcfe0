"""The backward pass by module: each thread's node evaluations, wrapped into their modules.

    nodes      [a.1 ][a.1 ][a.0 ]   [a.1 ][?]           module of each
    lane       [------- a ------]   [- a-]
               [--- 1 -----][-0-]   [--1-]
               [    ][     ][   ]   [    ][?]

`analysis/backward_spans.py` says where a module's slice ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.backward_spans import find_backward_spans, other_pass_between
from tb_hookview.analysis.host.roles import node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE, REASONS
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import lookup, nearest_above
from tb_hookview.arrays.types import Int, ModuleIndex, Nanoseconds, TreeRow
from tb_hookview.arrays.units import to_us
from tb_hookview.export.packets import Slice
from tb_hookview.schema import module_label

MODULE, NODE, RECOMPUTE = "hookview.backward", "hookview.node", "hookview.recompute"


def backward_slices(selection: Selection) -> dict[int, list[Slice]]:
    """Slices of the backward pass by thread, in the order that nests them."""
    analysis = selection.analysis
    rows = _rows(selection)
    above = lookup(_numbering(analysis, rows), _around(analysis, rows))
    owner = np.where(
        isin(rows, analysis.nodes.row),
        lookup(analysis.attribution.node_module, analysis.row_node[rows]),
        -1,
    )
    base = _bases(above.tolist(), lookup(analysis.modules.depth, owner).tolist())
    depth = base + lookup(analysis.modules.depth, owner) + 1
    found: dict[int, list[_Placed]] = {}
    threads = analysis.call_tree.thread[rows].tolist()
    for number, piece in enumerate(_describe(selection, rows)):
        placed = _Placed(piece.start, -piece.end, int(depth[number]), 2 * number + 1, piece)
        found.setdefault(threads[number], []).append(placed)
    for first, placed in _module_slices(analysis, rows, above, owner, base):
        found[threads[first]].append(placed)
    return {thread: [each.piece for each in sorted(f)] for thread, f in found.items()}


class _Placed(NamedTuple):
    """A slice with what it is sorted by."""

    start: int
    end: int
    """Below 0: the longer goes first."""
    depth: int
    order: int
    """Of slices of equal bounds and depth, that of the earlier row goes first."""
    piece: Slice


def _bases(above: list[int], depth: list[int]) -> Int:
    """Number of slices around each row and its modules."""
    base: list[int] = []
    for parent in above:
        base.append(base[parent] + depth[parent] + 2 if parent >= 0 else 0)
    return np.array(base, np.int64)


def _module_slices(
    analysis: Analysis, rows: TreeRow, above: Int, owner: ModuleIndex, base: Int
) -> Iterator[tuple[int, _Placed]]:
    """Slices of modules, each with the number of its first row."""
    call_tree, modules = analysis.call_tree, analysis.modules
    # Rows within one row of a thread are wrapped by themselves.
    order = np.lexsort((np.arange(len(rows)), above, call_tree.thread[rows]))
    start, end = call_tree.start[rows[order]], call_tree.end[rows[order]]
    before = np.minimum(np.concatenate([start[:1], end[:-1]]), start)
    breaks = other_pass_between(analysis, before, start)
    group = np.stack([call_tree.thread[rows[order]], above[order]])
    breaks[1:] |= (group[:, 1:] != group[:, :-1]).any(axis=0)
    spans = find_backward_spans(modules, owner[order], start, end, breaks)
    for span in range(len(spans.start)):
        first, module = int(order[spans.first[span]]), int(spans.module[span])
        path = modules.path[module]
        arguments = (("module", path), ("class", modules.module_class[module]))
        begin, until = int(spans.start[span]), int(spans.end[span])
        piece = Slice(begin, until, module_label(path), MODULE, arguments)
        depth = int(base[first] + spans.level[span])
        yield first, _Placed(begin, -until, depth, 2 * first, piece)


def _rows(selection: Selection) -> TreeRow:
    """Rows of the call tree: node evaluations, and modules' calls within them."""
    analysis = selection.analysis
    again = (analysis.module_calls.module >= 0) & (analysis.row_node >= 0)
    again[analysis.nodes.row] = True
    return np.flatnonzero(again & selection.rows)


def _numbering(analysis: Analysis, rows: TreeRow) -> Int:
    number = np.full(len(analysis.call_tree), -1, np.int64)
    number[rows] = np.arange(len(rows))
    return number


def _around(analysis: Analysis, rows: TreeRow) -> TreeRow:
    wanted = np.zeros(len(analysis.call_tree), bool)
    wanted[rows] = True
    return nearest_above(analysis.call_tree.parent, wanted)[rows]


def _describe(selection: Selection, rows: TreeRow) -> list[Slice]:
    """The slice of each row itself: a node's evaluation, or a module's call within one."""
    analysis = selection.analysis
    launcher = analysis.device_attribution.node
    launched = selection.device_events & (launcher >= 0)
    device = np.bincount(
        launcher[launched], analysis.device_events.duration[launched], len(analysis.nodes)
    )
    number = np.full(len(analysis.call_tree), -1, np.int64)
    number[analysis.nodes.row] = np.arange(len(analysis.nodes))
    return [_slice(analysis, row, int(number[row]), device) for row in rows.tolist()]


def _slice(analysis: Analysis, row: int, node: int, device: Nanoseconds) -> Slice:
    start, end = int(analysis.call_tree.start[row]), int(analysis.call_tree.end[row])
    if node < 0:
        module = int(analysis.module_calls.module[row])
        path = analysis.modules.path[module]
        label = f"{module_label(path)} again"
        return Slice(start, end, label, RECOMPUTE, (("module", path),))
    arguments: list[tuple[str, str | float]] = [
        ("self_host_us", to_us(analysis.nodes.self_host[node]))
    ]
    if analysis.launches_known:
        arguments.append(("device_us", to_us(device[node])))
    module = int(analysis.attribution.node_module[node])
    if module >= 0:
        arguments.append(("module", analysis.modules.path[module]))
        arguments.append(("evidence", EVIDENCE[int(analysis.attribution.node_evidence[node])]))
    else:
        arguments.append(("no_module", REASONS[int(analysis.attribution.node_reason[node])]))
    name = node_name(analysis.host.name(row))
    return Slice(start, end, name, NODE, arguments)
