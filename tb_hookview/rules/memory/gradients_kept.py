"""Gradients that live on after the optimizer's step, through the next forward."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.memory.live import MemoryClass
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.arrays.joins import median
from tb_hookview.arrays.types import Int, Nanoseconds
from tb_hookview.formats import format_bytes, format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.memory import in_use, modules_text, top_modules
from tb_hookview.schema import Phase

_SHARE = 0.05
"""Part of the peak."""
_LATE = (
    "Call optimizer.zero_grad() right after optimizer.step(), not after the next forward: the "
    "gradients are then gone while activations are saved."
)
_NEVER = (
    "Call optimizer.zero_grad(set_to_none=True), torch's default: the gradients are then freed "
    "instead of filled with zeros."
)


def _find(context: Context) -> Iterator[Occurrence]:
    memory = context.analysis.memory
    if memory is None or not memory.addresses_known:
        return
    forwards = _forwards_after_a_step(context)
    if not len(forwards):
        return
    for device, name in enumerate(memory.events.devices):
        peak = memory.peak(device, context.selection.chosen)
        held = [_held(memory, device, time, applied) for time, applied in forwards.tolist()]
        sizes = np.array([int(memory.blocks.size[blocks].sum()) for blocks in held])
        if peak < 0 or median(sizes) <= _SHARE * in_use(memory, peak):
            continue
        yield _occurrence(context, memory, name, held, forwards, int(median(sizes)), peak)


def _forwards_after_a_step(context: Context) -> Int:
    """Start of each forward that follows a step of the optimizer, and that step's start."""
    times = context.analysis.phases.time
    forward, applied = times[Phase.FORWARD][:, 0], times[Phase.OPTIMIZER][:, 0]
    following = np.searchsorted(forward, applied, side="right")
    inside = following < len(forward)
    starts = np.stack([np.append(forward, 0)[following], applied], axis=1)[inside]
    if len(starts):  # the last step before each forward
        starts = starts[np.append(np.diff(starts[:, 0]) > 0, True)]
    return starts[context.steps.contain(starts[:, 0])]


def _held(memory: MemoryUse, device: int, time: int, applied: int) -> Int:
    """Gradients live as a forward begins that an optimizer's step has already used."""
    events = memory.events.of(device)
    at = int(np.searchsorted(memory.events.time[events], time)) - 1
    if at < 0:
        return np.zeros(0, np.int64)
    live = memory.blocks.live_at(events.start + at, device)
    return np.flatnonzero(
        live & (memory.kind == MemoryClass.GRADIENT) & (memory.lives.birth < applied)
    )


def _occurrence(
    context: Context,
    memory: MemoryUse,
    name: str,
    held: list[Int],
    forwards: Nanoseconds,
    size: int,
    peak: int,
) -> Occurrence:
    blocks = np.zeros(len(memory.blocks), bool)
    blocks[held[-1]] = True
    freed = bool((memory.blocks.death[held[0]] >= 0).any())
    top = modules_text(context, top_modules(context, memory, blocks))
    return Occurrence(
        place=f"device {name}",
        everywhere=True,
        count=len(forwards),
        evidence=f"{format_bytes(size)} of gradients that the optimizer has used are still in use "
        f"as the next forward begins, in {format_count(len(forwards), 'step')}; the peak is "
        f"{format_bytes(in_use(memory, peak))}; most in {top}",
        claims_gain=False,
        examples=np.asarray(forwards[:, 0]),
        latent="the peak is higher by them where it lies in the forward or early in the backward",
        fix=_LATE if freed else _NEVER,
    )


RULE = Rule(
    id="gradients-kept",
    family="memory",
    title="Gradients are kept through the next forward",
    description="In a trace recorded with profile_memory: blocks allocated in a backward pass "
    "outlive the optimizer's step and the beginning of the next forward; in the median of these "
    "moments over 5% of the peak.",
    fix="Call optimizer.zero_grad(set_to_none=True) right after optimizer.step().",
    reference="torch.optim.Optimizer.zero_grad; PyTorch Performance Tuning Guide",
    find=_find,
)
