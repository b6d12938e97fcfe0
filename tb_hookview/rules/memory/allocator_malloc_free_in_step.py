"""Memory of the device taken and given back within steps: the cache of torch did not hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Int
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import places_of
from tb_hookview.rules.engine.rule import Occurrence, Rule, counted

_OF_HOST = r"Host"
"""Calls that pin memory of the host are another rule's."""
_GIVES_BACK = r"Free|Unmap|Release"
_LATENT = (
    "the device did not idle behind it in this trace; cudaFree waits for the whole device all the "
    "same"
)


def _match(context: Context) -> Iterator[Occurrence]:
    if not context.has_steps:
        return
    calls = (context.analysis.calls == Call.ALLOCATE) & context.rows & ~context.matching(_OF_HOST)
    rows = np.flatnonzero(calls)
    rows = rows[context.on_busy_thread(rows)]
    for (module, place), members in places_of(context, rows).items():
        mine = rows[members]
        chosen = np.zeros(len(context.call_tree), bool)
        chosen[mine] = True
        yield Occurrence(
            place=place,
            module=module,
            evidence=_evidence(context, mine),
            count=len(mine),
            gaps=context.gaps_at(chosen, Cause.ALLOCATOR),
            examples=context.call_tree.start[mine],
            latent=_LATENT,
        )


def _evidence(context: Context, rows: Int) -> str:
    call_tree = context.call_tree
    back = int(context.matching(_GIVES_BACK)[rows].sum())
    steps = unique(context.analysis.steps.at(call_tree.start[rows]))
    held = intervals.length(intervals.of(call_tree.start[rows], call_tree.end[rows]))
    said = f"{len(rows)} calls, {back} of which give memory back, in {len(steps)} of "
    said += f"{len(context.steps)} steps; the host was in them for {context.per_step(held):.1f} us "
    if back == len(rows):
        return said + "a step; none takes memory, as torch.cuda.empty_cache() has it"
    if again := _tried_again(context, rows):
        return (
            f"{said}a step; {counted(again, 'time')} memory is given back and taken anew "
            "within one operator, as when an allocation fails and is tried again"
        )
    if back:
        return said + "a step; memory is given back and taken anew, as when it is nearly full"
    return said + "a step"


def _tried_again(context: Context, rows: Int) -> int:
    """How often the call behind one that gives memory back takes some, in the same operator."""
    if not len(rows):
        return 0
    gives, operator = context.matching(_GIVES_BACK)[rows], context.operator_of(rows)
    same = (operator[1:] == operator[:-1]) & (operator[1:] >= 0)
    return int(np.count_nonzero(same & gives[:-1] & ~gives[1:]))


RULE = Rule(
    id="allocator-malloc-free-in-step",
    family="memory",
    title="Memory of the device is allocated or freed within steps",
    matches="cudaMalloc, cudaFree or their kin (cuMemCreate, cuMemMap, cuMemUnmap with expandable "
    "segments) on a thread that launches kernels, in a marked step behind the first.",
    fix="Take torch.cuda.empty_cache() out of the loop. Keep shapes fixed or in a few sizes, and "
    "warm up with the largest batch. Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. Lower "
    "the peak by a smaller batch or checkpointing, and watch num_alloc_retries in "
    "torch.cuda.memory_stats().",
    reference="CUDA semantics, memory management; torch.cuda.memory_stats",
    match=_match,
)
