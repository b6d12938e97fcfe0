"""How many processes may work at once, and how much memory new ones may take."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from tb_hookview.errors import UsageError

VARIABLE = "HOOKVIEW_PROCESSES"
"""Environment variable: the most processes that read one trace; 1 keeps to this process."""


def processes() -> int:
    """Return how many processes may work at once, this one included.

    Raises:
        UsageError: the variable is set to something other than a whole number above 0.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if text and not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise UsageError(f"{VARIABLE} is {text[:40]!r}: set it to a whole number above 0")
    if not _can_start_python() or _in_a_pool():
        return 1
    return min(cores(), int(text[:9])) if text else cores()


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _can_start_python() -> bool:
    # In a frozen program, `sys.executable` is that program and no Python.
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def _in_a_pool() -> bool:
    """Whether `multiprocessing` started this process: then its siblings have the other cores."""
    started = sys.modules.get("multiprocessing.process")
    return started is not None and started.parent_process() is not None


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


# The failures of workers.


class WorkerError(Exception):
    """The function that a worker called raised; the message says what."""


class WorkerDiedError(WorkerError):
    """A worker died; the message says how."""
