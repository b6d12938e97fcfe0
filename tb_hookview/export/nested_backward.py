"""The backward pass as modules see it: each thread's node evaluations, wrapped into their modules.

    nodes      [a.1 ][a.1 ][a.0 ]   [a.1 ][?]           module of each
    lane       [------- a ------]   [- a-]
               [--- 1 -----][-0-]   [--1-]
               [    ][     ][   ]   [    ][?]

A module's slice lasts from the first to the last of nodes that follow each other within its part of
the tree. It ends where a node of another part, or of no module, comes between, and where forward,
optimizer or data time or a step's bound lies between: these are two backward passes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.roles import node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE, REASONS
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.nesting import lookup, nearest_above
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.export.packets import Slice
from tb_hookview.schema import Phase

MODULE, NODE, RECOMPUTE = "hookview.backward", "hookview.node", "hookview.recompute"


def module_label(path: str) -> str:
    """Name of a module's slices; a root's path is empty."""
    return path or "(root)"


def backward_slices(selection: Selection) -> dict[int, list[Slice]]:
    """Slices of the backward pass by thread, in the order that nests them."""
    analysis = selection.analysis
    rows = _rows(selection)
    above = lookup(_numbering(analysis, rows), _around(analysis, rows))
    wrapping = _Wrapping(analysis, _describe(selection, rows))
    fresh = _fresh(analysis, rows, above)
    for number, (row, parent) in enumerate(zip(rows.tolist(), above.tolist(), strict=True)):
        wrapping.add(number, row, parent, bool(fresh[number]))
    wrapping.close_all()
    return {
        thread: [piece for _, piece in sorted(found, key=_nesting)]
        for thread, found in wrapping.found.items()
    }


def _nesting(found: tuple[int, Slice]) -> tuple[int, int, int]:
    depth, piece = found
    return piece.start, -piece.end, depth


def _rows(selection: Selection) -> Int:
    """Forest positions of node evaluations, and of modules' calls within them."""
    analysis = selection.analysis
    again = (analysis.module_calls.module >= 0) & (analysis.row_node >= 0)
    again[analysis.nodes.row] = True
    return np.flatnonzero(again & selection.rows)


def _numbering(analysis: Analysis, rows: Int) -> Int:
    number = np.full(len(analysis.call_tree), -1, np.int64)
    number[rows] = np.arange(len(rows))
    return number


def _around(analysis: Analysis, rows: Int) -> Int:
    wanted = np.zeros(len(analysis.call_tree), bool)
    wanted[rows] = True
    return nearest_above(analysis.call_tree.parent, wanted)[rows]


def _fresh(analysis: Analysis, rows: Int, above: Int) -> Bool:
    """Which rows begin a new span: time of another kind lies between them and the one before."""
    call_tree = analysis.call_tree
    order = np.lexsort((np.arange(len(rows)), above, call_tree.thread[rows]))
    end = np.full(len(rows), -1, np.int64)
    end[order[1:]] = call_tree.end[rows][order[:-1]]
    start = call_tree.start[rows]
    gaps = np.stack([np.minimum(end, start), start], axis=1)
    others = (Phase.FORWARD, Phase.OPTIMIZER, Phase.DATA)
    between = intervals.normal(np.concatenate([analysis.phases.time[p] for p in others]))
    steps = analysis.steps.at(start) != analysis.steps.at(gaps[:, 0])
    return np.asarray((intervals.lengths_within(between, gaps) > 0) | steps)


@dataclass
class _Run:
    """A module's slice that may still grow; times in nanoseconds."""

    module: int
    start: int
    end: int


class _Wrapping:
    """Takes rows in call-tree order and wraps those of one module that follow each other."""

    def __init__(self, analysis: Analysis, described: list[Slice]) -> None:
        self._analysis = analysis
        self._described = described
        self._open: dict[tuple[int, int], list[_Run]] = {}
        self._depth: list[int] = []
        self.found: dict[int, list[tuple[int, Slice]]] = {}

    def add(self, number: int, row: int, parent: int, fresh: bool) -> None:
        """Take the next row; `parent` is the number of the row around it, -1 for none."""
        piece = self._described[number]
        thread = int(self._analysis.call_tree.thread[row])
        chain = self._chain(row) if piece.category == NODE else []
        runs = self._open.setdefault((thread, parent), [])
        base = self._depth[parent] + 1 if parent >= 0 else 0
        common = 0 if fresh else _common([run.module for run in runs], chain)
        self._close(thread, runs, common, base)
        runs += [_Run(module, piece.start, piece.end) for module in chain[common:]]
        for run in runs:
            run.end = max(run.end, piece.end)
        self._depth.append(base + len(runs))
        self.found.setdefault(thread, []).append((self._depth[-1], piece))

    def close_all(self) -> None:
        """End all that is open."""
        for (thread, parent), runs in self._open.items():
            self._close(thread, runs, 0, self._depth[parent] + 1 if parent >= 0 else 0)

    def _close(self, thread: int, runs: list[_Run], common: int, base: int) -> None:
        modules = self._analysis.modules
        for depth, run in enumerate(runs[common:], start=base + common):
            path = modules.path[run.module]
            arguments = (("module", path), ("class", modules.module_class[run.module]))
            piece = Slice(run.start, run.end, module_label(path), MODULE, arguments)
            self.found[thread].append((depth, piece))
        del runs[common:]

    def _chain(self, row: int) -> list[int]:
        """Modules from the root down to the one that owns a node."""
        node = int(self._analysis.row_node[row])
        module = int(self._analysis.attribution.node_module[node])
        chain = []
        while module >= 0:
            chain.append(module)
            module = int(self._analysis.modules.parent[module])
        return chain[::-1]


def _common(left: list[int], right: list[int]) -> int:
    """Length of the common beginning."""
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )


def _describe(selection: Selection, rows: Int) -> list[Slice]:
    """The slice of each row itself: a node's evaluation, or a module's call within one."""
    analysis = selection.analysis
    device = np.bincount(
        analysis.device_attribution.node[selection.work & (analysis.device_attribution.node >= 0)],
        analysis.device_events.duration[selection.work & (analysis.device_attribution.node >= 0)],
        len(analysis.nodes),
    )
    number = np.full(len(analysis.call_tree), -1, np.int64)
    number[analysis.nodes.row] = np.arange(len(analysis.nodes))
    return [_slice(analysis, row, int(number[row]), device) for row in rows.tolist()]


def _slice(analysis: Analysis, row: int, node: int, device: Int) -> Slice:
    start, end = int(analysis.call_tree.start[row]), int(analysis.call_tree.end[row])
    if node < 0:
        module = int(analysis.module_calls.module[row])
        path = analysis.modules.path[module]
        label = f"{module_label(path)} again"
        return Slice(start, end, label, RECOMPUTE, (("module", path),))
    arguments: list[tuple[str, str | float]] = [
        ("self_host_us", int(analysis.nodes.self_host[node]) / 1000)
    ]
    if analysis.launches_known:
        arguments.append(("device_us", float(device[node]) / 1000))
    module = int(analysis.attribution.node_module[node])
    if module >= 0:
        arguments.append(("module", analysis.modules.path[module]))
        arguments.append(("evidence", EVIDENCE[int(analysis.attribution.node_evidence[node])]))
    else:
        arguments.append(("no_module", REASONS[int(analysis.attribution.node_reason[node])]))
    name = node_name(analysis.host.name(row))
    return Slice(start, end, name, NODE, arguments)
