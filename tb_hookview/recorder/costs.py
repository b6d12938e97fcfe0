"""What the marks of a recording cost, measured on some of them as they are left."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from time import perf_counter_ns

EVERY = 8
"""One of so many modules and parameters is timed."""


class Costs:
    """Host time of marks; what torch spends on calling a hook of ours is not seen from inside."""

    def __init__(self) -> None:
        self._samples: defaultdict[str, list[float]] = defaultdict(list)

    def note(self, kind: str, since: int, marks: int = 1) -> None:
        """Note the time of some marks.

        Args:
            kind: "begin" and "end" of a call's range, "gradient" or "backward".
            since: `perf_counter_ns` before they were left.
            marks: how many.
        """
        self._samples[kind].append((perf_counter_ns() - since) / marks / 1000)

    def medians(self) -> dict[str, float]:
        """Return the median microseconds of one mark of each kind that was measured."""
        found = {kind: median(samples) for kind, samples in self._samples.items()}
        begin, end = found.pop("begin", None), found.pop("end", None)
        if begin is not None and end is not None:
            found["forward"] = found["function"] = begin + end
        return found
