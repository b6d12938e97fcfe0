"""Measures the host time of some marks of a recording as they are left."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from time import perf_counter_ns

_ENOUGH = 16
_END = "end of "


def timed(count: int) -> range:
    """Return which of N modules or parameters to time: about sixteen, spread evenly."""
    return range(0, count, max(1, count // _ENOUGH))


class Costs:
    """Samples of the host time of marks, without torch's time to call a hook."""

    def __init__(self) -> None:
        self._samples: defaultdict[str, list[float]] = defaultdict(list)

    def note(self, kind: str, since: int) -> None:
        """Add a sample: the time of one mark, or of the start of one range.

        Args:
            kind: "forward", "function", "gradient" or "backward".
            since: `perf_counter_ns` before the mark was left.
        """
        self._samples[kind].append((perf_counter_ns() - since) / 1000)

    def note_end(self, kind: str, since: int) -> None:
        """Add a sample: the time of the end of one range."""
        self.note(f"{_END}{kind}", since)

    def medians(self) -> dict[str, float]:
        """Return the median microseconds of one mark of each kind that was measured."""
        found = {kind: median(samples) for kind, samples in self._samples.items()}
        return {
            kind: cost + found.get(f"{_END}{kind}", 0.0)
            for kind, cost in found.items()
            if not kind.startswith(_END)
        }
