"""The number of processes that may run at once."""

from __future__ import annotations

import os
import sys

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
