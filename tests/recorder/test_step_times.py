"""Which steps are timed, and from when to when."""

from __future__ import annotations

import pytest
import torch

from tb_hookview.recorder import step_times
from tb_hookview.recorder.step_times import StepTimes

ACTIONS = {
    ".": torch.profiler.ProfilerAction.NONE,
    "w": torch.profiler.ProfilerAction.WARMUP,
    "R": torch.profiler.ProfilerAction.RECORD,
    "S": torch.profiler.ProfilerAction.RECORD_AND_SAVE,
}


@pytest.fixture
def clock(monkeypatch):
    """Advances by calls, in microseconds."""

    class Clock:
        now = 0

        def pass_us(self, us: int) -> None:
            self.now += us * 1000

    clock = Clock()
    monkeypatch.setattr(step_times, "perf_counter_ns", lambda: clock.now)
    return clock


def timed(clock, actions: str, durations: list[int]) -> StepTimes:
    """Steps of these durations; the profiler takes 1000 us between two of them."""
    times = StepTimes()
    times.begin()
    for action, us in zip(actions, durations, strict=True):
        clock.pass_us(us)
        times.end(ACTIONS[action])
        clock.pass_us(1000)
        if action == "w":
            times.recorded_ns.clear()
        times.begin()
    return times


@pytest.mark.parametrize(
    ("actions", "unrecorded", "recorded"),
    [
        ("....wRRS", [2, 3, 4], [6, 7, 8]),
        (".wRS", [], [3, 4]),
        ("..wRS..wRS", [2, 7], [9, 10]),
        ("RRS...", [5, 6], [1, 2, 3]),
    ],
)
def test_what_is_timed(clock, actions, unrecorded, recorded):
    times = timed(clock, actions, list(range(1, len(actions) + 1)))
    assert times.as_manifest() == {"recorded_us": recorded, "unrecorded_us": unrecorded}
    assert times.count == len(actions)


def test_nothing_without_a_recorded_step(clock):
    assert timed(clock, "....", [1, 2, 3, 4]).as_manifest() == {}


def test_a_long_training_holds_its_latest_steps_only(clock):
    times = timed(clock, "." * 1000 + "wS", list(range(1002)))
    assert times.as_manifest()["unrecorded_us"] == list(range(900, 1000))


def test_what_the_recorder_takes_in_a_step_is_left_out(clock):
    times = timed(clock, "..", [1, 2])
    clock.pass_us(300)
    times.leave_out(290_000)
    times.end(ACTIONS["."])
    times.begin()
    times.end(ACTIONS["R"])
    assert times.as_manifest()["unrecorded_us"] == [2, 10]
