"""Notices that a profiler of torch's starts or stops, without a hook on any module."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch.autograd import profiler

from tb_hookview.recorder import faults

_START, _STOP = "_run_on_profiler_start", "_disable_profiler"
"""Functions that torch calls by these names, right before a recording starts and ends."""

_following = False


def follow(starts: Callable[[], None], stops: Callable[[], None]) -> None:
    """Call one function right after each start of torch's profilers, another before each end."""
    global _following
    if _following:
        return
    _following = True
    if not (hasattr(profiler, _START) and hasattr(profiler, _STOP)):
        faults.advise(
            "profilers", "with this torch, models are recorded by hookview.profile() only"
        )
        return
    start, stop = getattr(profiler, _START), getattr(profiler, _STOP)

    @functools.wraps(start)
    def started(*args: Any, **kwargs: Any) -> Any:
        result = start(*args, **kwargs)
        faults.guarded("following the profiler", starts)
        return result

    @functools.wraps(stop)
    def stopped(*args: Any, **kwargs: Any) -> Any:
        faults.guarded("following the profiler", stops)
        return stop(*args, **kwargs)

    setattr(profiler, _START, started)
    setattr(profiler, _STOP, stopped)
