"""Loops in Python of which each iteration waits for the device in more places than one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, mask_of, union, unique, unique_inverse
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
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.by_place import NO_STEPS
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import regions

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
_SHARE = 0.03
_MOST = 0.9
"""Part of the longest time, and of the iterations, from which on loops around names are one."""
_NAMED = 4
"""Operators that the evidence names."""
_CAVEAT = (
    "The gain is without all syncs of the loop, and without the time before its launches in which "
    "the device idles: each sync by itself saves little while the others of its iteration stay. "
    "Where an iteration needs what the one before it read, only a part can go."
)


class _Loop(NamedTuple):
    around: int
    """Call tree row around it, -1 for none."""
    iterations: TreeRow
    """The operator that each iteration begins with."""
    time: TimeSet
    syncs: SyncIndex


def _find(context: Context) -> Iterator[Occurrence]:
    places: dict[tuple[int, str], list[_Loop]] = {}
    for loop in _loops(context):
        module = context.rows.module_of(loop.around) if loop.around >= 0 else -1
        places.setdefault((module, context.host.name(int(loop.iterations[0]))), []).append(loop)
    for (module, name), group in places.items():
        held = context.steps.us_per_step(sum(intervals.length(each.time) for each in group))
        if held > _SHARE * context.steps.measured_us:
            yield _occurrence(context, module, name, group, held)


def _occurrence(
    context: Context, module: int, name: str, group: list[_Loop], held: float
) -> Occurrence:
    syncs = np.sort(np.concatenate([each.syncs for each in group]))
    iterations = np.concatenate([each.iterations for each in group])
    time = intervals.normal(np.concatenate([each.time for each in group]))
    waits = context.rows.outermost_operator_of(context.syncs.row[syncs])
    number = Counter(context.host.name(row) for row in waits.tolist())
    named = ", ".join(f"{each} ({count:,})" for each, count in number.most_common(_NAMED))
    return Occurrence(
        place=f"a loop around {name}",
        module=module if module >= 0 else None,
        evidence=f"{format_count(len(iterations), 'iteration')} of the same operators in "
        f"{context.steps.text}, {context.part_text(held)}, with "
        f"{format_count(len(syncs), 'sync')} in {named}",
        syncs=syncs,
        gaps=union(context.gaps.of_syncs(syncs), context.gaps.within(time, Cause.LAUNCH)),
        examples=context.syncs.start[syncs],
        caveats=(_CAVEAT,) if context.steps.marked else (_CAVEAT, NO_STEPS),
    )


def _loops(context: Context) -> Iterator[_Loop]:
    """Loops of the operators under one row, or under none, of a step and thread."""
    tree, counted = context.call_tree, context.syncs.counted
    syncs = np.flatnonzero(counted & ~context.syncs.of_blocking_launches)
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
                yield _Loop(int(tree.parent[rows[0]]), left[iterations[:, 0]], time, syncs[mine])
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


RULE = Rule(
    id="sync-loop",
    family="sync",
    title="Each iteration of a Python loop waits for the device several times",
    description="Operators of two names or more that sync, in iterations of the same operators: 32 "
    "or more of each sequence under one parent in a step, four or more in a row, of at most 2 ms "
    "and 64 operators, over 3% of the step (of a trace without steps, less its set-up). Iterations "
    "with a backward, an optimizer, a loader, a whole model, compiled code or a CUDA graph do not "
    "count. The cost is the idle time of its syncs, and that before launches within the loop.",
    fix="Work on the whole batch at once: a dimension for what the loop runs over; one sort or "
    "nonzero for all iterations, then segments by bincount and cumsum. What Python needs of it, "
    "copy to the host once, before the loop, and loop over numpy arrays or lists there.",
    reference="NVIDIA, Writing Sync-Free Code: dynamic patterns",
    confidence="medium",
    find=_find,
)
