"""A Python loop that takes samples out of a batch, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.types import Int, StringIndex, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.trace import EventCategory

_LEADS = ("aten::select", "aten::slice", "aten::unbind")
_GATHERED = ("aten::stack", "aten::cat")
_REPEATS = 10
_FACTOR = np.uint64(6364136223846793005)
"""Odd, so that no weight of a place in a turn becomes 0."""
_SOON = 3
"""Operators after the last turn, one of which gathers the results."""


class _Siblings(NamedTuple):
    """Operators and annotations, ordered by what is around them and by start."""

    row: TreeRow
    around: Int
    """Equal for rows of the same parent, or of the same thread without one."""
    name: StringIndex


class _Loop(NamedTuple):
    first: int
    """Rows of its first operator and of the one after its last turn."""
    end: int
    repeats: int


def _find(context: Context) -> Iterator[Occurrence]:
    launched = np.zeros(len(context.call_tree), bool)
    launch = context.analysis.device_events.launch
    launched[launch[launch >= 0]] = True
    places: dict[tuple[int, int], list[_Loop]] = {}
    for loop in _loops(context):
        if launched[loop.first : loop.end].any():
            module = context.rows.module_of(loop.first)
            places.setdefault((module, loop.repeats), []).append(loop)
    for (module, repeats), group in places.items():
        yield _one(context, module, repeats, group)


def _one(context: Context, module: int, repeats: int, group: list[_Loop]) -> Occurrence:
    inside = np.zeros(len(context.call_tree), bool)
    for loop in group:
        inside[loop.first : loop.end] = True
    start = context.call_tree.start[[loop.first for loop in group]]
    length = context.call_tree.start[[loop.end for loop in group]] - start
    lead = context.host.name(group[0].first)
    return Occurrence(
        place=f"a loop around {lead}",
        module=module,
        evidence=f"{repeats} times in a row the same operators, each time from {lead} on, and then "
        "a stack or cat; this takes the host "
        f"{context.us_text(context.steps.us_per_step(length.sum()))}",
        count=len(group),
        gaps=context.gaps.at(inside, Cause.LAUNCH),
        examples=start,
        latent="the device did not idle in it in this trace, but its kernels work on one sample at "
        "a time",
    )


def _loops(context: Context) -> Iterator[_Loop]:
    leads, gathered = context.rows.name_indices(*_LEADS), set(context.rows.name_indices(*_GATHERED))
    if not leads or not gathered:
        return
    siblings = _siblings(context)
    lead = isin(siblings.name, leads)
    same = siblings.around[1:] == siblings.around[:-1]
    begins = lead.copy()
    begins[1:] &= ~(lead[:-1] & same)  # of several leads in a row the first
    first = np.flatnonzero(begins)
    if len(first) < _REPEATS:
        return
    turn, around = _turns(siblings, first), siblings.around[first]
    alike = (turn[1:] == turn[:-1]) & (around[1:] == around[:-1])
    like = np.concatenate([[False], alike, [False]])
    edges = np.flatnonzero(like[1:] != like[:-1])
    for start, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        # What follows the loop belongs to its last turn, which therefore differs from the others.
        if last - start + 2 < _REPEATS or last + 1 == len(first):
            continue
        names, ending = _names(siblings, first, last), _names(siblings, first, last + 1)
        size = len(names)
        if ending[:size] == names and gathered & set(ending[size : size + _SOON]):
            row = siblings.row
            end = int(row[first[last + 1] + size])
            yield _Loop(int(row[first[start]]), end, last - start + 2)


def _siblings(context: Context) -> _Siblings:
    host, call_tree = context.host, context.call_tree
    wanted = (host.kind == EventCategory.OPERATOR) | (host.kind == EventCategory.ANNOTATION)
    row = np.flatnonzero(wanted & context.rows.counted)
    parent = call_tree.parent[row]
    around = np.where(parent >= 0, parent, -1 - call_tree.thread[row])
    order = np.argsort(around, kind="stable")  # rows of one parent are by start already
    return _Siblings(row[order], around[order], host.string[row[order]])


def _turns(siblings: _Siblings, first: Int) -> Int:
    """A number for each turn: equal for turns of the same names."""
    size = np.diff(np.append(first, len(siblings.row)))
    within = np.arange(first[0], len(siblings.row)) - np.repeat(first, size)
    inside = siblings.around[first[0] :] == np.repeat(siblings.around[first], size)
    weight = np.cumprod(np.full(size.max(), _FACTOR))
    value = (siblings.name[first[0] :].astype(np.uint64) + np.uint64(1)) * weight[within] * inside
    return np.asarray(np.add.reduceat(value, first - first[0]).view(np.int64))


def _names(siblings: _Siblings, first: Int, turn: int) -> list[int]:
    """Names of one turn."""
    begin = int(first[turn])
    end = int(first[turn + 1]) if turn + 1 < len(first) else len(siblings.row)
    inside = siblings.around[begin:end] == siblings.around[begin]
    return [int(name) for name in siblings.name[begin:end][inside]]


RULE = Rule(
    id="python-loop-over-batch",
    family="kernels",
    title="Python loop over the samples of a batch",
    description="At least ten times in a row the same operators under one parent, each time led by "
    "aten::select, slice or unbind, that launch kernels and end in aten::stack or aten::cat.",
    fix="Work on the whole batch at once: write it with a batch dimension, use torch.vmap, pad or "
    "nest tensors of unequal size, or group matrix products.",
    reference="Pattern matcher ForLoopIndexing; PyTorch, torch.vmap",
    find=_find,
)
