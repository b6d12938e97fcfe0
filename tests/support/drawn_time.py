"""A clock for what is watched whose time is drawn: the same on a fast machine and on a busy one.

Import it before anything that reads `time.perf_counter_ns`. Every reading on the main thread moves
the clock on by a draw, as a machine does on which other programs run: most draws are alike, some
are long, and for some hundred of them in a row all are longer. Other threads read it only.
"""

from __future__ import annotations

import random
import threading
import time

USUAL_NS = 200_000
LONG_NS = 5_000_000
LONG = 0.01
"""Share of the draws that are long."""
BUSY, CALM = 300, 2_000
"""Draws in a row, on average, while another program runs and while none does."""


class DrawnClock:
    """Time that is drawn from a seed, and moved on by a test."""

    def __init__(self, seed: str = "") -> None:
        """Begin at zero."""
        self._random = random.Random(seed)
        self._now_ns = 0
        self._left = 0
        self._factor = 1.0

    def read(self) -> int:
        """Return the time in nanoseconds; on the main thread a later one each time."""
        if threading.current_thread() is threading.main_thread():
            self._now_ns += round(self._draw())
        return self._now_ns

    def move_on(self, seconds: float) -> None:
        """Have something last this long."""
        self._now_ns += round(seconds * 1e9)

    def _draw(self) -> float:
        if self._left <= 0:
            is_busy = self._factor == 1.0
            self._factor = 1.6 if is_busy else 1.0
            self._left = round(self._random.expovariate(1 / (BUSY if is_busy else CALM)))
        self._left -= 1
        long = self._random.expovariate(1 / LONG_NS) if self._random.random() < LONG else 0.0
        return USUAL_NS * self._factor * self._random.lognormvariate(0, 0.5) + long


clock = DrawnClock()


def begin(seed: str) -> None:
    """Begin again, in a process that is to have draws of its own."""
    global clock
    clock = DrawnClock(seed)


def _read() -> int:
    return clock.read()


time.perf_counter_ns = _read
