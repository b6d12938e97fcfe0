"""Time of the device spent on moving tensors about: layout, type, concatenation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import places_of
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.trace import EventCategory

_SHARE = 0.05
"""Part of the devices' busy time from which on copies within them count."""
_SHARE_OF_PLACE = 0.01
"""Part of it from which on a place is told."""
_AVOIDABLE = 0.5
_SHARE_OF_STEP = 0.01
"""Part of a step below which it does not matter."""
_TO_ITSELF = r"^Memcpy (DtoD|D2D)"
_CONVOLUTION = r"convolution|^aten::conv\d"
"""Its changes of layout are `conv-layout-transpose`."""
_OTHERS = (r"^(batched_transpose_|SubTensorOp)", r"nchwToNhwc|nhwcToNchw|dma_request|HtoD|DtoH")
"""Kernels that convolutions launch, where no operator tells; transfers from or to the host."""


def _match(context: Context) -> Iterator[Occurrence]:
    work = context.analysis.device_events
    if context.device_share(context.of_kinds("copy")) <= _SHARE:
        return
    copies = _within_device(context)
    share = context.device_share(copies)
    if share <= _SHARE or context.device_us(copies) <= _SHARE_OF_STEP * context.step_us:
        return
    rows = np.flatnonzero(copies & context.work & (work.launch >= 0))
    for (module, place), members in places_of(context, work.launch[rows]).items():
        mine = rows[members]
        wasted = context.per_step(work.duration[mine].sum())
        part = wasted / context.busy_us if context.busy_us else 0.0
        if part > _SHARE_OF_PLACE:
            yield Occurrence(
                place=place,
                module=module,
                evidence=f"{len(members)} copies within the device take {wasted:.1f} us a step, "
                f"{part:.1%} of its busy time; all such copies {share:.0%}",
                count=len(members),
                wasted=mine,
                saved=_AVOIDABLE,
                examples=work.start[mine],
                caveats=("Supposes that half of the copies can be avoided.",),
            )


def _within_device(context: Context) -> Bool:
    """Kernels that copy, and copies from the device to itself, that no convolution asked for."""
    kind = context.analysis.trace.events.kind[context.analysis.device_events.event]
    found = (kind == EventCategory.KERNEL) | context.work_matching(_TO_ITSELF)
    found &= context.of_kinds("copy")
    for pattern in _OTHERS:
        found &= ~context.work_matching(pattern)
    return np.asarray(found & ~context.work_launched(context.inside_matching(_CONVOLUTION)))


RULE = Rule(
    id="device-layout-copies",
    family="data-movement",
    title="The device copies tensors within its own memory",
    matches="Kernels and copies that only move data (contiguous, clone, cat, changes of type) take "
    "over 5 % of the devices' busy time; told of each place that takes over 1 %. Those of "
    "convolutions are left to conv-layout-transpose.",
    fix="Remove transposes that are made contiguous again. Write into one tensor instead of "
    "concatenating in a loop. Keep one memory format and one type of activations; leave autocast's "
    "cache of weights on. DistributedDataParallel copies no gradients with gradient_as_bucket_view="
    "True. torch.compile fuses what is left.",
    reference="PyTorch Performance Tuning Guide; torch.amp documentation",
    confidence="medium",
    match=_match,
)
