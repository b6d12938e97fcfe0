"""Memory of the host pinned by the training thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import mask_of, union
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import places_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import in_one_step, steps_with

_CALLS = r"^(cuda|hip|cu|musa)(HostAlloc|HostMalloc|HostRegister|MallocHost|MemHostAlloc)"
_OPERATORS = ("aten::pin_memory", "aten::_pin_memory")
_PIN_ON_REQUEST = (
    *_OPERATORS,
    *("aten::empty", "aten::empty_strided", "aten::empty_like", "aten::to", "aten::_to_copy"),
)
"""Operators that pin what a program asks them to; all others pin buffers of their own."""
_TITLE_OF_OPERATOR = "An operator pins memory of its own"
_FIX_OF_OPERATOR = (
    "Operators such as aten::item and libraries such as cuDNN pin a buffer the first time that "
    "they need it. Leave the first steps out of the trace (torch.profiler.schedule with wait and "
    "warmup) and out of comparisons."
)
_LATENT = "the device did not idle after it in this trace, but it blocks the host"


def _find(context: Context) -> Iterator[Occurrence]:
    pins = context.rows.named(*_OPERATORS) | context.rows.matching(_CALLS, "Host")
    pins &= context.rows.counted
    pins &= ~context.rows.inside(context.host.role == Role.DATA)
    rows = np.flatnonzero(pins)
    rows = rows[context.rows.on_training_thread(rows)]
    if not context.steps.marked or context.steps.idle_us is None:
        return
    for (module, place), members in places_of(context, rows).items():
        yield _pinned(context, module, place, rows[members])


def _pinned(context: Context, module: int, place: str, rows: TreeRow) -> Occurrence:
    spans = context.call_tree.time_of(rows)
    length, steps = intervals.length(spans), steps_with(context, spans[:, 0])
    of_operator = not _asked_for(context, rows)
    once = in_one_step(context, spans[:, 0]) or (of_operator and steps == 1)
    held = format_us(length / 1000 if once else context.steps.us_per_step(length))
    return Occurrence(
        place=place,
        module=module,
        evidence=f"memory of the host is pinned {format_count(len(spans), 'time')} in "
        f"{steps} of {context.steps.text}, {held} of host time{'' if once else context.each}",
        gaps=union(
            context.gaps.at(_under(context, rows), Cause.ALLOCATOR, Cause.COPY),
            context.gaps.within(spans, Cause.LAUNCH),
        ),
        once_us=length / 1000 if once else None,
        claims_gain=not once,
        examples=spans[:, 0],
        latent=_LATENT,
        title=_TITLE_OF_OPERATOR if of_operator else "",
        fix=_FIX_OF_OPERATOR if of_operator else "",
    )


def _asked_for(context: Context, rows: TreeRow) -> bool:
    """Whether the training pins any of it: outside of operators, or in one that pins on request."""
    operator = context.rows.operator_of(rows)
    mine = operator < 0
    return bool((mine | context.rows.named(*_PIN_ON_REQUEST)[operator]).any())


def _under(context: Context, rows: TreeRow) -> Bool:
    wanted = mask_of(rows, len(context.call_tree))
    return context.rows.inside(wanted)


RULE = Rule(
    id="pin-memory-inline",
    family="data-movement",
    title="Memory is pinned in the training loop",
    description="aten::pin_memory, cudaHostAlloc or cudaHostRegister in a step, outside of a "
    "loader and on a thread that launches kernels. What one of three or more steps has, or an "
    "operator for a buffer of its own in one step, is priced once.",
    fix="Let the loader pin: DataLoader(pin_memory=True) does it in a separate thread. Or "
    "allocate pinned buffers once and fill them again. Pinning a tensor in order to copy it once "
    "takes longer than copying it as it is.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory()",
    find=_find,
)
