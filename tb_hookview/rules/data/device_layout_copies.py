"""Device time spent on copies of tensors: layout, dtype, concatenation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.by_place import places_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.trace import EventCategory

_SHARE = 0.05
"""Part of the devices' busy time from which copies within them count."""
_SHARE_OF_PLACE = 0.01
"""Part of it from which a place is reported."""
_AVOIDABLE = 0.5
_SHARE_OF_STEP = 0.01
"""Part of a step below which it does not matter."""
_TO_ITSELF = r"^Memcpy (DtoD|D2D)"
_CONVOLUTION = r"convolution|^aten::conv\d"
"""Its changes of layout are `conv-layout-transpose`."""
_OTHERS = (r"^(batched_transpose_|SubTensorOp)", r"nchwToNhwc|nhwcToNchw|dma_request|HtoD|DtoH")
"""Kernels that convolutions launch, for traces without operators; copies from or to the host."""
_FIXES = {
    "AccumulateGrad": "Pass gradient_as_bucket_view=True to DistributedDataParallel: gradients "
    "then lie in their buckets. Without it, keep gradients in the layout of their parameters, so "
    "that none is cloned.",
    "CompiledFunction": "Look for inputs and outputs of compiled graphs that are cloned: write in "
    "place to buffers and parameters less often, keep inputs in the layout that was compiled. A "
    "CUDA graph copies every input that may move into its fixed place: hand it the same tensors "
    "(torch._dynamo.mark_static_address), and capture larger parts. Fewer graph breaks pass fewer "
    "tensors.",
}
"""Remedies by a word in the name of the place, where they are not the rule's."""


def _find(context: Context) -> Iterator[Occurrence]:
    work = context.analysis.device_events
    if context.device_events.share(context.device_events.of_kinds("copy")) <= _SHARE:
        return
    copies = _within_device(context)
    share = context.device_events.share(copies)
    if (
        share <= _SHARE
        or context.device_events.us_per_step(copies) <= _SHARE_OF_STEP * context.steps.duration_us
    ):
        return
    rows = np.flatnonzero(copies & context.device_events.counted & (work.launch >= 0))
    for (module, place), members in places_of(context, work.launch[rows]).items():
        mine = rows[members]
        wasted = context.steps.us_per_step(work.duration[mine].sum())
        part = wasted / context.steps.work_us if context.steps.work_us else 0.0
        if part > _SHARE_OF_PLACE:
            yield Occurrence(
                place=place,
                module=module,
                evidence=f"{format_count(len(members), 'copy', 'copies')} within the device in "
                f"{context.steps.text}, {context.us_text(wasted)}, {part:.1%} of its busy "
                f"time; all such copies take {share:.0%}",
                count=len(members),
                wasted=mine,
                saved=_AVOIDABLE,
                examples=work.start[mine],
                caveats=("Assumes that half of the copies can be avoided.",),
                fix=next((fix for word, fix in _FIXES.items() if word in place), ""),
            )


def _within_device(context: Context) -> Bool:
    """Kernels that copy, and copies from the device to itself, that no convolution asked for."""
    kind = context.analysis.trace.events.kind[context.analysis.device_events.event]
    found = (kind == EventCategory.KERNEL) | context.device_events.matching(_TO_ITSELF)
    found &= context.device_events.of_kinds("copy")
    for pattern in _OTHERS:
        found &= ~context.device_events.matching(pattern)
    return np.asarray(
        found & ~context.device_events.launched_by(context.rows.inside_matching(_CONVOLUTION))
    )


RULE = Rule(
    id="device-layout-copies",
    family="data-movement",
    title="Device-to-device copies of tensors (layout, dtype, concatenation)",
    description="Kernels and copies that only move data (contiguous, clone, cat, changes of type) "
    "take over 5% of the devices' busy time; one finding for each place that takes over 1%. "
    "Those of convolutions are left to conv-layout-transpose.",
    fix="Remove transposes that are made contiguous again. Write into one tensor instead of "
    "concatenating in a loop. Keep one memory format and one type of activations; leave autocast's "
    "cache of weights on. DistributedDataParallel copies no gradients with gradient_as_bucket_view="
    "True. torch.compile fuses what is left.",
    reference="PyTorch Performance Tuning Guide; torch.amp documentation",
    confidence="medium",
    find=_find,
)
