"""Copies from pageable memory that block the host."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import copies

_UNKNOWN = (
    "HIP does not record whether the memory is pinned; if it is, non_blocking=True is enough."
)


def _explains(context: Context) -> Bool:
    unpinned = copies.uploads(context, copies.PAGEABLE) | copies.uploads(context, copies.UNKNOWN)
    return copies.syncs_for(context, unpinned) & copies.blocking(context)


def _find(context: Context) -> Iterator[Occurrence]:
    found = context.explained_by(RULE) & context.syncs.counted & copies.repeated(context)
    unknown = copies.syncs_for(context, copies.uploads(context, copies.UNKNOWN))
    yield from copies.by_place_of_copies(
        context,
        unique(context.syncs.copy[found & ~unknown]),
        pinning=True,
        fix_small=copies.PACK,
    )
    yield from copies.by_place_of_copies(
        context,
        unique(context.syncs.copy[found & unknown]),
        caveats=(_UNKNOWN,),
        confidence="medium",
        fix_small=copies.PACK,
    )


RULE = Rule(
    id="h2d-pageable-blocking",
    family="data-movement",
    title="Blocking host-to-device copies from pageable memory",
    description="A copy from pageable memory to the device with a synchronize after it in the same "
    "operator, as .to(device) makes it; hipMemcpyWithStream on HIP. In a trace without marked "
    "steps, not before the first kernel: there models move to the device, once.",
    fix="Load with DataLoader(pin_memory=True) and move batches by .to(device, non_blocking=True): "
    "both are needed. A custom batch class needs a pin_memory() method that returns the batch. "
    "Values that never change belong on the device, as buffers.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory(); Nsight Systems "
    "rule cuda_memcpy_async",
    explains=_explains,
    find=_find,
)
