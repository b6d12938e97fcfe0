"""The recorder's marks on the backward pass: whose gradient, and between which marks.

A pair of marks spans what ran between them on one thread, from the node at which the first was
left to the one at which the second was:

    before blocks.0 | before blocks.0.fc | MmBackward0 | after blocks.0.fc | after blocks.0
                    |---------------- blocks.0.fc -----|
    |--------------------------- blocks.0 ------------------------------|
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.host.roles import Role, module_name
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.joins import asof, dense_rank, unique_inverse
from tb_hookview.arrays.nesting import CallTree, enclosing, innermost_at, lookup
from tb_hookview.arrays.types import Int, ModuleIndex, Nanoseconds, TreeRow


def marked_modules(host: HostRows, modules: Modules, rows: TreeRow) -> ModuleIndex:
    """Module that each mark names, -1 for one that is not in the tree."""
    by_path = {path: number for number, path in enumerate(modules.path)}
    strings, place = unique_inverse(host.string[rows])
    names = [module_name(host.trace.strings[string], Role.NONE) for string in strings.tolist()]
    return np.array([by_path.get(name.path, -1) for name in names], np.int64)[place]


def module_between_marks(host: HostRows, modules: Modules, rows: TreeRow) -> ModuleIndex:
    """Innermost module between whose marks each of the rows began; -1 for none."""
    before = np.flatnonzero(host.role == Role.BEFORE_MARK)
    after = np.flatnonzero(host.role == Role.AFTER_MARK)
    if not len(before) or not len(after):
        return np.full(len(rows), -1, np.int64)
    opened = marked_modules(host, modules, before)
    closed = marked_modules(host, modules, after)
    pair = _pairs(host, before, opened, after, closed)
    whole = np.flatnonzero((pair >= 0) & (opened >= 0))
    marks = before[whole]
    start, end = np.split(_began(host, np.concatenate([marks, after[pair[whole]]])), 2)
    thread = host.call_tree.thread[marks]
    order = np.lexsort((marks, start - end, start, thread))
    start, end, thread = start[order], end[order], thread[order]
    spans = CallTree(marks[order], enclosing(thread, start, end), start, end, thread)
    found = innermost_at(spans, host.call_tree.thread[rows], host.call_tree.start[rows])
    return lookup(opened[whole][order], found)


def _pairs(
    host: HostRows, before: TreeRow, opened: ModuleIndex, after: TreeRow, closed: ModuleIndex
) -> Int:
    """Index of the mark after that belongs to each mark before, -1 for none.

    They pair as brackets do, for each module and thread by itself. A mark before without a mark
    after, because the backward failed, takes no other's.
    """
    marks, module = np.concatenate([before, after]), np.concatenate([opened, closed])
    thread, start = host.call_tree.thread[marks], host.call_tree.start[marks]
    step = np.repeat([1, -1], [len(before), len(after)])
    order = np.lexsort((start, module, thread))
    depth = np.empty(len(marks), np.int64)
    depth[order] = np.cumsum(step[order])  # the offset of what is sorted before is the same for all
    depth[step < 0] += 1
    key = dense_rank(thread, module, depth)
    first, second = key[: len(before)], key[len(before) :]
    opening = asof(first, start[: len(before)], second, start[len(before) :])
    pair = np.full(len(before), -1, np.int64)
    pair[opening[opening >= 0]] = np.flatnonzero(opening >= 0)
    return pair


def _began(host: HostRows, marks: TreeRow) -> Nanoseconds:
    """Start of the node at which each mark was left."""
    # The mark may lie inside its evaluation.
    node = host.call_tree.nearest_above(host.role == Role.NODE)[marks]
    return np.where(node >= 0, lookup(host.call_tree.start, node), host.call_tree.start[marks])
