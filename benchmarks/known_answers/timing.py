"""Training steps timed without the profiler.

Other processes of the machine only ever make a step slower. So steps are short and many, the
process rests before each block of them, as a scheduler then lets it run for a while, and the
quickest tenth of the blocks counts: of those timed, and of those recorded. Where something goes on
beside the steps, there is no rest, and all blocks count: a quick one lived on what was ready.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

_WARM_UP, _COUNTS, _REST = 4, 0.1, 0.002
"""Steps before those that count, the part of the blocks that does, and seconds of rest."""
T = TypeVar("T")


def warm_up(step: Callable[[], object]) -> None:
    """Run a few steps that do not count."""
    for _ in range(_WARM_UP):
        step()


def quickest(blocks: Sequence[T], length: int = 1) -> Sequence[T]:
    """Return the blocks that count, of `length` steps each: of single steps the quickest."""
    return blocks[: max(int(len(blocks) * _COUNTS), 1)] if length == 1 else blocks


def quick(times: Sequence[float], length: int = 1) -> float:
    """Median of the blocks that count."""
    return statistics.median(quickest(sorted(times), length))


def timed(step: Callable[[], object], count: int, length: int = 1) -> list[float]:
    """Milliseconds a step of `count` blocks of `length` steps, after some that warm up."""
    warm_up(step)
    times = []
    for _ in range(count):
        rest(length)
        start = time.perf_counter()
        for _ in range(length):
            step()
        times.append((time.perf_counter() - start) / length * 1000)
    return times


def rest(length: int) -> None:
    """Rest before a block, but where something goes on meanwhile and steps take turns for it."""
    if length == 1:
        time.sleep(_REST)
