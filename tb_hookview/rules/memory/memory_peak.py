"""Peak of a device's memory: which modules and classes hold it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.memory.live import MemoryClass
from tb_hookview.analysis.memory.operators import checkpoint_bound
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_bytes
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.memory import (
    classes_text,
    largest_class,
    modules_text,
    size_of,
    top_modules,
)
from tb_hookview.schema import module_label

_SHARE = 0.5
"""Part of a device's memory from which its peak matters."""
_FIXES = {
    MemoryClass.ACTIVATION: "Checkpoint blocks whose activations are large and cheap to recompute "
    "(torch.utils.checkpoint), train under autocast, or lower the batch size and accumulate "
    "gradients.",
    MemoryClass.RECOMPUTED: "The peak is in a block that is recomputed: checkpoint smaller blocks.",
    MemoryClass.OPTIMIZER_STATE: "Shard the optimizer's state over the ranks (FSDP, "
    "ZeroRedundancyOptimizer), or take an optimizer with less of it.",
    MemoryClass.GRADIENT: "Apply the optimizer within the backward pass, so that each gradient is "
    "freed at once, or shard gradients over the ranks (FSDP).",
    MemoryClass.PARAMETER: "Hold the parameters in lower precision, or shard them over the ranks "
    "(FSDP).",
    MemoryClass.TEMPORARY: "Split the operator that is running at the peak into parts of the "
    "batch, or replace it by a fused one that holds no intermediate result.",
}


def _find(context: Context) -> Iterator[Occurrence]:
    memory = context.analysis.memory
    if memory is None or not memory.addresses_known:
        return
    for device, name in enumerate(memory.events.devices):
        at, size = memory.peak(device, context.selection.chosen), size_of(context, name)
        if at < 0 or size is None or memory.events.allocated[at] <= _SHARE * size:
            continue
        if largest_class(memory, at) not in _FIXES:
            continue  # the trace does not show what the peak consists of
        yield _occurrence(context, memory, device, at, size)


def _occurrence(context: Context, memory: MemoryUse, device: int, at: int, size: int) -> Occurrence:
    live = memory.blocks.live_at(at, device)
    ranked = top_modules(context, memory, live)
    used = int(memory.events.allocated[at])
    evidence = (
        f"{format_bytes(used)} of {format_bytes(size)} are in use at the peak: "
        f"{classes_text(memory, at)}; by module: {modules_text(context, ranked) or 'unknown'}"
    )
    module = ranked[0][0] if ranked else -1
    return Occurrence(
        place=f"device {memory.events.devices[device]}",
        module=module,
        everywhere=module < 0,
        evidence=evidence + _checkpointing(context, memory, live),
        claims_gain=False,
        examples=memory.events.time[[at]],
        latent="its peak limits the batch size, and costs no time by itself",
        fix=_FIXES[largest_class(memory, at)],
    )


def _checkpointing(context: Context, memory: MemoryUse, live: Bool) -> str:
    modules = context.analysis.modules
    freed = checkpoint_bound(
        memory.kind, memory.freed_in, memory.lives, memory.blocks, live, modules
    )
    freed[modules.parent < 0] = 0  # to checkpoint the whole model frees nothing at its own backward
    if not freed.any():
        return ""
    most = int(np.argmax(freed))
    return (
        f"; checkpointing {module_label(modules.path[most])} frees at most "
        f"{format_bytes(int(freed[most]))} of it"
    )


RULE = Rule(
    id="memory-peak",
    family="memory",
    title="Peak memory limits the batch size",
    description="In a trace recorded with profile_memory: more than half of a device's memory is "
    "in use at the peak. Modules, classes and what checkpointing frees are those of the blocks "
    "live at it.",
    fix="Lower what the peak consists of: saved activations by checkpointing, optimizer state and "
    "gradients by sharding, temporaries by smaller operators.",
    reference="torch.utils.checkpoint documentation; PyTorch, Understanding CUDA memory usage",
    confidence="medium",
    find=_find,
)
