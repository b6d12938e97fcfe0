"""Memory of the host pinned by the training thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import union
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import places_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

CALLS = r"^(cuda|hip|cu|musa)(HostAlloc|HostMalloc|HostRegister|MallocHost|MemHostAlloc)"
_OPERATORS = ("aten::pin_memory", "aten::_pin_memory")
_LATENT = "the device did not idle after it in this trace, but it blocks the host"


def _find(context: Context) -> Iterator[Occurrence]:
    pins = (context.rows.named(*_OPERATORS) | context.rows.matching(CALLS)) & context.rows.counted
    pins &= ~context.rows.inside(context.host.role == Role.DATA)
    rows = np.flatnonzero(pins)
    rows = rows[context.rows.on_training_thread(rows)]
    if not context.steps.marked or context.steps.idle_us is None:
        return
    for (module, place), members in places_of(context, rows).items():
        mine = rows[members]
        spans = intervals.of(context.call_tree.start[mine], context.call_tree.end[mine])
        pinning = context.steps.us_per_step(intervals.length(spans))
        yield Occurrence(
            place=place,
            module=module,
            evidence=f"memory of the host is pinned {format_count(len(spans), 'time')} in "
            f"{context.steps.text}, {format_us(pinning)} of host time{context.each}",
            count=len(spans),
            gaps=union(
                context.gaps.at(_under(context, mine), Cause.ALLOCATOR, Cause.COPY),
                context.gaps.within(spans, Cause.LAUNCH),
            ),
            examples=spans[:, 0],
            latent=_LATENT,
        )


def _under(context: Context, rows: TreeRow) -> Bool:
    wanted = np.zeros(len(context.call_tree), bool)
    wanted[rows] = True
    return context.rows.inside(wanted)


RULE = Rule(
    id="pin-memory-inline",
    family="data-movement",
    title="Memory is pinned in the training loop",
    description="aten::pin_memory, cudaHostAlloc or cudaHostRegister in a step, outside of a "
    "loader and on a thread that launches kernels.",
    fix="Let the loader pin: DataLoader(pin_memory=True) does it in a separate thread. Or "
    "allocate pinned buffers once and fill them again. Pinning a tensor in order to copy it once "
    "takes longer than copying it as it is.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory()",
    find=_find,
)
