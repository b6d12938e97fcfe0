"""What each size takes, run by run in fresh processes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from analyzer.measure import CONTENDER
from common import child, page
from common.traces import json_bytes

from growth.sizes import Made

_ONCE_FROM_S = 60.0
"""A size that takes so long (seconds) is run once."""


@dataclass
class Size:
    """One trace and its runs."""

    json_bytes: int
    copies: int
    runs: list[dict[str, Any]] = field(default_factory=list)
    fails: str | None = None

    @property
    def events(self) -> int:
        """Events in the file."""
        return int(self.runs[0]["facts"]["events"])

    @property
    def seconds(self) -> float:
        """Median time to the report."""
        return float(median(run["seconds"] for run in self.runs))

    @property
    def cpu(self) -> float:
        """Median seconds of all processors."""
        return float(median(run["cpu"] for run in self.runs))

    @property
    def peak(self) -> float:
        """Median of the most resident bytes, imports included."""
        return float(median(run["rss_peak"] for run in self.runs))

    @property
    def added(self) -> float:
        """Median of the bytes that the work added."""
        return float(median(run["rss_peak"] - run["rss_before"] for run in self.runs))

    def stage(self, name: str) -> float:
        """Median seconds of a stage."""
        return float(median(run["facts"]["stages"].get(name, 0.0) for run in self.runs))


def measure(made: Sequence[Made], repeats: int) -> list[Size]:
    """Measure all sizes in turn, as often as asked."""
    sizes = [Size(json_bytes(each.path), each.copies) for each in made]
    for _ in range(repeats):
        for each, size in zip(made, sizes, strict=True):
            if size.fails or (size.runs and size.seconds > _ONCE_FROM_S):
                continue
            found = child.run([sys.executable, "-I", CONTENDER, "stages", each.path])
            if "fails" in found:
                size.fails = found["fails"]
            else:
                size.runs.append(found)
            page.say(f"{size.json_bytes / 1e6:,.0f} MB: {size.fails or f'{size.seconds:.3g} s'}")
    return sizes
