"""Memory that the allocator holds and cannot use at the peak."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.formats import format_bytes
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.memory import size_of

_UNUSED = 0.2
"""Part of the reserved bytes."""
_SHARE = 0.5
"""Part of the device's memory that is reserved, from which it matters."""


def _find(context: Context) -> Iterator[Occurrence]:
    memory = context.analysis.memory
    if memory is None:
        return
    for device, name in enumerate(memory.events.devices):
        at, size = memory.peak(device, context.selection.chosen), size_of(context, name)
        reserved = int(memory.events.reserved[at]) if at >= 0 else -1
        used = int(memory.events.allocated[at])
        if size is None or reserved <= _SHARE * size or reserved - used <= _UNUSED * reserved:
            continue
        yield Occurrence(
            place=f"device {name}",
            everywhere=True,
            evidence=f"at the peak of what is in use, {format_bytes(used)}, the allocator holds "
            f"{format_bytes(reserved)}, of which {format_bytes(reserved - used)} are in parts too "
            "small, of other streams, or left from an earlier peak",
            claims_gain=False,
            examples=memory.events.time[[at]],
            latent="an allocation may fail although as much is free, and retries stop the device",
        )


RULE = Rule(
    id="memory-fragmentation",
    family="memory",
    title="Part of the reserved memory is unused at the peak",
    description="In a trace recorded with profile_memory: at the peak of the bytes in use more "
    "than 20% of those that the allocator holds are not in use, on a device of which it holds "
    "more than half.",
    fix="Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. Keep shapes the same from step to "
    "step, or begin with the largest. torch.cuda.memory._snapshot() shows the segments.",
    reference="PyTorch, CUDA memory management: PYTORCH_CUDA_ALLOC_CONF",
    confidence="medium",
    find=_find,
)
