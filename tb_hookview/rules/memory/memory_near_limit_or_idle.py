"""Part of a device's memory that torch's allocator holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Int
from tb_hookview.formats import format_bytes, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_FULL = 0.9
_HALF = 0.5
_BOUND = 0.5
"""Part of the time that the device waits for launches, from which a larger batch fills it."""
_TITLE_FULL = "Device memory is nearly full"
_TITLE_FREE = "Device memory is mostly free, and the device waits for launches"
_BETWEEN_LAUNCHES_NS = 1_000_000
"""A longer gap has other reasons than one launch after the other."""
_WHEN_FULL = "with the memory nearly full, allocations are retried and stop the device"
_WHEN_FREE = "a larger batch has room, and gives the device more to do between two launches"
_LARGER = (
    "Raise the batch size: the same launches then keep the device busy for longer. Compare the "
    "time for each sample."
)
_INFERENCE = (
    "Lower the peak: lower precision, a smaller batch, shorter sequences. A server that takes a "
    "fixed share for its cache (vLLM: gpu_memory_utilization) fills the memory on purpose; leave "
    "room there for graphs and for what others allocate."
)
_HOST = 0
"""`Memory.device_type` of memory of the host."""


def _find(context: Context) -> Iterator[Occurrence]:
    memory = context.analysis.trace.memory
    sizes = {device.id: device.memory for device in context.analysis.trace.devices}
    of_device = memory.device_type != _HOST
    devices = unique(memory.device_index[of_device])
    for device in devices.tolist():
        mine = of_device & (memory.device_index == device) & (memory.reserved >= 0)
        size = sizes.get(device)
        if not mine.any() or not size:
            continue
        place = np.flatnonzero(mine)[np.lexsort((memory.time[mine], -memory.reserved[mine]))[0]]
        share = int(memory.reserved[place]) / size
        used = int(memory.allocated[mine].max()) / size
        waits = _waits_for_launches(context)
        if share > _FULL or (share < _HALF and waits):
            held = (
                f"the allocator held up to {share:.1%} of {format_bytes(size)}, {used:.1%} in use"
            )
            yield Occurrence(
                place=_name(context, devices, device),
                everywhere=True,
                evidence=held if share > _FULL else f"{held}; {waits}",
                claims_gain=False,
                examples=memory.time[[place]],
                latent=_WHEN_FULL if share > _FULL else _WHEN_FREE,
                title=_TITLE_FULL if share > _FULL else _TITLE_FREE,
                fix=_fix(context, full=share > _FULL),
            )


def _name(context: Context, devices: Int, device: int) -> str:
    """Name of a device by its number in the trace.

    torch's allocator counts those that it sees from 0. ROCm numbers device events by agents, of
    which the CPUs are the first.
    """
    ran = context.device_events.devices
    if device in ran:
        return f"device {device}"
    return f"device {ran[0]}" if len(ran) == len(devices) == 1 else f"device {device} of torch"


def _waits_for_launches(context: Context) -> str:
    """Phrase of the time that the devices wait for launches, "" if it is not most of the time.

    A larger batch fills only such time: neither that of a loader, nor what is done once.
    """
    gaps = context.gaps.of(Cause.LAUNCH)
    between = gaps[context.analysis.gaps.duration[gaps] <= _BETWEEN_LAUNCHES_NS]
    idle = context.gaps.us_per_step(between)
    busy, whole = context.steps.busy_us or 0.0, context.steps.idle_us or 0.0
    if not idle or idle < _BOUND * (busy + whole):
        return ""
    return f"for {format_us(idle)} of {context.us_text(busy + whole)} the device waits for launches"


def _fix(context: Context, *, full: bool) -> str:
    if not full:
        return _LARGER
    return "" if len(context.analysis.nodes.row) else _INFERENCE


RULE = Rule(
    id="memory-near-limit-or-idle",
    family="memory",
    title="Device memory is nearly full, or mostly free on an idle device",
    description="In a trace recorded with profile_memory: torch holds more than 90% of a device's "
    "memory at its peak; or less than 50%, on a device that waits for launches for half of the "
    "time or more.",
    fix="Lower the peak: lower precision, checkpointing, a smaller batch. "
    "torch.cuda.memory_stats() counts how often allocations were retried.",
    reference="torch.cuda.memory_stats; torch_tb_profiler, memory recommendation",
    confidence="medium",
    find=_find,
)
