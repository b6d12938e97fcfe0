"""Memory of the devices: their sizes, what is live at a moment and where it was allocated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.calls.waits import frees_memory, is_free
from tb_hookview.analysis.memory.live import MemoryClass
from tb_hookview.analysis.memory.operators import live_by_module
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.formats import format_bytes
from tb_hookview.rules.engine.context import Context
from tb_hookview.schema import module_label

_TOP = 3
"""Modules and classes that evidence names."""
WORDS = {
    MemoryClass.PARAMETER: "parameters",
    MemoryClass.OPTIMIZER_STATE: "optimizer state",
    MemoryClass.GRADIENT: "gradients",
    MemoryClass.ACTIVATION: "saved activations",
    MemoryClass.RECOMPUTED: "recomputed activations",
    MemoryClass.INPUT: "inputs",
    MemoryClass.TEMPORARY: "temporaries",
    MemoryClass.BEFORE_RECORDING: "what was there before the recording",
    MemoryClass.WORKSPACE: "workspaces of matrix products",
    MemoryClass.UNKNOWN: "blocks of unknown use",
}


def failed_allocations(context: Context, calls: TreeRow) -> Iterator[TreeRow]:
    """Calls of each allocation that failed: it, what empties the cache, and the one that retries.

    They follow each other in one operator. What tries algorithms, and empties the cache after
    that, launches kernels in between.

    Args:
        context: the trace.
        calls: those that allocate or free memory of devices, ascending.
    """
    host = context.analysis.host
    calls = calls[frees_memory(host, calls) | ~is_free(host, calls)]
    frees, operator = is_free(host, calls), host.operator_around[calls]
    launches = np.zeros(len(context.call_tree) + 1, np.int64)
    launch = context.analysis.device_events.launch
    launches[1:][launch[launch >= 0]] = 1
    launched = np.cumsum(launches)
    same = (operator[1:] == operator[:-1]) & (operator[1:] >= 0)
    same &= launched[calls[1:]] == launched[calls[:-1]]
    allocates = np.flatnonzero(~frees)
    for first, then in zip(allocates[:-1].tolist(), allocates[1:].tolist(), strict=True):
        if then - first > 1 and same[first:then].all():
            yield calls[first : then + 1]


def size_of(context: Context, name: str) -> int | None:
    """Bytes of memory of a device that the allocator names, None for unknown."""
    kind, _, number = name.partition(":")
    if kind == "cpu" or not number.isdecimal():
        return None
    sizes = {device.id: device.memory for device in context.analysis.trace.devices}
    return sizes.get(int(number)) or None


def in_use(memory: MemoryUse, position: int) -> int:
    """Bytes in use after an event.

    On the CPU, what torch counts from before the recording is left out: blocks of earlier
    recordings of the process stay in its total if they were freed between recordings.
    """
    events = memory.events
    total = int(events.allocated[position])
    if events.devices[int(events.device[position])] != "cpu":
        return total
    before = memory.live.of(MemoryClass.BEFORE_RECORDING, np.array([position]))
    return total - int(before[0])


def in_use_text(memory: MemoryUse, position: int) -> str:
    """Bytes in use after an event, in words."""
    size = in_use(memory, position)
    if size == memory.events.allocated[position]:
        return format_bytes(size)
    return f"{format_bytes(size)} without {WORDS[MemoryClass.BEFORE_RECORDING]}"


def largest_class(memory: MemoryUse, position: int) -> MemoryClass:
    """Class with the most live bytes after an event."""
    (classes,) = memory.classes_at(np.array([position]))
    return max(classes, key=lambda kind: classes[kind])


def classes_text(memory: MemoryUse, position: int) -> str:
    """The largest classes after an event, in words."""
    (classes,) = memory.classes_at(np.array([position]))
    ranked = sorted(classes.items(), key=lambda item: -item[1])[:_TOP]
    return ", ".join(f"{WORDS[kind]} {format_bytes(size)}" for kind, size in ranked)


def top_modules(context: Context, memory: MemoryUse, blocks: Bool) -> list[tuple[int, int]]:
    """Modules that allocated the most of some blocks, with the bytes; -1 for outside of all."""
    size = len(context.analysis.modules)
    table = live_by_module(memory.kind, memory.lives, memory.blocks, blocks, size)
    total = table.sum(axis=1)
    order = np.argsort(-total, kind="stable")[:_TOP]
    return [(int(place) - 1, int(total[place])) for place in order.tolist() if total[place]]


def modules_text(context: Context, ranked: list[tuple[int, int]]) -> str:
    """Modules with bytes, in words."""
    paths = context.analysis.modules.path
    labels = {m: module_label(paths[m]) if m >= 0 else "not in a module" for m, _ in ranked}
    return ", ".join(f"{labels[module]} ({format_bytes(size)})" for module, size in ranked)
