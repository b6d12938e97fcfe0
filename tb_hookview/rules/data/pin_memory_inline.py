"""Memory of the host pinned by the thread that trains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import union
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import places_of
from tb_hookview.rules.engine.rule import Occurrence, Rule

CALLS = r"^(cuda|hip|cu|musa)(HostAlloc|HostMalloc|HostRegister|MallocHost|MemHostAlloc)"
_OPERATORS = ("aten::pin_memory", "aten::_pin_memory")
_LATENT = "the device did not idle behind it in this trace; the host stood still all the same"


def _match(context: Context) -> Iterator[Occurrence]:
    pins = (context.named(*_OPERATORS) | context.matching(CALLS)) & context.rows
    pins &= ~context.inside(context.host.role == Role.DATA)
    rows = np.flatnonzero(pins)
    rows = rows[context.on_busy_thread(rows)]
    if not context.has_steps or context.idle_us is None:
        return
    for (module, place), members in places_of(context, rows).items():
        mine = rows[members]
        spans = intervals.of(context.call_tree.start[mine], context.call_tree.end[mine])
        yield Occurrence(
            place=place,
            module=module,
            evidence=f"memory of the host is pinned in {len(context.steps)} steps, which took the "
            f"host {context.per_step(intervals.length(spans)):.1f} us a step",
            count=len(spans),
            gaps=union(
                context.gaps_at(_under(context, mine), Cause.ALLOCATOR, Cause.COPY),
                context.gaps_within(spans, Cause.LAUNCH),
            ),
            examples=spans[:, 0],
            latent=_LATENT,
        )


def _under(context: Context, rows: Int) -> Bool:
    wanted = np.zeros(len(context.call_tree), bool)
    wanted[rows] = True
    return context.inside(wanted)


RULE = Rule(
    id="pin-memory-inline",
    family="data-movement",
    title="Memory is pinned in the loop, by the thread that trains",
    matches="aten::pin_memory, cudaHostAlloc or cudaHostRegister in a step, outside of a loader "
    "and on a thread that launches kernels.",
    fix="Let the loader pin: DataLoader(pin_memory=True) does it on a thread of its own. Or keep "
    "pinned buffers and fill them again. To pin a tensor in order to copy it once takes longer "
    "than to copy it as it is.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory()",
    match=_match,
)
