"""`[memory]` events as torch writes them, for drawn traces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

CUDA, CPU = (1, 0), (0, -1)
"""Type and number of a device."""


def rows(
    changes: Iterable[tuple[float, int, int]],
    device: tuple[int, int] = CUDA,
    before: int = 0,
    reserved: int = 1000,
    tid: str = "main",
) -> list[dict[str, Any]]:
    """Instants of a device.

    Args:
        changes: microsecond of the drawing (tests/grid.py), address and bytes (below 0: freed).
        device: type and number of the device.
        before: bytes allocated before the first.
        reserved: bytes that the allocator holds.
        tid: thread that calls the allocator.
    """
    total, found = before, []
    for time, address, amount in changes:
        total += amount
        args = {
            "Device Type": device[0],
            "Device Id": device[1],
            "Addr": address,
            "Bytes": amount,
            "Total Allocated": total,
            "Total Reserved": reserved,
        }
        found.append(
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "pid": 77}
            | {"tid": tid, "ts": 1000 + time, "args": args}
        )
    return found
