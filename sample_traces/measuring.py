"""Times steps without the profiler."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

_WARM_UP = 3
_MOST = 1000


@dataclass(frozen=True)
class Clock:
    """Times calls on the device, from one call's end to the next one's.

    On CUDA these are differences of events that are recorded between calls and read at the end, so
    that nothing waits in between; elsewhere of the host's clock.
    """

    device: torch.device

    def time(self, call: Callable[[], object], count: int) -> list[float]:
        """Return the milliseconds of each of `count` calls, made one after another."""
        if self.device.type == "cuda":
            return self._by_events(call, count)
        times = [time.perf_counter()]
        for _ in range(count):
            call()
            times.append(time.perf_counter())
        return [(b - a) * 1000 for a, b in pairwise(times)]

    def _by_events(self, call: Callable[[], object], count: int) -> list[float]:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
        torch.cuda.synchronize()
        events[0].record()
        for event in events[1:]:
            call()
            event.record()
        torch.cuda.synchronize()
        return [first.elapsed_time(second) for first, second in pairwise(events)]


def time_calls(
    call: Callable[[], object], clock: Clock, *, seconds: float, at_least: int
) -> list[float]:
    """Return the milliseconds of as many calls as fit, but of `at_least` some.

    A few calls before them warm up caches, the allocator and compilers.
    """
    for _ in range(_WARM_UP):
        call()
    times = clock.time(call, at_least)
    typical = max(statistics.median(times), 1e-3)
    more = min(int(seconds * 1000 / typical), _MOST) - at_least
    return times + clock.time(call, more) if more > 0 else times


def summary(rounds: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Summarize the times of the rounds of one variant.

    `step_ms` is the median of all steps, `spread_ms` from their first to their third quartile,
    `rounds_ms` the median of each round: where these differ, the machine was not quiet.
    """
    times = [time for each in rounds for time in each]
    low, _, high = statistics.quantiles(times, n=4)
    return {
        "step_ms": round(statistics.median(times), 5),
        "spread_ms": [round(low, 5), round(high, 5)],
        "rounds_ms": [round(statistics.median(each), 5) for each in rounds],
        "steps": len(times),
    }
