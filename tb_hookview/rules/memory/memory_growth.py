"""Memory that grows from step to step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.arrays.types import Bool, Int, Intervals
from tb_hookview.formats import format_bytes, format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.memory import modules_text, top_modules

_STEPS = 3
"""Fewest measured steps, of which each holds more than the one before."""
_LEAST = 4096
"""Bytes a step: less is the bookkeeping of a loop."""


def _find(context: Context) -> Iterator[Occurrence]:
    memory, steps = context.analysis.memory, context.analysis.steps
    windows = steps.window[list(context.steps.indices)]
    if memory is None or not steps.marked or len(windows) < _STEPS:
        return
    for device, name in enumerate(memory.events.devices):
        if not memory.events.totals_known(device):
            continue
        least = _least_of(memory, device, windows)
        growth = np.diff(least)
        if len(growth) < _STEPS - 1 or growth.min() < _LEAST:
            continue
        kept = _kept(memory, device, windows)
        ranked = top_modules(context, memory, kept)
        module = ranked[0][0] if ranked else -1
        where = f"; allocated in {modules_text(context, ranked)}" if ranked else ""
        yield Occurrence(
            place=f"device {name}",
            module=module,
            everywhere=module < 0,
            evidence=f"baseline memory grows in each of "
            f"{format_count(len(least), 'step')}, by "
            f"{format_bytes(int(growth.mean()))}{context.each} "
            f"from {format_bytes(int(least[0]))}{where}",
            claims_gain=False,
            examples=np.asarray(windows[1:, 0]),
            latent="it will eventually run out of memory",
        )


def _least_of(memory: MemoryUse, device: int, windows: Intervals) -> Int:
    """Least bytes in use in each step with an event."""
    events, span = memory.events, memory.events.of(device)
    first = np.searchsorted(events.time[span], windows[:, 0])
    last = np.searchsorted(events.time[span], windows[:, 1], side="right")
    return np.array(
        [
            events.allocated[span][begin:end].min()
            for begin, end in zip(first.tolist(), last.tolist(), strict=True)
            if end > begin
        ],
        np.int64,
    )


def _kept(memory: MemoryUse, device: int, windows: Intervals) -> Bool:
    """Blocks of steps but the last that are never freed."""
    born, blocks = memory.lives.birth, memory.blocks
    inside = (born >= windows[0, 0]) & (born < windows[-1, 0])
    return np.asarray(inside & (blocks.device == device) & (blocks.birth >= 0) & (blocks.death < 0))


RULE = Rule(
    id="memory-growth",
    family="memory",
    title="Memory in use grows from step to step",
    description="In a trace recorded with profile_memory: baseline memory (the least in use "
    "during a step) grows by 4 KiB or more from each of three or more measured steps to the next.",
    fix="Do not keep tensors of a step with their graph: append loss.item() or loss.detach() to "
    "lists of losses and metrics, and clear what is cached for each batch.",
    reference="PyTorch FAQ: My model reports CUDA error: out of memory",
    confidence="medium",
    find=_find,
)
