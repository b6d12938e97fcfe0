"""Training steps timed without the profiler.

Other processes of the machine only ever make a step slower. So steps are short and many, the
process rests before each block of them, as a scheduler then lets it run for a while, and the
quickest blocks count: of those timed, and of those recorded. Two programs take turns block by
block, so that both see the same machine. Where something goes on beside the steps, there is no
rest, and all blocks count: a quick one lived on what was ready.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

_WARM_UP, _COUNTS, _REST = 4, 0.25, 0.002
"""Steps before those that count, the part of the blocks that does, and seconds of rest."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _KEPT = -1, -3, 1 << 30
"""Options of `mallopt`, and the bytes that the process keeps of what it frees."""
T = TypeVar("T")


def keep_freed_memory() -> None:
    """Have no step pay for pages that the step before it gave back (with glibc).

    Whether one does depends on how tensors lie in the heap, and differs between programs.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            mallopt(option, _KEPT)


def warm_up(step: Callable[[], object]) -> None:
    """Run a few steps that do not count."""
    for _ in range(_WARM_UP):
        step()


def quickest(blocks: Sequence[T]) -> Sequence[T]:
    """The part of blocks, sorted by their time, that counts."""
    return blocks[: max(int(len(blocks) * _COUNTS), 1)]


def quick(times: Sequence[float], length: int = 1) -> float:
    """Median of the blocks that count, of `length` steps each: of single steps the quickest."""
    return statistics.median(quickest(sorted(times)) if length == 1 else times)


def timed(step: Callable[[], object], length: int = 1) -> float:
    """Milliseconds per step of a block of `length` steps."""
    rest(length)
    start = time.perf_counter()
    for _ in range(length):
        step()
    return (time.perf_counter() - start) / length * 1000


def in_turns(steps: Sequence[Callable[[], object]], count: int) -> list[float]:
    """Milliseconds of each of some steps that take turns `count` times, after a warm-up."""
    for step in steps:
        warm_up(step)
    times = [[timed(step) for step in steps] for _ in range(count)]
    return [quick(each) for each in zip(*times, strict=True)]


def rest(length: int) -> None:
    """Rest before a block, but where something goes on meanwhile and steps take turns for it."""
    if length == 1:
        time.sleep(_REST)
