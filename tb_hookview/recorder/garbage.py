"""Leaves a range around each garbage collection of Python's older objects while recording."""

from __future__ import annotations

import gc
from typing import Any

from tb_hookview.markers import COLLECTION
from tb_hookview.recorder.ranges import Range, new_range

_FIRST = 1
"""Generation from which on a collection is marked; younger ones take microseconds, and are many."""


class Handle:
    """Marks collections until it is removed."""

    def __init__(self) -> None:
        """Begin to mark."""
        self._open: list[Range] = []
        gc.callbacks.append(self._on_collection)

    def remove(self) -> None:
        """Mark no more."""
        if self._on_collection in gc.callbacks:
            gc.callbacks.remove(self._on_collection)

    def _on_collection(self, phase: str, about: dict[str, Any]) -> None:
        """One of `gc.callbacks`: both phases come on one thread, with no other one in between."""
        if phase == "start" and about["generation"] >= _FIRST:
            self._open.append(new_range(f"{COLLECTION}{about['generation']}"))
            self._open[-1].__enter__()
        elif phase == "stop" and self._open:
            self._open.pop().__exit__(None, None, None)
