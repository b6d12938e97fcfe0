"""The backward pass inside of calls, such as those of an annotation around a whole iteration.

main    calls  [train                               ]
engine  nodes               [MmBackward0][...]
within                      [            ][  ]
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import AT_WORK
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, isin, unique
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.types import Bool, Nanoseconds, ThreadIndex, TreeRow


class BackwardWithin(Struct, frozen=True):
    """Pieces of calls of the forward in which nodes are evaluated, shape (p,)."""

    call: TreeRow
    start: Nanoseconds
    end: Nanoseconds


def backward_within(analysis: Analysis) -> BackwardWithin:
    """Find the nodes in calls, or for which the threads of calls wait, less calls in nodes.

    A thread waits for nodes of its own operators that another evaluates while it does nothing.
    """
    tree, nodes, is_call = analysis.call_tree, analysis.nodes, analysis.module_calls.module >= 0
    outer = nodes.row[nodes.around < 0]
    made_on = _made_on(analysis, outer)
    again, around = is_call & (nodes.of_row >= 0), tree.nearest(is_call & (nodes.of_row < 0))
    found = [(np.zeros(0, np.int64),) * 3]
    for thread in unique(tree.thread[is_call & (nodes.of_row < 0)]).tolist():
        waits = (made_on == thread) & _waits(analysis, thread, outer)
        mine = outer[(tree.thread[outer] == thread) | waits]
        calls = np.flatnonzero(again & (tree.thread == thread))
        spans = intervals.subtract(
            intervals.of(tree.start[mine], tree.end[mine]),
            intervals.of(tree.start[calls], tree.end[calls]),
        )
        start, end = spans.T
        call = lookup(around, innermost_at(tree, np.full(len(spans), thread), start))
        inside = call >= 0
        end = np.minimum(end, lookup(tree.end, call))
        found.append((call[inside], start[inside], end[inside]))
    return BackwardWithin(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _waits(analysis: Analysis, thread: int, row: TreeRow) -> Bool:
    """Whether a thread is in no operator or call, and begins nothing, during each of some rows."""
    tree, kind = analysis.call_tree, analysis.host.kind
    mine = tree.start[slice(*np.searchsorted(tree.thread, [thread, thread + 1]))]
    first, last = np.searchsorted(mine, [tree.start[row], tree.end[row]])
    at = innermost_at(tree, np.full(len(row), thread), tree.start[row])
    works = isin(lookup(kind, at), AT_WORK)
    return np.asarray((first == last) & ~works)


def _made_on(analysis: Analysis, row: TreeRow) -> ThreadIndex:
    """Thread of the operator that made each node, or the one before it on its thread; -1 for none.

    Gradients are accumulated after a node that an operator made.
    """
    tree, nodes = analysis.call_tree, analysis.nodes
    made_by = nodes.forward_op[nodes.around < 0]
    known, thread, start = np.flatnonzero(made_by >= 0), tree.thread[row], tree.start[row]
    before = lookup(known, asof(thread[known], start[known], thread, start))
    return lookup(tree.thread, lookup(made_by, before))
