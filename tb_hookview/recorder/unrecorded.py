"""Says why a profiler recorded nothing, and the remedy."""

from __future__ import annotations

from collections.abc import Callable

from torch.profiler import ProfilerAction

from tb_hookview.recorder.step_times import RECORDING

Schedule = Callable[[int], ProfilerAction]

_USE = "use it as `with hookview.profile(...) as profiler:` around the training"
_FAR = 100_000
"""Steps of a schedule looked through for the first that is recorded."""


def reason(schedule: Schedule | None, steps: int, *, started: bool) -> str:
    """Return one line: why nothing was recorded, and what to change.

    Args:
        schedule: the one that the user gave.
        steps: calls of the profiler's `step`.
        started: whether the profiler was, by `with` or `start()`.
    """
    first = 0 if schedule is None else _first_recorded(schedule)
    if not started:
        why = f"the profiler was never started; {_USE}"
    elif first is None:
        why = "the schedule records no step; use one of torch.profiler.schedule(...)"
    elif first <= steps:
        why = f"the profiler was dropped while it recorded; {_USE}"
    elif not steps:
        why = (
            f"the schedule skips {_steps(first)} first, and profiler.step() was never called; "
            "call it at the end of each step of the training"
        )
    else:
        why = (
            f"the schedule skips {_steps(first)} first, and the training had {_steps(steps)} "
            "(calls of profiler.step()); train for more, or lower the schedule's wait and warmup"
        )
    return f"nothing was recorded: {why}"


def _steps(number: int) -> str:
    return f"{number} step" if number == 1 else f"{number} steps"


def _first_recorded(schedule: Schedule) -> int | None:
    return next((step for step in range(_FAR) if schedule(step) in RECORDING), None)
