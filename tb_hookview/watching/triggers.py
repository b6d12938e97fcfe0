"""Decides when a recording is worth it: slow steps, every so often."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

_WINDOW = 201
"""Steps of the running median."""
_FEWEST = 20
"""Steps before a step can be slow."""
_SPREADS = 5 * 1.4826
"""Median deviations that a slow step is beyond the median, so that uneven steps are not slow."""
_LASTING = 10
"""Times `slow_steps`: steps by which the slower ones must outnumber the others, to last."""
_PART_SHARE = 0.5
"""Of what `slow_factor` is above 1, that a part must make steps longer by in order to be slow."""
_LOOK_NS = 100_000_000
"""Parts are compared once in this time: it takes 10 us."""


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
    """Median of the latest steps; constant memory, and a microsecond per step."""

    def __init__(self) -> None:
        self._latest: deque[int] = deque()
        self._sorted: list[int] = []
        self._deviation: int | None = None
        self.value = 0
        """The median; 0 without a value."""

    def __len__(self) -> int:
        return len(self._latest)

    def add(self, value: int) -> None:
        """Add the latest value."""
        ordered = self._sorted
        self._latest.append(value)
        insort(ordered, value)
        if len(ordered) > _WINDOW:
            del ordered[bisect_left(ordered, self._latest.popleft())]
        self.value = ordered[len(ordered) // 2]
        self._deviation = None

    @property
    def deviation(self) -> int:
        """The median of the distances from the median; takes longer than the median itself."""
        if self._deviation is None:
            middle = self.value
            distances = sorted(abs(value - middle) for value in self._sorted)
            self._deviation = distances[len(distances) // 2] if distances else 0
        return self._deviation


class Parts:
    """Notices that a part of the steps takes more of them, and goes on to.

    What counts is a step's length by that of all its other parts. A busy machine makes all parts
    longer alike, so that nothing changes. Where nothing changes, fewer than half of the steps are
    above the median and a margin: they never outnumber the others by much, however uneven.
    """

    def __init__(self, factor: float, lasting: int) -> None:
        """Begin.

        Args:
            factor: by which a part makes steps longer.
            lasting: by how many such steps must outnumber the others.
        """
        self._factor, self._enough = factor, lasting
        self._medians: list[RunningMedian] = []
        self._lasting: list[int] = []
        self._waited_ns = 0

    def find_slow(self, duration_ns: int, parts: Sequence[int]) -> float:
        """Return how much longer a part makes the steps, once it has lasted; 0.0 until then."""
        self._waited_ns += duration_ns
        if self._waited_ns < _LOOK_NS:
            return 0.0
        self._waited_ns = 0
        while len(self._medians) < len(parts):
            self._medians.append(RunningMedian())
            self._lasting.append(0)
        found = 0.0
        for number, (median, part) in enumerate(zip(self._medians, parts, strict=True)):
            length = 1_000_000 * duration_ns // max(duration_ns - max(part, 0), 1)
            if len(median) >= _FEWEST and length > self._factor * median.value:
                self._lasting[number] += 1
                if self._lasting[number] >= self._enough:
                    found = max(found, length / median.value)
            elif self._lasting[number]:
                self._lasting[number] -= 1
            median.add(length)
        return found


class Decision:
    """Looks at every step, and gives the reason for a recording.

    Steps are compared with the running median of those that were not slow.
    """

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
        self._factor = triggers.slow_factor or math.inf
        self._latest: deque[int] = deque(maxlen=_FEWEST)
        self._slow = 0
        self._lasting = 0
        self._ratio = 0.0
        self._rest_until = self._rest_of_parts_until = now
        self._in_this_rest = 0
        """Recordings of slow steps in a rest, for steps that lasted."""
        self._recorded_at = now
        self._recorded_step = 0
        self._begin_parts()

    def _begin_parts(self) -> None:
        factor = 1 + _PART_SHARE * (self._factor - 1)
        self._parts = Parts(factor, _LASTING * self._triggers.slow_steps)

    def see(self, step: int, duration_ns: int, now: float, parts: Sequence[int] = ()) -> str | None:
        """Take a step that was not recorded; return the reason for a recording, or None.

        Args:
            step: its number.
            duration_ns: its length.
            now: seconds.
            parts: nanoseconds of its parts, the same ones in each step; none if not timed.
        """
        self._latest.append(duration_ns)
        if self._is_slow(duration_ns) and self._may_record(now):
            self.slowest_ratio = self._ratio
            return "slow"
        asked = self._triggers
        if asked.slow_factor is not None and parts:
            ratio = self._parts.find_slow(duration_ns, parts)
            if ratio and now >= self._rest_of_parts_until:
                self._rest_of_parts_until = now + 60 * asked.rest_minutes
                self.slowest_ratio = ratio
                self._begin_parts()
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
            self._in_this_rest = self._in_this_rest + 1 if now < self._rest_until else 0
            self._rest_until = now + 60 * self._triggers.rest_minutes
            self.median = RunningMedian()  # slow steps that go on are the usual ones now
            for duration_ns in self._latest:
                self.median.add(duration_ns)

    def _may_record(self, now: float) -> bool:
        """Return whether slow steps are recorded: in a rest if they last, twice as long each time.

        Else one recording would be all there is of a rest, be it of a moment's noise.
        """
        fewest = self._triggers.slow_steps
        if now < self._rest_until:
            return self._lasting >= _LASTING * fewest << self._in_this_rest
        return self._slow >= fewest

    def _is_slow(self, duration_ns: int) -> bool:
        """Return whether a step is slow; if not, it is one of the median's."""
        median = self.median
        usual = median.value
        if (
            len(median) >= _FEWEST
            and duration_ns > self._factor * usual
            and duration_ns > usual + _SPREADS * median.deviation
        ):
            self._ratio = max(self._ratio if self._slow else 0.0, duration_ns / max(usual, 1))
            self._slow += 1
            self._lasting += 1
            return True
        self._slow = 0
        if self._lasting:
            self._lasting -= 1
        median.add(duration_ns)
        return False
