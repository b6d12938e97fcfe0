"""Many small copies to the device in every step, as of Python numbers and lists."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import isin, union
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import copies

_A_STEP = 10


def _explains(context: Context) -> Bool:
    return copies.syncs_for(context, _many_small(context))


def _find(context: Context) -> Iterator[Occurrence]:
    """Blocking copies that no rule of higher priority explains, and all others."""
    syncs, small = context.syncs, _many_small(context) & context.device_events.counted
    mine = syncs.copy[context.explained_by(RULE) & context.syncs.counted]
    found = np.flatnonzero(small & (context.analysis.device_events.launch >= 0))
    free = found[~isin(found, syncs.copy)]
    return copies.by_place_of_copies(context, union(mine, free))


def _many_small(context: Context) -> Bool:
    """Small copies from memory that is not pinned, in a trace with enough of them per step."""
    small = copies.unpinned_uploads(context) & copies.small(context)
    enough = context.steps.marked and (
        small & context.device_events.counted
    ).sum() >= _A_STEP * len(context.steps)
    return np.asarray(small & enough)


RULE = Rule(
    id="h2d-many-small",
    family="data-movement",
    title="Many small host-to-device copies in every step",
    description="Ten or more copies per step from pageable memory (on HIP, which does not record "
    "that, by hipMemcpyWithStream) to the device of at most 64 KiB (or, where the trace holds no "
    "sizes, 10 us), as torch.tensor(list, device='cuda') makes them.",
    fix=copies.PACK,
    reference="NVIDIA, Writing Sync-Free Code: tensors made from Python objects",
    explains=_explains,
    find=_find,
    advice=("host-copy-torch-tensor",),
)
