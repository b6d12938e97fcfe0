"""Many small copies to the device in every step: numbers and lists made into tensors there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import isin, union
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import copies

_A_STEP = 10


def _waits(context: Context) -> Bool:
    return copies.waits_for(context, _many_small(context))


def _match(context: Context) -> Iterator[Occurrence]:
    """The copies that block are those that no rule before explains; the others are all of it."""
    waits, small = context.waits, _many_small(context) & context.work
    mine = waits.copy[context.explained_by(RULE) & context.own_waits]
    found = np.flatnonzero(small & (context.analysis.device_events.launch >= 0))
    free = found[~isin(found, waits.copy)]
    return copies.by_place_of_copies(context, union(mine, free))


def _many_small(context: Context) -> Bool:
    """Small copies from pageable memory, of a trace that has enough of them in a step."""
    small = copies.uploads(context, copies.PAGEABLE) & copies.small(context)
    enough = context.has_steps and (small & context.work).sum() >= _A_STEP * len(context.steps)
    return np.asarray(small & enough)


RULE = Rule(
    id="h2d-many-small",
    family="data-movement",
    title="Many small tensors are copied to the device in every step",
    matches="Ten or more copies a step from pageable memory to the device of at most 64 KiB (or, "
    "where the trace holds no sizes, 10 us), as torch.tensor(list, device='cuda') makes them.",
    fix="Keep constants on the device. Pack small values into one pinned tensor, copy it once and "
    "slice it there. Pass Python numbers to operators as they are; make filled tensors by "
    "torch.full(..., device=...).",
    reference="NVIDIA, Writing Sync-Free Code: tensors made from Python objects",
    waits=_waits,
    match=_match,
    advice=("host-copy-torch-tensor",),
)
