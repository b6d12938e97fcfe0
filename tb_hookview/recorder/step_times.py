"""Times the steps of a training by the host's clock, recorded ones and others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from time import perf_counter_ns

from torch.profiler import ProfilerAction

_MOST = 100
"""Durations held of each kind, the latest."""
RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
"""Actions of a step that is recorded."""


class StepTimes:
    """Durations of steps: of those that are not recorded, and of the latest recording's.

    A step lasts from the return of one call of the profiler's `step` (or `start`) to the next call,
    so what the profiler does in these calls is in no step. On a device that works asynchronously
    that is the time until the host has queued a step. Over consecutive steps the host runs at the
    device's pace, as it waits for its results or for room in the queue. It does not in the first of
    them, after a start or after the profiler has emptied the queue: of each sequence of steps that
    are not recorded, the first is left out. Steps in which the profiler warms up are neither.
    """

    def __init__(self) -> None:
        self.count = 0
        """Steps that ended."""
        self.started = False
        self.recorded_ns: deque[int] = deque(maxlen=_MOST)
        self.unrecorded_ns: deque[int] = deque(maxlen=_MOST)
        self._action: ProfilerAction | None = None
        self._since: int | None = None

    def begin(self) -> None:
        """Begin a step."""
        self._since = perf_counter_ns()

    def leave_out(self, duration_ns: int) -> None:
        """Count a part of the running step, which the recorder took itself, as of no step."""
        if self._since is not None:
            self._since += duration_ns

    def end(self, action: ProfilerAction) -> None:
        """End a step.

        Args:
            action: what the profiler did during it.
        """
        now = perf_counter_ns()
        self.count += 1
        previous, self._action = self._action, action
        if self._since is None:
            return
        if action in RECORDING:
            self.recorded_ns.append(now - self._since)
        elif action is ProfilerAction.NONE and previous is action:
            self.unrecorded_ns.append(now - self._since)

    def as_manifest(self) -> dict[str, list[float]]:
        """Return the durations in microseconds, empty without a recorded step."""
        if not self.recorded_ns:
            return {}
        return {
            "recorded_us": _microseconds(self.recorded_ns),
            "unrecorded_us": _microseconds(self.unrecorded_ns),
        }


def _microseconds(durations: Iterable[int]) -> list[float]:
    return [round(duration / 1000, 1) for duration in durations]
