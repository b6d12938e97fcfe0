"""Blocks of memory: each allocation with the free of the same address that follows it.

    cuda:0   alloc A   alloc B   free A   alloc A   free C
    blocks   A 0..2, B 1.., A 3.., C ..4

C was allocated before the recording. The first of two allocations of one address without a free
between them was freed unseen: on a thread that the profiler did not watch.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.memory.events import AllocatorEvents
from tb_hookview.arrays.types import Bool, Int


class MemoryBlocks(Struct, frozen=True):
    """Blocks, shape (b,), in the order of their first events."""

    birth: Int
    """Position of the allocation, -1 for one before the recording."""
    death: Int
    """Position of the free, -1 for none in the recording."""
    size: Int
    """Bytes."""
    device: Int
    """Index into `AllocatorEvents.devices`."""

    def __len__(self) -> int:
        return len(self.size)

    @property
    def first(self) -> Int:
        """Position of the first event of each."""
        return np.where(self.birth >= 0, self.birth, self.death)

    def live_at(self, position: int, device: int) -> Bool:
        """Blocks of a device allocated in the recording that are live after an event."""
        born = (self.birth >= 0) & (self.birth <= position) & (self.device == device)
        return np.asarray(born & ((self.death < 0) | (self.death > position)))


def find_blocks(events: AllocatorEvents) -> MemoryBlocks:
    """Pair allocations and frees; events without an address or an amount have no block."""
    usable = np.flatnonzero((events.address >= 0) & (events.amount != 0))
    # Stable: of one device and address, events stay in the order of time.
    order = usable[np.lexsort((events.address[usable], events.device[usable]))]
    allocates = events.amount[order] > 0
    same = np.zeros(len(order), bool)
    same[1:] = (np.diff(events.address[order]) == 0) & (np.diff(events.device[order]) == 0)
    follows = np.zeros(len(order), bool)  # frees whose allocation is just before
    follows[1:] = same[1:] & allocates[:-1] & ~allocates[1:]
    birth = order[allocates]
    death = np.full(len(order), -1, np.int64)
    death[:-1][follows[1:]] = order[1:][follows[1:]]
    lone = order[~allocates & ~follows]
    births = np.concatenate([birth, np.full(len(lone), -1, np.int64)])
    deaths = np.concatenate([death[allocates], lone])
    first = np.concatenate([birth, lone])
    by_first = np.argsort(first, kind="stable")
    first = first[by_first]
    return MemoryBlocks(
        birth=births[by_first],
        death=deaths[by_first],
        size=np.abs(events.amount[first]),
        device=events.device[first],
    )
