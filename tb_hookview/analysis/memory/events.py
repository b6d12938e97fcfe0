"""Events of torch's allocators, device by device, in the order in which they happened."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.nesting import innermost_at
from tb_hookview.arrays.types import Int, Nanoseconds, TreeRow

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
    names = tuple(_named(key) for key in keys.tolist())
    order = np.lexsort((memory.time, device))
    device, time = device[order], memory.time[order]
    on_host = np.array([name == _HOST for name in names], bool)
    return AllocatorEvents(
        devices=names,
        first=np.searchsorted(device, np.arange(len(names) + 1)),
        device=device,
        source=order,
        time=time,
        amount=memory.amount[order],
        allocated=memory.allocated[order],
        reserved=np.where(on_host[device], -1, memory.reserved[order]),
        address=memory.address[order],
        row=innermost_at(host.call_tree, memory.thread[order].astype(np.int64), time),
    )


def device_name(kind: int, index: int) -> str:
    """Device as `torch.device` spells it, by torch's `DeviceType` and number, -1 for none."""
    name = _TYPES.get(kind, f"type{kind}")
    return name if index < 0 or name == _HOST else f"{name}:{index}"


def _named(key: int) -> str:
    kind, index = divmod(key, _WIDTH)
    return device_name(kind, index - 1)
