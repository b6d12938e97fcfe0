"""Rules about the allocator: its calls, its limit, and memory that grows or fragments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tb_hookview.analysis.host.rows import Call
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.memory.blocks import device_name
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, mask_of, union, unique
from tb_hookview.arrays.nesting import innermost_at
from tb_hookview.arrays.types import Bool, GapIndex, Int, Intervals, SyncIndex, TreeRow
from tb_hookview.formats import format_bytes, format_count, format_share, format_us
from tb_hookview.rules.engine.by_place import places_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import steps_with
from tb_hookview.rules.evidence.memory import (
    failed_allocations,
    modules_text,
    size_of,
    top_modules,
)
from tb_hookview.rules.evidence.optimizer import launched_by_optimizer

# Device memory allocated and freed during steps, past the caching allocator.


_OF_HOST = "Host"
"""Calls that pin memory of the host are another rule's."""
_FREES = ("Free", "Unmap", "Release")
_EMPTY = ("aten::empty", "aten::empty_strided", "aten::empty_like")
_FEW = 8
"""Empty tensors below which nothing is said of the allocator."""
_UNCACHED = 0.5
"""Share of empty tensors above which there is no caching allocator."""
_CACHE = (
    "Let PyTorch cache: unset PYTORCH_NO_CUDA_MEMORY_CACHING, which is meant for memory checkers, "
    "and do not call torch.cuda.caching_allocator_enable(False). An allocator of your own needs a "
    "cache."
)
_EMPTIED = "Take torch.cuda.empty_cache() out of the loop."
_SHAPES = (
    "Keep shapes fixed or in a few sizes, and warm up with the largest batch. Set "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
)
_FULL = (
    "Lower the peak by a smaller batch or checkpointing, and watch num_alloc_retries in "
    "torch.cuda.memory_stats(). Against fragmentation set "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
)
_TITLE_FAILED = "Device memory was full in a step that is not measured"
_RECURS = "it recurs whenever memory is as full, and "
_LATENT = "the device did not idle after it in this trace, but "
_REFILLS = "; they refill the cache, which was emptied when an allocation failed"
_FREEING = "cudaFree waits for the whole device"
_ALLOCATING = "it blocks the host"


def _find_allocator_malloc_free_in_step(context: Context) -> Iterator[Occurrence]:
    calls = (context.analysis.calls == Call.ALLOCATE) & ~context.rows.containing(_OF_HOST)
    every = np.flatnonzero(calls)
    every = every[context.rows.on_training_thread(every)]
    rows = every[context.rows.counted[every]]
    share = _uncached(context, rows)
    if share > _UNCACHED:
        yield _without_cache(context, rows, share)
    elif context.steps.marked:
        failed = list(failed_allocations(context, every))
        yield from _by_place(context, rows, failed)
        if not context.selection.by_name:
            yield from _left_out(context, failed)


def _left_out(context: Context, failed: Sequence[TreeRow]) -> Iterator[Occurrence]:
    """Allocations that failed outside of the measured steps: the cache is emptied once, then."""
    rows = np.concatenate([np.zeros(0, np.int64), *failed])
    rows = rows[~context.rows.counted[rows]]
    for (module, place), members in places_of(context, rows).items():
        mine = rows[members]
        steps = unique(context.analysis.steps.at(context.call_tree.start[mine]))
        names = [context.analysis.steps.name[step] for step in steps.tolist() if step >= 0]
        freeing = int(context.rows.containing(*_FREES)[mine].sum())
        held = _held(context, mine) / 1000
        yield Occurrence(
            place=place,
            module=module,
            title=_TITLE_FAILED,
            evidence=f"{format_count(len(mine), 'call')}, {freeing:,} of which free memory, in "
            f"{', '.join(names) or 'no step'}, not measured; the host spent {format_us(held)} in "
            "them: an allocation fails, the cache is emptied, and it is retried",
            fix=_FULL,
            once_us=held,
            claims_gain=False,
            examples=context.call_tree.start[mine],
            latent=_RECURS + _FREEING,
        )


def _uncached(context: Context, rows: TreeRow) -> float:
    """Share of empty tensors made by operators for which the driver allocated; 0 if it frees less.

    A caching allocator asks the driver for blocks that serve many of them, and seldom frees one.
    """
    frees = context.rows.containing(*_FREES)[rows]
    if 2 * np.count_nonzero(frees) < np.count_nonzero(~frees):
        return 0.0
    empty = context.rows.named(*_EMPTY) & context.rows.counted
    made = np.flatnonzero(empty)
    made = made[context.rows.on_training_thread(made)]
    around = unique(context.rows.operator_of(rows[~frees]))
    return float(np.isin(made, around).mean()) if len(made) >= _FEW else 0.0


def _without_cache(context: Context, rows: TreeRow, share: float) -> Occurrence:
    freeing = int(context.rows.containing(*_FREES)[rows].sum())
    syncs, gaps = _costs(context, rows)
    return Occurrence(
        place="the allocator",
        title="Device memory is not cached",
        evidence=f"the driver allocates for {share:.0%} of the empty tensors that operators "
        f"create; {_calls(context, rows, freeing)}",
        fix=_CACHE,
        syncs=syncs,
        gaps=gaps,
        examples=context.call_tree.start[rows],
        latent=_LATENT + _FREEING,
    )


def _by_place(context: Context, rows: TreeRow, failed: Sequence[TreeRow]) -> Iterator[Occurrence]:
    frees, start = context.rows.containing(*_FREES), context.call_tree.start
    full = min((int(start[each[-1]]) for each in failed), default=None)
    once = bool(context.analysis.growth[rows].all())
    for (module, place), members in places_of(context, rows).items():
        mine = rows[members]
        syncs, gaps = _costs(context, mine)
        refills = full is not None and int(start[mine].min()) > full
        yield Occurrence(
            place=place,
            module=module,
            evidence=_evidence(context, mine, once=once) + (_REFILLS if refills else ""),
            fix=_fix(context, mine, refills=refills),
            syncs=syncs,
            gaps=gaps,
            once_us=_held(context, mine) / 1000 if once else None,
            claims_gain=not once,
            examples=start[mine],
            latent=_LATENT + (_FREEING if frees[mine].any() else _ALLOCATING),
        )


def _costs(context: Context, rows: TreeRow) -> tuple[SyncIndex, GapIndex]:
    """Calls among these that waited, and idle time during and after them."""
    chosen = mask_of(rows, len(context.call_tree))
    syncs = np.flatnonzero(chosen[context.syncs.row])
    return syncs, union(context.gaps.at(chosen, Cause.ALLOCATOR), context.gaps.of_syncs(syncs))


def _evidence(context: Context, rows: TreeRow, *, once: bool) -> str:
    freeing = int(context.rows.containing(*_FREES)[rows].sum())
    calls = _calls(context, rows, freeing, once=once)
    if freeing == len(rows):
        return f"{calls}; none allocates, as in torch.cuda.empty_cache()"
    if retries := _retries(context, rows):
        return (
            f"{calls}; {format_count(retries, 'time')} memory is freed and allocated again within "
            f"one operator, as when an allocation fails and is retried{_waited(context, rows)}"
        )
    if freeing:
        return f"{calls}; memory is freed and allocated again, as when it is nearly full"
    return calls


def _waited(context: Context, rows: TreeRow) -> str:
    """What passed between a failed allocation and the first free."""
    found = context.analysis.retries
    mine = isin(found.row, rows)
    if not mine.any():
        return ""
    time = context.us_text(context.steps.us_per_step((found.end - found.start)[mine].sum()))
    return f"; {time} before it frees, in no call of the trace, it waits for other streams"


def _calls(context: Context, rows: TreeRow, freeing: int, *, once: bool = False) -> str:
    steps = steps_with(context, context.call_tree.start[rows])
    held = _held(context, rows)
    time = format_us(held / 1000) if once else context.us_text(context.steps.us_per_step(held))
    where = f"{steps} of {context.steps.text}" if context.steps.marked else "the trace"
    return (
        f"{format_count(len(rows), 'call')}, {freeing:,} of which free memory, in {where}; the "
        f"host spent {time} in them"
    )


def _held(context: Context, rows: TreeRow) -> int:
    """Time of the host in some calls, nanoseconds."""
    tree = context.call_tree
    return intervals.length(tree.time_of(rows))


def _fix(context: Context, rows: TreeRow, *, refills: bool) -> str:
    if context.rows.containing(*_FREES)[rows].all():
        return _EMPTIED
    return _FULL if refills or _retries(context, rows) else _SHAPES


def _retries(context: Context, rows: TreeRow) -> int:
    """Number of calls that free memory before one that allocates, in one operator."""
    frees, operator = context.rows.containing(*_FREES)[rows], context.rows.operator_of(rows)
    same = (operator[1:] == operator[:-1]) & (operator[1:] >= 0)
    return int(np.count_nonzero(same & frees[:-1] & ~frees[1:]))


ALLOCATOR_MALLOC_FREE_IN_STEP = Rule(
    id="allocator-malloc-free-in-step",
    family="memory",
    title="Device memory is allocated or freed during steps",
    description="cudaMalloc, cudaFree or similar (cuMemCreate, cuMemMap, cuMemUnmap with "
    "expandable segments) on a thread that launches kernels, in a step after the first; or in any "
    "trace, where the driver allocates for most empty tensors of operators, and frees as often. "
    "Where one of three or more measured steps allocates and none frees, it is priced once; so is "
    "an allocation that failed, emptied the cache and was retried in a step that is not measured.",
    fix=f"{_EMPTIED} {_SHAPES} {_FULL} {_CACHE}",
    reference="CUDA semantics, memory management; torch.cuda.memory_stats",
    explains=lambda context: np.asarray(context.analysis.calls[context.syncs.row] == Call.ALLOCATE),
    find=_find_allocator_malloc_free_in_step,
)


# Allocations that failed.


_FRAGMENTED = (
    "As much was held by the allocator and not in use: set "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and keep shapes the same from step to step."
)


def _find_out_of_memory(context: Context) -> Iterator[Occurrence]:
    failed = context.analysis.trace.out_of_memory
    rows = innermost_at(context.call_tree, failed.thread.astype(np.int64), failed.time)
    owner = context.analysis.attribution.row_module
    module = np.array([int(owner[row]) if row >= 0 else -1 for row in rows.tolist()], np.int64)
    for each in unique(module).tolist():
        mine = np.flatnonzero(module == each)
        worst = int(mine[np.argmax(failed.amount[mine])])
        wanted, used = int(failed.amount[worst]), int(failed.allocated[worst])
        spare = int(failed.reserved[worst]) - used if failed.reserved[worst] >= 0 else 0
        name = device_name(int(failed.device_type[worst]), int(failed.device_index[worst]))
        in_use = f" with {format_bytes(used)} in use" if used >= 0 else ""
        held = f" and {format_bytes(spare)} reserved, unused" if spare > 0 else ""
        yield Occurrence(
            place=f"device {name}",
            module=each if each >= 0 else None,
            evidence=f"{format_count(len(mine), 'allocation')} failed, the largest of "
            f"{format_bytes(max(wanted, 0))}{in_use}{held}",
            claims_gain=False,
            examples=failed.time[mine],
            latent="the program stops, or retries after it freed what it held",
            fix=_FRAGMENTED if 0 < wanted <= spare and used >= 0 else "",
        )


OUT_OF_MEMORY = Rule(
    id="out-of-memory",
    family="memory",
    title="Allocations fail for lack of memory",
    description="`[OutOfMemory]` events, in a trace recorded with profile_memory.",
    fix="Lower the peak: a smaller batch with accumulated gradients, checkpointing, lower "
    "precision, sharding (FSDP).",
    reference="PyTorch, CUDA memory management",
    find=_find_out_of_memory,
)


# Memory that grows from step to step.


_STEPS = 3
"""Fewest measured steps, of which each holds more than the one before."""
_LEAST = 4096
"""Bytes a step: less is the bookkeeping of a loop."""


def _find_memory_growth(context: Context) -> Iterator[Occurrence]:
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
        where = f"; by module: {modules_text(context, ranked)}" if ranked else ""
        yield Occurrence(
            place=f"device {name}",
            module=module if module >= 0 else None,
            evidence=f"baseline memory grows in each of "
            f"{format_count(len(least), 'step')}, by "
            f"{format_bytes(int(growth.mean()))}{context.each} "
            f"from {format_bytes(int(least[0]))}{where}",
            claims_gain=False,
            count=len(growth),
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


MEMORY_GROWTH = Rule(
    id="memory-growth",
    family="memory",
    title="Memory in use grows from step to step",
    description="In a trace recorded with profile_memory: baseline memory (the least in use "
    "during a step) grows by 4 KiB or more from each of three or more measured steps to the next.",
    fix="Do not keep tensors of a step with their graph: append loss.item() or loss.detach() to "
    "lists of losses and metrics, and clear what is cached for each batch.",
    reference="PyTorch FAQ: My model reports CUDA error: out of memory",
    confidence="medium",
    find=_find_memory_growth,
)


# Part of a device's memory that torch's allocator holds.


_FULL_MEMORY_NEAR_LIMIT_OR_IDLE = 0.9
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


def _find_memory_near_limit_or_idle(context: Context) -> Iterator[Occurrence]:
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
        if share > _FULL_MEMORY_NEAR_LIMIT_OR_IDLE or (share < _HALF and waits):
            held = (
                f"the allocator held up to {format_share(share, 1)} of {format_bytes(size)}, "
                f"{format_share(used, 1)} in use"
            )
            yield Occurrence(
                place=_name(context, devices, device),
                evidence=held if share > _FULL_MEMORY_NEAR_LIMIT_OR_IDLE else f"{held}; {waits}",
                claims_gain=False,
                examples=memory.time[[place]],
                latent=_WHEN_FULL if share > _FULL_MEMORY_NEAR_LIMIT_OR_IDLE else _WHEN_FREE,
                title=_TITLE_FULL if share > _FULL_MEMORY_NEAR_LIMIT_OR_IDLE else _TITLE_FREE,
                fix=_fix_memory_near_limit_or_idle(
                    context, full=share > _FULL_MEMORY_NEAR_LIMIT_OR_IDLE
                ),
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

    A larger batch fills only such time: neither that of a loader, nor what is done once, nor
    between kernels of the optimizer, which are as large as the parameters.
    """
    gaps = context.gaps.of(Cause.LAUNCH)
    gaps = gaps[~launched_by_optimizer(context, context.analysis.gaps.device_event[gaps])]
    between = gaps[context.analysis.gaps.duration[gaps] <= _BETWEEN_LAUNCHES_NS]
    idle = context.gaps.us_per_step(between)
    busy, whole = context.steps.busy_us or 0.0, context.steps.idle_us or 0.0
    if not idle or idle < _BOUND * (busy + whole):
        return ""
    return f"for {format_us(idle)} of {context.us_text(busy + whole)} the device waits for launches"


def _fix_memory_near_limit_or_idle(context: Context, *, full: bool) -> str:
    if not full:
        return _LARGER
    return "" if len(context.analysis.nodes.row) else _INFERENCE


MEMORY_NEAR_LIMIT_OR_IDLE = Rule(
    id="memory-near-limit-or-idle",
    family="memory",
    title="Device memory is nearly full, or mostly free on an idle device",
    description="In a trace recorded with profile_memory: torch holds more than 90% of a device's "
    "memory at its peak; or less than 50%, on a device that waits for launches, other "
    "than the optimizer's, for half of the time or more.",
    fix="Lower the peak: lower precision, checkpointing, a smaller batch. "
    "torch.cuda.memory_stats() counts how often allocations were retried.",
    reference="torch.cuda.memory_stats; torch_tb_profiler, memory recommendation",
    confidence="medium",
    find=_find_memory_near_limit_or_idle,
)


# Memory that the allocator holds and cannot use at the peak.


_UNUSED = 0.2
"""Part of the reserved bytes."""
_SHARE = 0.5
"""Part of the device's memory that is reserved, from which it matters."""


def _find_memory_fragmentation(context: Context) -> Iterator[Occurrence]:
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
            evidence=f"at the peak of what is in use, {format_bytes(used)}, the allocator holds "
            f"{format_bytes(reserved)}, of which {format_bytes(reserved - used)} are in parts too "
            "small, of other streams, or left from an earlier peak",
            claims_gain=False,
            examples=memory.events.time[[at]],
            latent="an allocation may fail although as much is free, and retries stop the device",
        )


MEMORY_FRAGMENTATION = Rule(
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
    find=_find_memory_fragmentation,
)
