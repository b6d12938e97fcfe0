"""The thread that writes steps, looks for requests and agrees with the other ranks."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tb_hookview.recorder import faults
from tb_hookview.step_log import REQUEST

PERIOD_S, PERIOD_OF_RANKS_S = 2.0, 0.5
"""Seconds from one look to the next: of a process alone, and of one that has to agree with others,
three of them before a recording begins."""


class Background:
    """Calls a function every now and then, until `end`."""

    def __init__(self, work: Callable[[], None], period_s: float) -> None:
        self._work, self._period_s = work, period_s
        self._asleep = threading.Lock()  # whoever wakes the thread releases it
        self._asleep.acquire()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="hookview-watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Have the function called now."""
        with contextlib.suppress(RuntimeError):  # it is awake
            self._asleep.release()

    def end(self, patience_s: float = 5.0) -> None:
        """Call it once more, and wait for that; for a store or a disk that hangs, not for long."""
        self._over = True
        self.wake()
        if self._thread.is_alive():
            self._thread.join(patience_s)

    def _run(self) -> None:
        while not self._over:
            self._asleep.acquire(timeout=self._period_s)
            self._call()
        self._call()  # what came while it was called the last time

    def _call(self) -> None:
        try:
            self._work()
        except Exception as fault:  # noqa: BLE001 - a thread of ours must not end by a fault
            faults.report("watching the training", fault, "some steps may be missing")


def take_request(folder: Path) -> dict[str, Any] | None:
    """Return what the file `record` of a folder asks for, and take it away; None without one.

    Of several processes one gets it.
    """
    if not os.access(os.path.join(folder, REQUEST), os.F_OK):  # noqa: PTH118 - a path takes longer
        return None
    path = folder / REQUEST
    taken = folder / f".{REQUEST}.{threading.get_native_id()}"
    try:
        path.rename(taken)
    except OSError:
        return None
    try:
        read = json.loads(taken.read_text() or "{}")
    except (OSError, ValueError):
        read = {}
    finally:
        taken.unlink(missing_ok=True)
    return read if isinstance(read, dict) else {}


def peak_memory() -> int | None:
    """Return the most memory that this process had so far: of its device, else of the host."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return torch.cuda.max_memory_allocated()
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
