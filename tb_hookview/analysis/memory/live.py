"""Live bytes by class after each event of the allocators; they sum to `Total Allocated`.

What was live before the recording is the first total less its own amount, and less the frees whose
allocation is not in the recording from then on. Where totals move by more than the events between
them, the difference is `unknown`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.memory.blocks import MemoryBlocks
from tb_hookview.analysis.memory.classes import MemoryClass
from tb_hookview.analysis.memory.events import AllocatorEvents
from tb_hookview.arrays.types import Int


class LiveBytes(Struct, frozen=True, dict=True):
    """Live bytes of each class, by positions of events."""

    events: AllocatorEvents
    blocks: MemoryBlocks
    kind: Int
    """`MemoryClass` of each block, shape (b,)."""
    parameters: tuple[int, ...]
    """Bytes of the parameters that were on each device before the recording; 0 for unknown."""

    def of(self, kind: MemoryClass) -> Int:
        """Live bytes of a class after each event, shape (m,)."""
        if kind is MemoryClass.PARAMETER:
            return self._parameters
        if kind is MemoryClass.BEFORE_RECORDING:
            return self._before - self._parameters
        born = self.born(self.kind == kind)
        return born + self._unexplained if kind is MemoryClass.UNKNOWN else born

    def born(self, chosen: Int) -> Int:
        """Live bytes after each event of some blocks allocated in the recording, shape (m,)."""
        chosen = np.flatnonzero(chosen & (self.blocks.birth >= 0))
        return self._running(chosen)

    @cached_property
    def _before(self) -> Int:
        """Bytes from before the recording, shape (m,); 0 where totals are unknown."""
        events, blocks = self.events, self.blocks
        freed = self._running(np.flatnonzero(blocks.birth < 0))
        for device in range(len(events.devices)):
            span = events.of(device)
            if events.totals_known(device):
                freed[span] += int(events.allocated[span][0] - events.amount[span][0])
            else:
                freed[span] = 0
        return freed

    @cached_property
    def _parameters(self) -> Int:
        return np.array(self.parameters, np.int64)[self.events.device]

    @cached_property
    def _unexplained(self) -> Int:
        known = np.array([self.events.totals_known(d) for d in range(len(self.parameters))], bool)
        seen = self._running(np.arange(len(self.blocks))[self.blocks.birth >= 0])
        rest = self.events.allocated - self._before - seen
        return np.where(known[self.events.device], rest, 0)

    def _running(self, chosen: Int) -> Int:
        """Bytes of some blocks allocated less those freed up to each event, device by device."""
        blocks, events = self.blocks, self.events
        change = np.zeros(len(events), np.int64)
        born, died = chosen[blocks.birth[chosen] >= 0], chosen[blocks.death[chosen] >= 0]
        change[blocks.birth[born]] += blocks.size[born]
        change[blocks.death[died]] -= blocks.size[died]
        total = np.cumsum(change)
        start = np.concatenate([[0], total])[events.first[:-1]]
        return np.asarray(total - start[events.device])


def parameters_before(
    events: AllocatorEvents, blocks: MemoryBlocks, listed: dict[str, int]
) -> tuple[int, ...]:
    """Bytes of parameters among what was on each device before the recording.

    Args:
        events: events of the allocators.
        blocks: blocks of memory.
        listed: bytes of parameters on each device, by the recorder's manifest.

    Returns:
        0 for a device whose allocator never held as much from before the recording, and for the
        CPU, whose total begins with the first recording of the process.
    """
    live = LiveBytes(events, blocks, np.zeros(len(blocks), np.int64), (0,) * len(events.devices))
    found = []
    for device, name in enumerate(events.devices):
        span, wanted = events.of(device), 0 if name == "cpu" else listed.get(name, 0)
        least = int(live.of(MemoryClass.BEFORE_RECORDING)[span].min())
        found.append(wanted if least >= wanted else 0)
    return tuple(found)
