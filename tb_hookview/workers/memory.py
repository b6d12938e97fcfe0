"""Memory that processes may still take on this machine."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Return the bytes of memory that are free for new processes; None for unknown.

    Linux says what it could give without swapping, and a control group may allow less. Elsewhere
    half of the machine's memory is taken to be free.
    """
    known = [size for size in (_of_the_machine(), _of_the_group()) if size is not None]
    return min(known, default=None)


def _of_the_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return None


def _of_the_group() -> int | None:
    with suppress(OSError, ValueError):  # "max" is no number: no limit
        limit = int((_GROUP / "memory.max").read_text())
        return max(0, limit - int((_GROUP / "memory.current").read_text()))
    return None
