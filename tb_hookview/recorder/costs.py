"""What the marks of a recording cost, measured on some of them as they are left."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from time import perf_counter_ns

_ENOUGH = 16
_END = "end of "


def timed(count: int) -> range:
    """Return which of so many modules or parameters to time: some, spread evenly."""
    return range(0, count, max(1, count // _ENOUGH))


class Costs:
    """Host time of marks; what torch spends on calling a hook of ours is not seen from inside."""

    def __init__(self) -> None:
        self._samples: defaultdict[str, list[float]] = defaultdict(list)

    def note(self, kind: str, since: int, marks: int = 1) -> None:
        """Note the time of some marks, or of the beginnings of ranges.

        Args:
            kind: "forward", "function", "gradient" or "backward".
            since: `perf_counter_ns` before they were left.
            marks: how many.
        """
        self._samples[kind].append((perf_counter_ns() - since) / marks / 1000)

    def note_end(self, kind: str, since: int) -> None:
        """Note the time of the end of a range."""
        self.note(f"{_END}{kind}", since)

    def medians(self) -> dict[str, float]:
        """Return the median microseconds of one mark of each kind that was measured."""
        found = {kind: median(samples) for kind, samples in self._samples.items()}
        return {
            kind: cost + found.get(f"{_END}{kind}", 0.0)
            for kind, cost in found.items()
            if not kind.startswith(_END)
        }
