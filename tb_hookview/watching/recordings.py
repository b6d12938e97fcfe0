"""Makes the recordings of a watched training run with `profile`, and keeps a bounded number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerAction

from tb_hookview.recorder.profiling import Profile
from tb_hookview.watching.agreement import RecordingPlan


@dataclass(frozen=True)
class Kept:
    """One recording that was written."""

    path: Path
    plan: RecordingPlan
    size: int


class Recorder:
    """One recording at a time."""

    def __init__(self, folder: Path, options: dict[str, Any]) -> None:
        """Take the folder, and keywords of `profile`."""
        self._folder = folder
        self._options = options
        self._profiler: Profile | None = None
        self._plan: RecordingPlan | None = None

    @property
    def plan(self) -> RecordingPlan | None:
        """What is being recorded."""
        return self._plan

    def begin(self, plan: RecordingPlan, about: dict[str, Any]) -> None:
        """Begin with the warm-up, the step before the first that is recorded.

        Args:
            plan: what to record.
            about: what the manifest says of it.
        """
        schedule = _schedule_of(plan)
        profiler = Profile(self._folder, None, schedule=schedule, **self._options)
        profiler.about = {"watch": about}
        # Steps are called in the trace as the training counts them.
        profiler.step_num = plan.start - 1
        first: Any = schedule(plan.start - 1)
        profiler.current_action = first
        self._profiler, self._plan = profiler, plan
        profiler.start()

    def step(self, ended: int) -> tuple[RecordingPlan, Path | None] | None:
        """End a step; return what was recorded, and into which file, when that is complete.

        Args:
            ended: number of the step that ended.
        """
        profiler, plan = self._profiler, self._plan
        if profiler is None or plan is None:
            return None
        profiler.step()
        if ended < plan.start + plan.steps - 1:
            return None
        return plan, self.end()

    def end(self) -> Path | None:
        """Stop, and return the file if one was written."""
        profiler, self._profiler, self._plan = self._profiler, None, None
        if profiler is None:
            return None
        profiler.stop()
        written = profiler.written[-1] if profiler.written else None
        return written if isinstance(written, Path) else None


def _schedule_of(plan: RecordingPlan) -> Callable[[int], ProfilerAction]:
    last = plan.start + plan.steps - 1

    def schedule(step: int) -> ProfilerAction:
        if step == last:
            return ProfilerAction.RECORD_AND_SAVE
        if plan.start <= step < last:
            return ProfilerAction.RECORD
        return ProfilerAction.WARMUP if step == plan.start - 1 else ProfilerAction.NONE

    return schedule


def surplus(kept: list[Kept], most: int, most_bytes: int) -> list[Kept]:
    """Return what to remove so that the newest recordings stay, and the slowest.

    Args:
        kept: all recordings, oldest first.
        most: the number of newest ones that stay.
        most_bytes: what all that stay may have; the newest one always stays.
    """
    if not kept:
        return []
    slowest = max(kept, key=lambda each: each.plan.ratio)
    newest = kept[-max(most, 1) :]
    staying = [each for each in kept if each in newest or (each is slowest and each.plan.ratio)]
    while len(staying) > 1 and sum(each.size for each in staying) > most_bytes:
        oldest = next((e for e in staying[:-1] if e is not slowest), staying[0])
        staying.remove(oldest)
    return [each for each in kept if each not in staying]
