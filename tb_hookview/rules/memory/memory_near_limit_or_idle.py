"""Part of a device's memory that torch's allocator holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.formats import format_bytes
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_FULL = 0.9
_HALF = 0.5
_BUSY = 0.5
_WHEN_FULL = "with the memory nearly full, allocations are retried and stop the device"
_WHEN_FREE = "a larger batch has room, and the device is idle for most of the time"
_HOST = 0
"""`Memory.device_type` of memory of the host."""


def _find(context: Context) -> Iterator[Occurrence]:
    memory = context.analysis.trace.memory
    sizes = {device.id: device.memory for device in context.analysis.trace.devices}
    of_device = memory.device_type != _HOST
    for device in unique(memory.device_index[of_device]).tolist():
        mine = of_device & (memory.device_index == device) & (memory.reserved >= 0)
        size = sizes.get(device)
        if not mine.any() or not size:
            continue
        place = np.flatnonzero(mine)[np.lexsort((memory.time[mine], -memory.reserved[mine]))[0]]
        share = int(memory.reserved[place]) / size
        used = int(memory.allocated[mine].max()) / size
        if share > _FULL or (share < _HALF and _mostly_idle(context)):
            yield Occurrence(
                place=f"device {device}",
                everywhere=True,
                evidence=f"the allocator held up to {share:.1%} of {format_bytes(size)}, "
                f"{used:.1%} in use",
                claims_gain=False,
                examples=memory.time[[place]],
                latent=_WHEN_FULL if share > _FULL else _WHEN_FREE,
            )


def _mostly_idle(context: Context) -> bool:
    busy, idle = context.steps.busy_us or 0.0, context.steps.idle_us or 0.0
    return busy < _BUSY * (busy + idle)


RULE = Rule(
    id="memory-near-limit-or-idle",
    family="memory",
    title="Device memory is nearly full, or mostly free on an idle device",
    description="In a trace recorded with profile_memory: torch holds more than 90 % of a device's "
    "memory at its peak; or less than 50 %, on a device that is busy for less than half of the "
    "time.",
    fix="Above nine tenths of the device's memory, lower the peak: lower precision, checkpointing, "
    "a smaller batch. torch.cuda.memory_stats() counts how often allocations were retried. Below "
    "one half, a larger batch may do more in the same time.",
    reference="torch.cuda.memory_stats; torch_tb_profiler, memory recommendation",
    confidence="medium",
    find=_find,
)
