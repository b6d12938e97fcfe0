"""Bytes that modules hold, and that operators allocate and free."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.activity import OperatorRows
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.memory.blocks import AllocatorEvents, MemoryBlocks
from tb_hookview.analysis.memory.live import NEVER, Lives, MemoryClass
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.joins import running_max
from tb_hookview.arrays.sums import greatest_by, sum_by
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, Nanoseconds, StringIndex, TreeRow
from tb_hookview.trace import EventCategory

# Memory by module: live bytes at a moment, lives of activations, what checkpointing would free.
#
# In tables of shape (modules + 1, ...) the first row is what is not in a module.


class ActivationLives(Struct, frozen=True):
    """Activations by the module that allocated them, shape (modules + 1,)."""

    count: Int
    bytes: Int
    lifetime: Nanoseconds
    """Sum of the times from allocation to free, of those freed in the recording."""
    freed: Int
    """Number of those."""
    longest: Nanoseconds


def live_by_module(kind: Int, lives: Lives, blocks: MemoryBlocks, live: Bool, modules: int) -> Int:
    """Bytes of some blocks by module and class, shape (modules + 1, classes)."""
    place = (lives.module[live] + 1) * len(MemoryClass) + kind[live]
    total = sum_by(place, blocks.size[live], (modules + 1) * len(MemoryClass))
    return total.reshape(-1, len(MemoryClass))


def activation_lives(
    kind: Int, lives: Lives, blocks: MemoryBlocks, chosen: Bool, modules: int
) -> ActivationLives:
    """Sum and longest of the lives of the activations among some blocks."""
    mine = np.flatnonzero(chosen & (kind == MemoryClass.ACTIVATION))
    module = lives.module[mine] + 1
    ends = lives.death[mine] != NEVER
    time = np.where(ends, lives.death[mine] - lives.birth[mine], 0)
    longest = greatest_by(module, time, modules + 1, 0)

    def summed(values: Int) -> Int:
        return sum_by(module, values, modules + 1)

    ones = np.ones(len(mine), np.int64)
    return ActivationLives(
        count=summed(ones),
        bytes=summed(blocks.size[mine]),
        lifetime=summed(time),
        freed=summed(ends.astype(np.int64)),
        longest=longest,
    )


def checkpoint_bound(
    kind: Int,
    freed_in: ModuleIndex,
    lives: Lives,
    blocks: MemoryBlocks,
    live: Bool,
    modules: Modules,
) -> Int:
    """Most bytes that checkpointing each module would free at a moment, shape (modules,).

    Live activations that were allocated in the module or below, and freed by nodes of it or below.
    What enters the module stays: it was allocated elsewhere. Its output stays where another
    module's node frees it. The module's own backward still needs all of it at once, so the peak may
    move there.

    Args:
        kind: class of each block.
        freed_in: module in whose row each block was freed, -1 for none.
        lives, blocks: the blocks.
        live: those that are live at the moment.
        modules: the module tree.
    """
    mine = live & (kind == MemoryClass.ACTIVATION) & (lives.module >= 0) & (freed_in >= 0)
    shared = _nearest_shared(modules, lives.module[mine], freed_in[mine])
    total = sum_by(shared, blocks.size[mine], len(modules))
    return modules.rolled_up(total)


def _nearest_shared(modules: Modules, first: ModuleIndex, second: ModuleIndex) -> ModuleIndex:
    """Innermost module that is, or is above, both of each pair; -1 for none."""
    first, second = first.copy(), second.copy()
    differ = np.flatnonzero(first != second)
    while len(differ):
        deeper = modules.depth[first[differ]] >= modules.depth[second[differ]]
        up = differ[deeper]
        first[up] = modules.parent[first[up]]
        up = differ[~deeper]
        second[up] = modules.parent[second[up]]
        ended = (first[differ] < 0) | (second[differ] < 0)
        first[differ[ended]] = second[differ[ended]] = -1
        differ = differ[first[differ] != second[differ]]
    return first


class OperatorMemory(NamedTuple):
    """Operators of a name on a device, shape (o,); those without any event are left out."""

    device: Int
    string: StringIndex
    calls: Int
    increase: Int
    """Bytes allocated less bytes freed, operators inside included."""
    self_increase: Int
    allocated: Int
    """Bytes allocated, operators inside included."""
    self_allocated: Int
    allocations: Int
    self_allocations: Int


def operator_memory(
    host: HostRows, rows: OperatorRows, events: AllocatorEvents, chosen: Bool
) -> OperatorMemory:
    """Sum allocations and frees by name of the operator.

    Args:
        host: host rows.
        rows: which of them are operators.
        events: events of the allocators.
        chosen: events that count, shape (m,).
    """
    # As torch_tb_profiler counts, but for calls in others of their name, which it counts twice:
    # annotations are no operators, and an event whose innermost row is none is no operator's.
    operator = rows.named & (host.kind == EventCategory.OPERATOR)
    parts = []
    for device in range(len(events.devices)):
        span = events.of(device)
        mine = np.arange(span.start, span.stop)
        row = events.row[mine]
        mine = mine[chosen[mine] & (row >= 0)]
        mine = mine[operator[events.row[mine]]]
        calls = np.flatnonzero(operator & ~rows.repeats)
        parts.append(_of_device(host, calls, events.row[mine], events.amount[mine], device))
    return OperatorMemory(*np.concatenate(parts, axis=1)) if parts else _NOTHING


def _of_device(host: HostRows, calls: TreeRow, row: TreeRow, amount: Int, device: int) -> Int:
    """Columns of `OperatorMemory` of one device, shape (9, operators).

    A row that is one call with the row above it counts there, and by itself only as what it is. A
    call in another one of its name is in that one's sums.
    """
    size, string = len(host.trace.strings), host.string
    counts = np.bincount(string[calls], minlength=size)
    calls = calls[np.argsort(string[calls], kind="stable")]
    until = running_max(string[calls], host.call_tree.subtree_end[calls])
    inner = np.zeros(len(calls), bool)
    inner[1:] = (np.diff(string[calls]) == 0) & (calls[1:] < until[:-1])
    calls = calls[~inner]
    gained, called = np.maximum(amount, 0), string[calls]
    end = host.call_tree.subtree_end[calls]
    columns = []
    for values in (amount, gained, gained > 0):
        upto = np.append(0, np.cumsum(sum_by(row, values, len(host))))
        columns.append(sum_by(called, upto[end] - upto[calls], size))
        columns.append(sum_by(string[row], values, size))
    names = np.flatnonzero(np.any(columns, axis=0))
    kept = [column[names] for column in columns]
    return np.stack([np.full(len(names), device), names, counts[names], *kept])


_NOTHING = OperatorMemory(*np.zeros((9, 0), np.int64))
