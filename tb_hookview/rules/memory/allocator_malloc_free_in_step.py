"""Device memory allocated and freed during steps, past the caching allocator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Call
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, union, unique
from tb_hookview.arrays.types import Bool, GapIndex, SyncIndex, TreeRow
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.by_place import places_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_OF_HOST = r"Host"
"""Calls that pin memory of the host are another rule's."""
_FREES = r"Free|Unmap|Release"
_EMPTY = r"aten::(empty|empty_strided|empty_like)$"
_FEW = 8
"""Empty tensors below which nothing is said of the allocator."""
_UNCACHED = 0.5
"""Share of empty tensors above which there is no caching allocator."""
_CACHE = (
    "Let PyTorch cache: unset PYTORCH_NO_CUDA_MEMORY_CACHING, which is meant for memory checkers, "
    "and do not call torch.cuda.caching_allocator_enable(False). An allocator of your own needs a "
    "cache."
)
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
    calls = (
        (context.analysis.calls == Call.ALLOCATE)
        & context.rows.counted
        & ~context.rows.matching(_OF_HOST)
    )
    rows = np.flatnonzero(calls)
    rows = rows[context.rows.on_training_thread(rows)]
    share = _uncached(context, rows)
    if share > _UNCACHED:
        yield _without_cache(context, rows, share)
    elif context.steps.marked:
        yield from _by_place(context, rows)


def _uncached(context: Context, rows: TreeRow) -> float:
    """Share of empty tensors made by operators for which the driver allocated; 0 if it frees less.

    A caching allocator asks the driver for blocks that serve many of them, and seldom frees one.
    """
    frees = context.rows.matching(_FREES)[rows]
    if 2 * np.count_nonzero(frees) < np.count_nonzero(~frees):
        return 0.0
    empty = context.rows.matching(_EMPTY) & context.rows.counted
    made = np.flatnonzero(empty)
    made = made[context.rows.on_training_thread(made)]
    around = unique(context.rows.operator_of(rows[~frees]))
    return float(np.isin(made, around).mean()) if len(made) >= _FEW else 0.0


def _without_cache(context: Context, rows: TreeRow, share: float) -> Occurrence:
    freeing = int(context.rows.matching(_FREES)[rows].sum())
    syncs, gaps = _costs(context, rows)
    return Occurrence(
        place="the allocator",
        everywhere=True,
        title="Device memory is not cached",
        evidence=f"for {share:.0%} of the empty tensors that operators make, the driver allocates; "
        f"{_calls(context, rows, freeing)}",
        fix=_CACHE,
        count=len(rows),
        syncs=syncs,
        gaps=gaps,
        examples=context.call_tree.start[rows],
        latent=_LATENT,
    )


def _by_place(context: Context, rows: TreeRow) -> Iterator[Occurrence]:
    for (module, place), members in places_of(context, rows).items():
        mine = rows[members]
        syncs, gaps = _costs(context, mine)
        yield Occurrence(
            place=place,
            module=module,
            evidence=_evidence(context, mine),
            fix=_fix(context, mine),
            count=len(mine),
            syncs=syncs,
            gaps=gaps,
            examples=context.call_tree.start[mine],
            latent=_LATENT,
        )


def _costs(context: Context, rows: TreeRow) -> tuple[SyncIndex, GapIndex]:
    """Calls among these that waited, and idle time during and after them."""
    chosen = np.zeros(len(context.call_tree), bool)
    chosen[rows] = True
    syncs = np.flatnonzero(chosen[context.syncs.row])
    return syncs, union(context.gaps.at(chosen, Cause.ALLOCATOR), context.gaps.of_syncs(syncs))


def _evidence(context: Context, rows: TreeRow) -> str:
    freeing = int(context.rows.matching(_FREES)[rows].sum())
    calls = _calls(context, rows, freeing)
    if freeing == len(rows):
        return f"{calls}; none allocates, as in torch.cuda.empty_cache()"
    if retries := _retries(context, rows):
        return (
            f"{calls}; {format_count(retries, 'time')} memory is freed and allocated again within "
            f"one operator, as when an allocation fails and is retried{_waited(context, rows)}"
        )
    if freeing:
        return f"{calls}; memory is freed and allocated again, as when it is nearly full"
    return calls


def _waited(context: Context, rows: TreeRow) -> str:
    """What passed between a failed allocation and the first free."""
    found = context.analysis.retries
    mine = isin(found.row, rows)
    if not mine.any():
        return ""
    time = context.us_text(context.steps.us_per_step((found.end - found.start)[mine].sum()))
    return f"; {time} before it frees, in no call of the trace, it waits for other streams"


def _calls(context: Context, rows: TreeRow, freeing: int) -> str:
    call_tree = context.call_tree
    steps = unique(context.analysis.steps.at(call_tree.start[rows]))
    held = intervals.length(intervals.of(call_tree.start[rows], call_tree.end[rows]))
    where = f"{len(steps)} of {context.steps.text}" if context.steps.marked else "the trace"
    return (
        f"{format_count(len(rows), 'call')}, {freeing:,} of which free memory, in {where}; the "
        f"host spent {context.us_text(context.steps.us_per_step(held))} in them"
    )


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
    "expandable segments) on a thread that launches kernels, in a step after the first; or in any "
    "trace, where the driver allocates for most empty tensors of operators, and frees as often.",
    fix=f"{_EMPTIED} {_SHAPES} {_FULL} {_CACHE}",
    reference="CUDA semantics, memory management; torch.cuda.memory_stats",
    explains=_explains,
    find=_find,
)
