"""Times the steps of a training by the host's clock, recorded ones and others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from time import perf_counter_ns

from torch.profiler import ProfilerAction

_MOST = 100
"""Durations held of each kind, the latest."""
RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
"""Actions of a step that is recorded."""
Schedule = Callable[[int], ProfilerAction]
_USE = "use it as `with hookview.profile(...) as profiler:` around the training"
_FAR = 100_000
"""Steps of a schedule looked through for the first that is recorded."""


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

    def why_unrecorded(self, schedule: Schedule | None) -> str:
        """Return one line: why nothing was recorded with a schedule, and what to change."""
        steps = range(_FAR)
        first = (
            0 if schedule is None else next((n for n in steps if schedule(n) in RECORDING), None)
        )
        if not self.started:
            why = f"the profiler was never started; {_USE}"
        elif first is None:
            why = "the schedule records no step; use one of torch.profiler.schedule(...)"
        elif first <= self.count:
            why = f"the profiler was dropped while it recorded; {_USE}"
        elif not self.count:
            why = (
                f"the schedule skips {_steps(first)} first, and profiler.step() was never called; "
                "call it at the end of each step of the training"
            )
        else:
            why = (
                f"the schedule skips {_steps(first)} first, and the training had "
                f"{_steps(self.count)} (calls of profiler.step()); train for more, or lower the "
                "schedule's wait and warmup"
            )
        return f"nothing was recorded: {why}"


def _steps(number: int) -> str:
    return f"{number} step" if number == 1 else f"{number} steps"


def _microseconds(durations: Iterable[int]) -> list[float]:
    return [round(duration / 1000, 1) for duration in durations]
