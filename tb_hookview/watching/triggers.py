"""Decides when a recording is worth it: slow steps, every so often."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass

_WINDOW = 101
"""Steps of the running median."""
_FEWEST = 20
"""Steps before a step can be slow."""
_SPREADS = 5 * 1.4826
"""Median deviations that a slow step is beyond the median, so that uneven steps are not slow."""
_LASTING = 10
"""Times `slow_steps`: that many more slow steps than others ask for a recording in a rest, once."""


@dataclass(frozen=True)
class Triggers:
    """What asks for recordings; None for never."""

    every_steps: int | None = None
    every_minutes: float | None = None
    slow_factor: float | None = 1.5
    """A step is slow from this multiple of the running median on."""
    slow_steps: int = 3
    """Slow steps in a row that ask for a recording."""
    rest_minutes: float = 20.0
    """Time from one recording of slow steps to the next."""
    first: int | None = 10
    """Step before which a first recording is made, to compare with."""


class RunningMedian:
    """Median of the latest steps; constant memory, and a few microseconds per step."""

    def __init__(self) -> None:
        self._latest: deque[int] = deque()
        self._sorted: list[int] = []

    def __len__(self) -> int:
        return len(self._latest)

    def add(self, value: int) -> None:
        """Add the latest value."""
        self._latest.append(value)
        insort(self._sorted, value)
        if len(self._latest) > _WINDOW:
            del self._sorted[bisect_left(self._sorted, self._latest.popleft())]

    @property
    def value(self) -> int:
        """The median; 0 without a value."""
        return self._sorted[len(self._sorted) // 2] if self._sorted else 0

    @property
    def deviation(self) -> int:
        """The median of the distances from the median; takes longer than the median itself."""
        middle = self.value
        distances = sorted(abs(value - middle) for value in self._sorted)
        return distances[len(distances) // 2] if distances else 0


class Decision:
    """Looks at every step, and gives the reason for a recording."""

    def __init__(self, triggers: Triggers, now: float) -> None:
        """Begin.

        Args:
            triggers: what asks for recordings.
            now: seconds, as in all calls.
        """
        self.median = RunningMedian()
        self.slowest_ratio = 0.0
        """Duration over median of the slow steps that asked last."""
        self._triggers = triggers
        self._slow = 0
        self._lasting = 0
        self._ratio = 0.0
        self._rest_until = now
        self._had_lasting = False
        self._recorded_at = now
        self._recorded_step = 0

    def see(self, step: int, duration_ns: int, now: float) -> str | None:
        """Take a step that was not recorded; return the reason for a recording, or None."""
        slow = self._is_slow(duration_ns)
        self.median.add(duration_ns)
        asked = self._triggers
        if slow and self._slow >= asked.slow_steps and self._may_record(now):
            self.slowest_ratio = self._ratio
            return "slow"
        if asked.first is not None and step == asked.first:
            return "start"
        steps, minutes = asked.every_steps, asked.every_minutes
        if steps is not None and step - self._recorded_step >= steps:
            return "every"
        if minutes is not None and now - self._recorded_at >= 60 * minutes:
            return "every"
        return None

    def recorded(self, reason: str, step: int, now: float) -> None:
        """Note that a recording is agreed upon."""
        self._recorded_at, self._recorded_step = now, step
        if reason == "slow":
            self._slow = self._lasting = 0
            self._had_lasting = now < self._rest_until
            self._rest_until = now + 60 * self._triggers.rest_minutes

    def _may_record(self, now: float) -> bool:
        """Return whether slow steps are recorded: not in a rest, unless they last."""
        if now >= self._rest_until:
            return True
        return not self._had_lasting and self._lasting >= _LASTING * self._triggers.slow_steps

    def _is_slow(self, duration_ns: int) -> bool:
        median, factor = self.median.value, self._triggers.slow_factor
        slow = (
            factor is not None
            and len(self.median) >= _FEWEST
            and duration_ns > factor * median
            and duration_ns > median + _SPREADS * self.median.deviation
        )
        self._ratio = max(self._ratio if self._slow else 0.0, duration_ns / median) if slow else 0.0
        self._slow = self._slow + 1 if slow else 0
        self._lasting = max(0, self._lasting + (1 if slow else -1))
        return slow
