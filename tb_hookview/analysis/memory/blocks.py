"""Events of the allocators, and blocks: each allocation with the free that follows it.

    cuda:0   alloc A   alloc B   free A   alloc A   free C
    blocks   A 0..2, B 1.., A 3.., C ..4

C was allocated before the recording. The first of two allocations of one address without a free
between them was freed unseen: on a thread that the profiler did not watch.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, TreeRow

# Events of torch's allocators, device by device, in the order in which they happened.


_TYPES = {0: "cpu", 1: "cuda", 6: "hip", 12: "xpu", 20: "privateuseone"}
"""Names of torch's `DeviceType`, as `torch.device` spells them."""
_HOST = "cpu"
_WIDTH = 1 << 20
"""More than there are devices of one type."""


class AllocatorEvents(Struct, frozen=True):
    """Allocations and frees, shape (m,), by device, then by time; -1 for unknown.

    A position is an index into these. Rows of one moment stay in the order of the file.
    """

    devices: tuple[str, ...]
    """Devices as `torch.device` spells them."""
    first: Int
    """Position of the first event of each device, and m; shape (devices + 1,)."""
    device: Int
    """Index into `devices`."""
    source: Int
    """Row of `Trace.memory`."""
    time: Nanoseconds
    amount: Int
    """Bytes allocated; below 0 those freed."""
    allocated: Int
    reserved: Int
    """Bytes that the allocator holds after it; -1 also on the host, where none are held."""
    address: Int
    row: TreeRow
    """Innermost row of the call tree around it on its thread; -1 for none."""

    def __len__(self) -> int:
        return len(self.time)

    def of(self, device: int) -> slice:
        """Positions of the events of a device."""
        return slice(int(self.first[device]), int(self.first[device + 1]))

    def totals_known(self, device: int) -> bool:
        """Whether every event of a device has `Total Allocated`; torch 1.9 wrote none."""
        totals = self.allocated[self.of(device)]
        return bool(len(totals)) and bool((totals >= 0).all())


def allocator_events(host: HostRows) -> AllocatorEvents:
    """Sort the allocators' events of a trace, and find the host row around each."""
    memory = host.trace.memory
    keys, device = unique_inverse(memory.device_type * _WIDTH + memory.device_index + 1)
    kinds = (divmod(key, _WIDTH) for key in keys.tolist())
    names = tuple(device_name(kind, index - 1) for kind, index in kinds)
    order = np.lexsort((memory.time, device))
    device, time = device[order], memory.time[order]
    on_host = np.array([name == _HOST for name in names], bool)
    amount, address = memory.amount[order], memory.address[order]
    first = np.searchsorted(device, np.arange(len(names) + 1))
    totals = memory.allocated[order]
    unseen = _frees_unseen(device, address, amount)
    mapped = _mapped(device, address, amount, totals, unseen)
    return AllocatorEvents(
        devices=names,
        first=first,
        device=device,
        source=order,
        time=time,
        amount=amount,
        allocated=_with_mapped(totals, amount, mapped, unseen, first) if mapped.any() else totals,
        reserved=np.where(on_host[device], -1, memory.reserved[order]),
        address=address,
        row=innermost_at(host.call_tree, memory.thread[order].astype(np.int64), time),
    )


def _mapped(device: Int, address: Int, amount: Int, total: Int, unseen: Bool) -> Bool:
    """Memory that a file or another process shares: batches of a loader's workers, mostly.

    It is in no allocator's total: that of its events is 0, less than what they have just mapped. A
    free whose allocation is not in the recording is one where the events around it show that the
    allocator's total did not fall to 0.
    """
    order = np.lexsort((address, device))
    mapped = (amount > 0) & (total >= 0) & (total < amount) & (address >= 0)
    same = (np.diff(address[order]) == 0) & (np.diff(device[order]) == 0)
    mapped[order[1:][mapped[order][:-1] & same & (amount[order][1:] < 0)]] = True
    maybe = np.flatnonzero(unseen & (total == 0))
    own = np.flatnonzero(~mapped & ~(unseen & (total == 0)))
    place = np.searchsorted(own, maybe)
    before, after = (_at(own, at, device, maybe) for at in (place - 1, place))
    left = lookup(total, before) + amount[maybe]
    level = np.where(after < 0, -1, lookup(total, after) - lookup(amount, after))
    mapped[maybe] = (before < 0) | ((left != 0) & (level != 0))
    return mapped


def _at(own: Int, place: Int, device: Int, of: Int) -> Int:
    """Positions at places of a list where those are of the same device, else -1."""
    inside = (place >= 0) & (place < len(own))
    found = lookup(own, np.where(inside, place, -1))
    return np.where(inside & (lookup(device, found) == device[of]), found, -1)


def _frees_unseen(device: Int, address: Int, amount: Int) -> Bool:
    """Frees of what was allocated before the recording, or on a thread that is not watched."""
    order = np.lexsort((address, device))
    allocates = amount[order] > 0
    seen = np.zeros(len(order), bool)
    seen[1:] = (np.diff(address[order]) == 0) & (np.diff(device[order]) == 0) & allocates[:-1]
    unseen = np.zeros(len(order), bool)
    unseen[order] = ~seen & (amount[order] < 0) & (address[order] >= 0)
    return unseen


def _with_mapped(total: Int, amount: Int, mapped: Bool, unseen: Bool, first: Int) -> Int:
    """The allocators' totals with what is mapped besides, device by device.

    What is freed without an allocation was there from the start.
    """
    found = total.copy()
    for begin, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        span = slice(begin, end)
        own = np.flatnonzero(~mapped[span])
        if not len(own) or not mapped[span].any():
            continue
        last = np.searchsorted(own, np.arange(end - begin), side="right") - 1
        before = total[span][own[0]] - amount[span][own[0]]
        known = np.where(last < 0, before, total[span][own[np.maximum(last, 0)]])
        there = -int((amount[span] * (mapped & unseen)[span]).sum())
        shared = there + np.cumsum(amount[span] * mapped[span])
        found[span] = np.where(known < 0, known, known + shared)
    return found


def device_name(kind: int, index: int) -> str:
    """Device as `torch.device` spells it, by torch's `DeviceType` and number, -1 for none."""
    name = _TYPES.get(kind, f"type{kind}")
    return name if index < 0 or name == _HOST else f"{name}:{index}"


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
