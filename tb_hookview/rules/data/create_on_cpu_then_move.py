"""Tensors created on the CPU and copied at once to the device."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import union, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import copies

_FILLS = (
    *("aten::zeros", "aten::ones", "aten::full", "aten::arange", "aten::eye", "aten::linspace"),
    *("aten::rand", "aten::randn", "aten::randint", "aten::randperm", "aten::tril", "aten::triu"),
    *("aten::zeros_like", "aten::ones_like", "aten::full_like", "aten::rand_like"),
    *("aten::randn_like", "aten::fill_", "aten::zero_", "aten::normal_", "aten::uniform_"),
)
_AT_ONCE_NS, _WITH_STACKS_NS = 25_000, 100_000
"""`torch.zeros(...).to(device)` moves within this time, on a slow host too; and where the calls of
Python in between are recorded."""


def _filled_and_moved(context: Context) -> tuple[TreeRow, TreeRow]:
    """The operator before that which moves, and that, for each sync; -1 for none."""
    moved = context.syncs.outermost(r"aten::(to|cuda|_to_copy)")
    return context.syncs.before(moved), moved


def _explains(context: Context) -> Bool:
    syncs, call_tree = context.syncs, context.call_tree
    memory = rf"{copies.PAGEABLE}|{copies.UNKNOWN}"
    filled, moved = _filled_and_moved(context)
    within = _WITH_STACKS_NS if context.with_stacks else _AT_ONCE_NS
    at_once = lookup(call_tree.start, moved) - lookup(call_tree.end, filled) <= within
    found = np.asarray(syncs.named(filled, *_FILLS) & at_once)
    if found.any():
        found &= copies.syncs_for(context, copies.uploads(context, memory))
        found &= ~_launches(context)[filled]
    return found


def _launches(context: Context) -> Bool:
    """Fills that launched device events."""
    parent, launch = context.call_tree.parent, context.analysis.device_events.launch
    around = context.call_tree.nearest(context.rows.named(*_FILLS))
    fill = around[unique(launch[launch >= 0])]
    found = np.zeros(len(context.call_tree) + 1, bool)  # the last is for "no row"
    while len(fill := unique(fill[fill >= 0])):
        found[fill] = True
        fill = lookup(around, parent[fill])
    return found


def _find(context: Context) -> Iterator[Occurrence]:
    found = context.explained_by(RULE) & context.syncs.counted & copies.repeated(context)
    filled, moved = _filled_and_moved(context)
    for occurrence in copies.by_place_of_copies(
        context, unique(context.syncs.copy[found]), saved=1.0
    ):
        yield _with_fills(context, occurrence, filled, moved)


def _with_fills(
    context: Context, occurrence: Occurrence, filled: TreeRow, moved: TreeRow
) -> Occurrence:
    """The occurrence with what filled its tensors: the host does neither without it."""
    tree, mine = context.call_tree, occurrence.syncs
    fills = unique(filled[mine][filled[mine] >= 0])
    held = context.steps.us_per_step(tree.duration[fills].sum())
    time = intervals.of(tree.start[fills], tree.end[fills])
    return msgspec.structs.replace(
        occurrence,
        evidence=f"{occurrence.evidence}; each right after an operator that filled a tensor on the "
        f"host, {context.us_text(held)}",
        gaps=union(occurrence.gaps, context.gaps.within(time, Cause.LAUNCH)),
        gone=union(fills, moved[mine][moved[mine] >= 0]),
    )


RULE = Rule(
    id="create-on-cpu-then-move",
    family="data-movement",
    title="Tensors are created on the CPU and then copied to the device",
    description="An operator that fills a tensor without a kernel (aten::zeros, randn, arange, "
    "...), and within 25 us (100 us where Python stacks are recorded) aten::to with a copy to the "
    "device that blocks.",
    fix="Create them where they are used: device= and dtype= in the constructor, or new_* and "
    "*_like of a tensor on the device. Register constants as buffers.",
    reference="PyTorch Performance Tuning Guide: create tensors directly on the target device",
    confidence="medium",
    explains=_explains,
    find=_find,
)
