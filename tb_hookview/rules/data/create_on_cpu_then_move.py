"""Tensors created on the CPU and copied at once to the device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import copies

_FILLS = (
    *("aten::zeros", "aten::ones", "aten::full", "aten::arange", "aten::eye", "aten::linspace"),
    *("aten::rand", "aten::randn", "aten::randint", "aten::randperm", "aten::tril", "aten::triu"),
    *("aten::zeros_like", "aten::ones_like", "aten::full_like", "aten::rand_like"),
    *("aten::randn_like", "aten::fill_", "aten::zero_", "aten::normal_", "aten::uniform_"),
)
_AT_ONCE_NS = 25_000
"""`torch.zeros(...).to(device)` moves within this time, on a slow host too."""


def _explains(context: Context) -> Bool:
    syncs, call_tree = context.syncs, context.call_tree
    memory = rf"{copies.PAGEABLE}|{copies.UNKNOWN}"
    moved = syncs.outermost(r"aten::(to|cuda|_to_copy)")
    filled = syncs.before(moved)
    at_once = lookup(call_tree.start, moved) - lookup(call_tree.end, filled) <= _AT_ONCE_NS
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
    return copies.by_place_of_copies(
        context,
        unique(context.syncs.copy[found]),
        saved=1.0,
        note="each right after an operator that filled a tensor on the host",
    )


RULE = Rule(
    id="create-on-cpu-then-move",
    family="data-movement",
    title="Tensors are created on the CPU and then copied to the device",
    description="An operator that fills a tensor without a kernel (aten::zeros, randn, arange, "
    "...), and within 25 us aten::to with a copy to the device that blocks.",
    fix="Create them where they are used: device= and dtype= in the constructor, or new_* and "
    "*_like of a tensor on the device. Register constants as buffers.",
    reference="PyTorch Performance Tuning Guide: create tensors directly on the target device",
    confidence="medium",
    explains=_explains,
    find=_find,
)
