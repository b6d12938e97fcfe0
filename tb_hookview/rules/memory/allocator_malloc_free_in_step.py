"""Device memory allocated and freed during steps, past the caching allocator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import union, unique
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import places_of
from tb_hookview.rules.engine.rule import Occurrence, Rule

_OF_HOST = r"Host"
"""Calls that pin memory of the host are another rule's."""
_FREES = r"Free|Unmap|Release"
_EMPTIED = "Take torch.cuda.empty_cache() out of the loop."
_SHAPES = (
    "Keep shapes fixed or in a few sizes, and warm up with the largest batch. Set "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
)
_FULL = (
    "Lower the peak by a smaller batch or checkpointing, and watch num_alloc_retries in "
    "torch.cuda.memory_stats(). Against fragmentation set "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
)
_LATENT = "the device did not idle after it in this trace, but cudaFree waits for the whole device"


def _explains(context: Context) -> Bool:
    return np.asarray(context.analysis.calls[context.syncs.row] == Call.ALLOCATE)


def _find(context: Context) -> Iterator[Occurrence]:
    if not context.steps.marked:
        return
    calls = (
        (context.analysis.calls == Call.ALLOCATE)
        & context.rows.counted
        & ~context.rows.matching(_OF_HOST)
    )
    rows = np.flatnonzero(calls)
    rows = rows[context.rows.on_training_thread(rows)]
    for (module, place), members in places_of(context, rows).items():
        mine = rows[members]
        chosen = np.zeros(len(context.call_tree), bool)
        chosen[mine] = True
        syncs = np.flatnonzero(chosen[context.syncs.row])
        yield Occurrence(
            place=place,
            module=module,
            evidence=_evidence(context, mine),
            fix=_fix(context, mine),
            count=len(mine),
            syncs=syncs,
            gaps=union(context.gaps.at(chosen, Cause.ALLOCATOR), context.gaps.of_syncs(syncs)),
            examples=context.call_tree.start[mine],
            latent=_LATENT,
        )


def _evidence(context: Context, rows: TreeRow) -> str:
    call_tree = context.call_tree
    freeing = int(context.rows.matching(_FREES)[rows].sum())
    steps = unique(context.analysis.steps.at(call_tree.start[rows]))
    held = intervals.length(intervals.of(call_tree.start[rows], call_tree.end[rows]))
    calls = (
        f"{format_count(len(rows), 'call')}, {freeing} of which free memory, in {len(steps)} of "
        f"{format_count(len(context.steps), 'step')}; the host spent "
        f"{format_us(context.steps.us_per_step(held))} a step in them"
    )
    if freeing == len(rows):
        return f"{calls}; none allocates, as in torch.cuda.empty_cache()"
    if retries := _retries(context, rows):
        return (
            f"{calls}; {format_count(retries, 'time')} memory is freed and allocated again within "
            "one operator, as when an allocation fails and is retried"
        )
    if freeing:
        return f"{calls}; memory is freed and allocated again, as when it is nearly full"
    return calls


def _fix(context: Context, rows: TreeRow) -> str:
    if context.rows.matching(_FREES)[rows].all():
        return _EMPTIED
    return _FULL if _retries(context, rows) else _SHAPES


def _retries(context: Context, rows: TreeRow) -> int:
    """Number of calls that free memory before one that allocates, in one operator."""
    if not len(rows):
        return 0
    frees, operator = context.rows.matching(_FREES)[rows], context.rows.operator_of(rows)
    same = (operator[1:] == operator[:-1]) & (operator[1:] >= 0)
    return int(np.count_nonzero(same & frees[:-1] & ~frees[1:]))


RULE = Rule(
    id="allocator-malloc-free-in-step",
    family="memory",
    title="Device memory is allocated or freed during steps",
    description="cudaMalloc, cudaFree or similar (cuMemCreate, cuMemMap, cuMemUnmap with "
    "expandable segments) on a thread that launches kernels, in a marked step after the first.",
    fix=f"{_EMPTIED} {_SHAPES} {_FULL}",
    reference="CUDA semantics, memory management; torch.cuda.memory_stats",
    explains=_explains,
    find=_find,
)
