"""Loops in Python over the elements of a tensor that wait for the device: which syncs are in one,
and what replaces the loop.

By what an iteration waits for: it reads an element; it compares one, and branches; it runs several
operators that each wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.host.rows import Role
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, mask_of, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    Bool,
    Intervals,
    Nanoseconds,
    StringIndex,
    SyncIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.syncs import READS
from tb_hookview.rules.evidence.host import regions

# Elements that are read one by one.


ITERATED = "one after another of the elements of a tensor, as where Python iterates over it"
READ_AT_ONCE = (
    "Call .tolist() on the whole tensor: one sync instead of one for each element. Keep what "
    "the host iterates over on the host from the start. Print outside of the loop: print() "
    "reads a tensor's elements so, too."
)


def iterated(context: Context, before: TreeRow) -> Bool:
    """Reads (of syncs) that follow one another directly after a tensor is unbound, shape (s,).

    Args:
        context: the trace.
        before: the operator before each read, -1 for none.
    """
    unbound = np.where(context.syncs.named(before, "aten::unbind"), before, -1)
    _, place = unique_inverse(unbound)
    return np.asarray((unbound >= 0) & (np.bincount(place)[place] > 1))


# Elements that are compared one by one.


_COMPARES = tuple(f"aten::{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge"))
_BRANCHES = 8
"""Branches in a row from which on they are a loop over the elements of a tensor."""
COMPARED = "one after another, each after a comparison alone, as in a Python loop over elements"
COMPARE_AT_ONCE = (
    "Compare whole tensors, and read one result: (prediction == label).sum() instead of a loop "
    "over elements, torch.equal() instead of a test of each."
)


def compared(context: Context, explained: Bool) -> Bool:
    """Branches in a row, many of them, between which nothing but a comparison runs."""
    syncs = context.syncs
    comparison = syncs.before(syncs.outermost(*READS), *READS)
    found = explained & syncs.named(comparison, *_COMPARES)
    follows = syncs.named(syncs.before(comparison, "aten::select", "aten::unbind"), *READS)
    run = np.cumsum(~(found & follows))  # each that follows none begins one
    return np.asarray(found & (np.bincount(run, found)[run] >= _BRANCHES))


# Iterations that wait in several operators.


WHOLE_BATCH = (
    "Work on the whole batch at once: a dimension for what the loop runs over; one sort or "
    "nonzero for all iterations, then segments by bincount and cumsum. What Python needs of it, "
    "copy to the host once, before the loop, and loop over numpy arrays or lists there."
)
_REPEATS = 32
"""Iterations of one sequence of operators from which on they are a loop."""
_IN_A_ROW = 4
"""Iterations one after the other from which on they are one."""
_ITERATION_NS = 2_000_000
"""Longest iteration: steps of a training or of a generation take longer."""
_OPERATORS = 64
"""Most operators of an iteration."""
_PLACES = 2
"""Least names of operators that wait in an iteration: a single one has a finding with all of it."""
_MOST = 0.9
"""Part of the longest time, and of the iterations, from which on loops around names are one."""


class SyncLoop(NamedTuple):
    """A loop of which each iteration waits in operators of two names or more."""

    around: int
    """Call tree row around it, -1 for none."""
    iterations: TreeRow
    """The operator that each iteration begins with."""
    time: TimeSet
    syncs: SyncIndex


def sync_loops(context: Context) -> Iterator[SyncLoop]:
    """Loops of the operators under one row, or under none, of a step and thread."""
    tree, syncs = context.call_tree, np.flatnonzero(context.syncs.counted)
    if len(syncs) < _REPEATS:
        return
    waiting = context.rows.outermost_operator_of(context.syncs.row[syncs])
    syncs, waiting = syncs[waiting >= 0], waiting[waiting >= 0]
    waits, breaks = mask_of(waiting, len(tree)), _breaks(context)
    for rows in _groups(context, waits):
        left = rows
        while len(iterations := _longest(context, left, waits, breaks)):
            time = intervals.of(
                tree.start[left[iterations[:, 0]]], tree.start[left[iterations[:, 1]]]
            )
            inside = intervals.contains(time, tree.start[left])
            mine = isin(waiting, left[inside])
            if len(unique(context.host.string[waiting[mine]])) >= _PLACES:
                yield SyncLoop(int(tree.parent[rows[0]]), left[iterations[:, 0]], time, syncs[mine])
            left = left[~inside]


def _groups(context: Context, waits: Bool) -> Iterator[TreeRow]:
    """Outermost operators with the same around them, in order, where enough of them wait."""
    rows = context.rows.outermost_operators
    rows = rows[context.rows.counted[rows]]
    place = context.rows.siblings(rows)
    for number in np.flatnonzero(np.bincount(place, waits[rows]) >= _REPEATS).tolist():
        yield rows[place == number]


def _breaks(context: Context) -> Nanoseconds:
    """Starts of what no loop over values has in it: parts of a training step, whole models."""
    analysis, tree = context.analysis, context.call_tree
    module = analysis.module_calls.module >= 0
    found = module & (lookup(tree.inside(module), tree.parent) != 1)
    found |= isin(context.host.role, [Role.NODE, Role.GRADIENT_SINK, Role.OPTIMIZER, Role.DATA])
    found |= regions(context) | context.rows.containing("GraphLaunch")
    return np.sort(tree.start[found])


def _longest(context: Context, rows: TreeRow, waits: Bool, breaks: Nanoseconds) -> Intervals:
    """Iterations of the longest loop, as the places of their first operator and of the next one's.

    Names that an iteration has several times begin parts of it: the least frequent ones begin it.
    """
    names, start = context.host.string[rows], context.call_tree.start[rows]
    asked, number = unique_inverse(names[waits[rows]])
    found = []
    for name in asked[np.bincount(number, minlength=len(asked)) >= _REPEATS]:
        begin = np.flatnonzero(waits[rows] & (names == name))
        iterations = _repeated(names, _short(start, intervals.between(begin), breaks))
        time = (start[iterations[:, 1]] - start[iterations[:, 0]]).sum()
        found.append((int(time), iterations))
    most = max((time for time, _ in found), default=0)
    long = [(time, iterations) for time, iterations in found if 0 < _MOST * most <= time]
    fewest = min((len(iterations) for _, iterations in long), default=0)
    whole = [(time, iterations) for time, iterations in long if _MOST * len(iterations) <= fewest]
    return max(whole, key=itemgetter(0), default=(0, np.zeros((0, 2), np.int64)))[1]


def _short(start: Nanoseconds, iterations: Intervals, breaks: Nanoseconds) -> Intervals:
    """Iterations of few operators and little time, in which nothing begins that is in none."""
    begin, end = start[iterations[:, 0]], start[iterations[:, 1]]
    short = (end - begin <= _ITERATION_NS) & (iterations[:, 1] - iterations[:, 0] <= _OPERATORS)
    short &= np.searchsorted(breaks, begin) == np.searchsorted(breaks, end)
    return np.asarray(iterations[short])


def _repeated(names: StringIndex, iterations: Intervals) -> Intervals:
    """Iterations whose sequence of operators enough of them have, enough of them in a row."""
    texts = [names[begin:end].tobytes() for begin, end in iterations.tolist()]
    number = Counter(texts)
    iterations = iterations[np.array([number[text] >= _REPEATS for text in texts], bool)]
    run = np.cumsum(iterations[:, 0] != np.append(-1, iterations[:, 1])[:-1])
    return np.asarray(iterations[np.bincount(run)[run] >= _IN_A_ROW])
